// The other classes.
#include <nestline/expiring_filter.h>
#include <nestline/guard.h>
#include <nestline/maplet.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#ifdef WITH_STORE
#include <nestline/store.h>
#endif

#include "tests/packaging/consumers/trials.h"

namespace consumers {
namespace {

using namespace nestline;

// The bytes of a filter's file, where a mapped filter takes them.
class FileInMemory {
 public:
  explicit FileInMemory(const auto& filter) {
    const std::vector<std::byte> bytes = to_bytes(filter);
    size_ = bytes.size();
    lines_.resize((size_ + sizeof(Line) - 1) / sizeof(Line));
    std::memcpy(lines_.data(), bytes.data(), size_);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(lines_)).first(size_); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  std::size_t size_;
};

template <class Form>
void try_concurrent() {
  const auto filter = change<Form, ConcurrentFilter>("ConcurrentFilter");
  ask<Form>(filter, "ConcurrentFilter");
  ask<Form>(filter.reader(), "ConcurrentReader");
  const FileInMemory file(filter);
  ask<Form>(MappedFilter::view(file.bytes()), "MappedFilter");
}

template <class Form>
void try_expiring() {
  where = "ExpiringFilter";
  ExpiringFilter filter({.capacity = 1000, .fpr = 0.001, .seed = kSeed});
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const Form made(i);
    check(
        static_cast<bool>(filter.insert(made.key(), 3)) && filter.remaining_ticks(expected(i)) == 3,
        "insert with a life");
    check(!Calls<Form>::insert(filter, i) && filter.remaining_ticks(expected(i)) == 14,
          "insert in a function");
  }
  ask<Form>(filter, "ExpiringFilter");
  ask<Form>(filter.reader(), "ConcurrentReader of an ExpiringFilter");
  const FileInMemory file(filter);
  ask<Form>(MappedExpiringFilter::view(file.bytes()), "MappedExpiringFilter");
}

template <class Form>
void try_maplet() {
  where = "Maplet";
  Maplet maplet({.capacity = 1000, .seed = kSeed});
  std::uint64_t values[Maplet::kMaxCandidates];
  const auto has = [&](Hash hash, std::uint64_t value) {
    return maplet.find(hash, values) == 1 && values[0] == value;
  };
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const Form made(i);
    check(static_cast<bool>(maplet.insert(made.key(), i)) && has(expected(i), i), "insert");
    check(maplet.find(made.key(), values) == 1 && values[0] == i, "find");
    check(maplet.replace(made.key(), i, i + 1) && has(expected(i), i + 1), "replace");
    check(maplet.erase(made.key(), i + 1) && maplet.size() == i, "erase");
    check(maplet.prepare(made.key()).value == expected(i).value, "prepare");
    check(static_cast<bool>(maplet.insert(expected(i), i)), "insert of a hash");
  }
  const FileInMemory file(maplet);
  const MappedMaplet mapped = MappedMaplet::view(file.bytes());
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const Form made(i);
    check(mapped.find(made.key(), values) == 1 && values[0] == i, "MappedMaplet: find");
  }
}

template <class Form>
void try_guard() {
  where = "Guard";
  Guard guard(kOptions);
  guard.fill([] {
    return [](auto&& add) {
      const Form made(0);
      add(made.key());
    };
  });
  check(guard.filter().may_contain(expected(0)), "fill");
  const auto yes = [] { return true; };
  for (std::uint32_t i = 1; i < kKeys; ++i) {
    const Form made(i);
    guard.put(
        made.key(), [] { return false; }, [] {});
    check(guard.filter().may_contain(expected(i)), "put");
    check(guard.get(made.key(), yes), "get");
    check(guard.erase(made.key(), yes) && guard.filter().size() == i, "erase");
    guard.add(made.key());
    check(guard.filter().may_contain(expected(i)), "add");
    guard.take(made.key());
    check(guard.filter().size() == i, "take");
    guard.add(made.key());
    check(Calls<Form>::may_contain(guard, i), "may_contain in a function");
  }
}

#ifdef WITH_STORE
// Keys and values are views here, of local variables; read back by ones that somebody else made.
void try_store(const char* folder) {
  form = 1;
  where = "Store";
  Store store = Store::open(folder, {.sync = Sync::never});
  std::string got;
  for (std::uint32_t i = 0; i < kKeys; ++i) {
    const ViewOfBuffer key(i), other(i + kKeys), third(i + 2 * kKeys);
    const ToChars value(i);
    const std::string again(key.key());  // in other memory
    store.put(key.key(), value.key());
    check(store.get(std::string_view(again), got) && got == std::to_string(i), "put");
    check(store.get(key.key(), [&](std::string_view seen) { got = seen; }) &&
              got == std::to_string(i),
          "get");
    check(static_cast<bool>(store.insert_unique(other.key(), value.key())), "insert_unique");
    Store::Batch batch;
    batch.put(third.key(), value.key());
    store.write(batch);
    const std::string_view keys[] = {key.key(), other.key(), third.key()};
    check(store.get(keys, [&](std::size_t, std::string_view seen) { got = seen; }) == 3,
          "get of many");
    check(store.contains(key.key()) && store.erase(third.key()), "contains and erase");
  }
  check(store.size() == 2 * kKeys, "size");
}
#endif

template <class Form>
void try_form() {
  try_concurrent<Form>();
  try_expiring<Form>();
  try_maplet<Form>();
  try_guard<Form>();
}

}  // namespace

void try_classes([[maybe_unused]] const char* folder) {
  form = 0;
  []<class... Form>(FormList<Form...>) { (..., (try_form<Form>(), ++form)); }(FewForms());
#ifdef WITH_STORE
  try_store(folder);
#endif
}

}  // namespace consumers
