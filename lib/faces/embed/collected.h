// Filters as the aggregates of a database make them: of keys whose number is not known before the
// last row, and of other filters.
#ifndef NESTLINE_LIB_FACES_EMBED_COLLECTED_H_
#define NESTLINE_LIB_FACES_EMBED_COLLECTED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "lib/faces/embed/key_kinds.h"
#include "nestline/filter.h"
#include "nestline/memory.h"

namespace nestline { inline namespace v0_3 {

// A wrong argument; what() is the sentence that the user reads.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A result that is longer than a value may be.
struct TooBig : std::length_error {
  TooBig() : std::length_error("the result is longer than a value may be") {}
};

// Throws Refusal unless a filter that names the kinds `built` answers for keys of the kinds
// `asked`: it names all of these, and of rows the same kinds of members, or none.
void require_key_kinds(KeyKinds built, KeyKinds asked);
// The same for keys that are to change a filter; one without keys that names none names these then.
void take_key_kinds(Filter& filter, KeyKinds kinds);
// Throws Refusal where SQL may join keys of one filter with those of the other that are not the
// same keys: where each has a kind that the other lacks, and of numbers, times and rows of other
// kinds.
void require_comparable_kinds(KeyKinds one, KeyKinds other);
// What ask(one, other) answers, for filters that SQL may compare; values of the kinds `apart` are
// never equal to those of another. One without keys, as groups without rows have, may be of any
// shape. Throws Refusal, std::invalid_argument.
auto compared(const Filter& one, const Filter& other, auto&& ask, KeyKinds apart = 0) {
  require_comparable_kinds(one.key_kinds() & ~apart, other.key_kinds() & ~apart);
  if (one.size() == 0) return ask(one, one);
  return other.size() == 0 ? ask(other, other) : ask(one, other);
}
constexpr auto kMayOverlap = [](const Filter& one, const Filter& other) {
  return one.may_overlap(other);
};
constexpr auto kCountCommon = [](const Filter& one, const Filter& other) {
  return one.count_common(other);
};
// Inserts all of these keys. Throws Refusal where there is no room for one, std::bad_alloc; then
// some are in the filter.
void insert_all(Filter& filter, std::span<const Hash> hashes);

// From the system's pages what is large: faults of small pages take longer than hashing does.
template <typename T>
struct PageAllocator {
  using value_type = T;
  static std::pmr::memory_resource& source(std::size_t bytes) noexcept {
    if (bytes < std::size_t{2} << 20) return *std::pmr::new_delete_resource();
    return mapped_memory();
  }
  T* allocate(std::size_t count) {
    return static_cast<T*>(source(count * sizeof(T)).allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* place, std::size_t count) noexcept {
    source(count * sizeof(T)).deallocate(place, count * sizeof(T), alignof(T));
  }
  // What is added without a value is written later, so it gets no zeros.
  void construct(T* place) noexcept { ::new (static_cast<void*>(place)) T; }
  bool operator==(const PageAllocator&) const = default;
};

// The hashes of the keys of an aggregate.
//
// At the end they are sorted, and copies beyond `copies` dropped: the result depends on no order,
// nor on what was dropped before. Of equal hashes a filter keeps a few copies, so that is also done
// when the memory is full, if there are many. What is kept decides the memory: 8 bytes a hash, up
// to 16 when there is room to spare, 24 while the memory is enlarged or sorted.
//
// To find out whether there are many, the lowest hashes serve as a sample, 1 distinct key of a
// power of two with all its copies. There are not if few of those can be dropped, and the sample is
// about as large as it should be, so that no key outside it has a large share of the rows.
//
// What one takes over from another both have, and neither changes; the result is in one piece. The
// first few are in the collector itself: there may be one for each of many small groups.
class HashCollector {
 public:
  using Hashes = std::vector<Hash, PageAllocator<Hash>>;
  explicit HashCollector(std::size_t copies) : copies_(copies) {}
  // Throws std::bad_alloc, and TooBig when more than `most` are kept.
  void add(std::span<const Hash> hashes, std::uint64_t most);
  void add(const HashCollector& other);
  // All hashes but surplus copies, in ascending order, until more are added. Throws as add.
  std::span<const Hash> finish(std::uint64_t most);

 private:
  void make_room(std::size_t more, std::uint64_t most);
  [[nodiscard]] bool has_few_alone() const { return last_ == nullptr && whole_.empty(); }
  std::size_t copies_;
  std::array<Hash, 8> few_;
  std::size_t few_count_ = 0;
  std::shared_ptr<Hashes> last_;                      // grows, unless others have it too
  std::vector<std::shared_ptr<const Hashes>> whole_;  // of these none does
};

// The options of nestline_build in one group, and the filter that comes of them.
struct BuildOptions {
  std::optional<double> fpr;
  std::uint64_t capacity = 0;  // 0: none is given

  // Those of the group's first row; throws Refusal for others, and for what is no rate or capacity.
  void set(double given_fpr, std::optional<std::int64_t> given_capacity);
  // The same from another part of the group; throws as set.
  void add(const BuildOptions& other);
  // A filter of the keys; without a capacity for as many as there are, and larger where copies need
  // it. Calls pause(), if there is one, every few milliseconds. Throws Refusal, TooBig beyond
  // `longest` bytes, std::bad_alloc, and what pause() does.
  [[nodiscard]] Filter filter(std::span<const Hash> keys, KeyKinds key_kinds, std::uint64_t longest,
                              const std::function<void()>& pause = nullptr) const;
};

// nestline_build of one group.
class CollectedBuild {
 public:
  static constexpr std::size_t kAllCopies = 10;  // the most that a filter of any width has
  explicit CollectedBuild(std::size_t copies = kAllCopies) : hashes(copies) {}
  HashCollector hashes;
  KeyKinds key_kinds = 0;  // of the keys, which the filter names
  // As BuildOptions::set.
  void set_options(double fpr, std::optional<std::int64_t> capacity) {
    options_.set(fpr, capacity);
  }
  // Adds what another has; throws what set_options does.
  void add(const CollectedBuild& other);
  // As BuildOptions::filter.
  [[nodiscard]] Filter filter(std::uint64_t longest);

 private:
  BuildOptions options_;
};

// Pours a filter into another of its lineage, which doubles when it is full. Throws Refusal where
// they are not of one, there is no room, or both have times, or rows, of other kinds. One without
// keys, as groups without rows have, may be of any.
void unite(Filter& all, Filter next);

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_COLLECTED_H_
