// The cuckoo filter: a set of keys that answers "maybe" or "certainly not", and can erase keys.
//
// All slots where a key may live lie in one 64-byte block, so a lookup almost always touches one
// cache line. A key that was inserted and not erased is always found; another with probability
// expected_fpr().
//
//   nestline::Filter filter({.capacity = 1'000'000, .fpr = 0.01});
//   if (!filter.insert("some string")) { ... there is no room ... }
//   if (filter.may_contain("some string")) { ... look in the slow place ... }
//
// It does not lock (one writer at a time, and no reader beside it) and cannot list what it holds.
#ifndef NESTLINE_FILTER_H_
#define NESTLINE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nestline/export.h"
#include "nestline/forward.h"
#include "nestline/internal/answers.h"
#include "nestline/internal/home.h"
#include "nestline/internal/memory_resource.h"
#include "nestline/internal/owned_state.h"
#include "nestline/keys.h"
#include "nestline/outcome.h"
#include "nestline/reader.h"

#pragma push_macro("slots")  // Qt's, which is empty
#undef slots

namespace nestline { inline namespace v0_3 {

namespace internal {
struct Blocks;  // what every filter is made of: lib/filters/filter/blocks.h
}

/// What a filter is made for.
struct Options {
  /// Keys it must hold; required, at least 1, at most what 2^40 blocks hold. This many distinct
  /// keys with well mixed hashes are all stored with a probability above 1 - 1e-6; with
  /// `turns_over` and `bits` 0 each one with 1 - 1e-9.
  std::uint64_t capacity = 0;
  /// Wanted false-positive rate at max(capacity, max_capacity) keys, above 0 and below 1. 0 with
  /// `bits` 0: 0.01. 0 with `bits` given: whatever that width has at `load`. The lowest possible is
  /// about 0.0081, 0.0040, 0.0020, 0.00051 and 0.00004 at 8, 9, 10, 12 and 16 bits, and twice as
  /// much for each doubling.
  double fpr = 0;
  /// Fingerprint width: 8, 9, 10, 12 or 16 bits. 0: the one that meets `fpr` with the fewest bits a
  /// key: at the default `load` 8 bits down to a rate of 0.0134, then 9 down to 0.0073, 10 down to
  /// 0.0033, 12 down to about 0.0007, then 16.
  int bits = 0;
  /// Keys up to which the filter grows by itself, if above `capacity`, else without effect: before
  /// an insert goes beyond capacity(), or when it finds no room, the filter doubles (grow), until
  /// capacity() is at least this. `fpr` then holds up to this many keys. Each doubling costs one
  /// bit of fingerprint, so the filter begins with a wider fingerprint or a lower load: with up to
  /// twice the room that `capacity` needs, at a load of at least one half. Where that is not
  /// enough, the options are refused; docs/SIZING.md has the bounds.
  std::uint64_t max_capacity = 0;
  /// How full the filter is at its capacity: keys / slots, from 0.5 to 0.95. A lower load takes
  /// more memory, makes inserts faster and errs less; docs/SIZING.md has a table. A low `fpr`, and
  /// `turns_over` with many doublings, can make the load lower than this. Growth keeps it.
  double load = 0.95;
  /// Seeds the hash of integers and strings; stored with the filter. Filters with different seeds
  /// err on different keys. Where strangers choose the keys, keep it secret and pass their integers
  /// as byte strings, which alone it protects (docs/SIZING.md, "Strangers' keys").
  std::uint64_t seed = 0;
  /// Where the blocks come from, as memory.h requires; null: mapped_memory(). grow, shrink, fit,
  /// merge, and inserts and erases that change its size use it too.
  std::pmr::memory_resource* memory = nullptr;
  /// Whether keys will be erased and others inserted all the time. Without it lookups of such a
  /// filter slow down, to 0.6 to 0.8 of their rate; with it they keep 0.9 to all of it, and `fpr`
  /// holds after any number of changes, of distinct keys, but for erasing in the order of hashes.
  /// In return changes take longer: an erase and an insert 1.7 times as long at a load of 0.80, 4
  /// times at 0.95 (docs/SIZING.md, "Filters that turn over": also what many calls of `grow` do).
  /// A key may have no more than k copies in place of 2k. Files are of hash version 4, which
  /// libraries that do not know it refuse. Without effect below 64 blocks, counted before any
  /// doubling. ClusterFilter takes it too (cluster.h).
  bool turns_over = false;
  /// Whether it begins doubled, made for the worst case: then `fit` brings it to what its keys
  /// need, when it is known how many they are. It has room for max(capacity, max_capacity) keys at
  /// once, `fpr` holds for all of them, and the blocks are those of a filter that has grown so far.
  /// max_capacity above capacity: it begins with the doublings from one to the other, so capacity
  /// is what it can be folded to. Else with as many as leave 800 first blocks and keep `fpr` at
  /// `load`, and max_capacity becomes capacity: at 8, 9, 10, 12 and 16 bits up to 4, 5, 6, 8
  /// and 12; where that are none, it is as without. With `bits` left open it
  /// is often the widest fingerprint that allows most; docs/SIZING.md has a table.
  bool may_fold = false;
  /// Load, 0 to 0.4, below which erasing makes it shrink by itself while can_shrink, a batch at its
  /// end; 0: never. Once there is no memory for it, or a key has no room, it tries again at half as
  /// many keys. Files do not keep it.
  double shrink_below = 0;
  /// Options for capacity_for(bytes, fpr) keys. std::invalid_argument if there is no such filter.
  [[nodiscard]] NESTLINE_EXPORT static Options within(std::uint64_t bytes, double fpr);
};

/// Bytes of the blocks of a new filter: its memory_bytes() when nobody has made it grow. O(1).
/// Throws std::invalid_argument as the filter's constructor does.
[[nodiscard]] NESTLINE_EXPORT std::uint64_t bytes_for(const Options& options);
/// The most keys for which bytes_for({.capacity = keys, .fpr = fpr}) is at most `bytes`, or 0.
/// Takes 50 times as long as bytes_for. Throws std::invalid_argument for an impossible `fpr`.
[[nodiscard]] NESTLINE_EXPORT std::uint64_t capacity_for(std::uint64_t bytes, double fpr);

/// Which copies a merge must take. Some find no place however large the filter is, because their
/// key has the most copies already (Outcome::too_many_copies); others would after growth, because
/// their key has k - 1 copies at least and other keys hold the rest of its slots. What is left out
/// is found by lookups all the same, as after build.
enum class Copies : std::uint8_t {
  all,       ///< All, or nothing is merged.
  most,      ///< All but those of keys that have the most copies already, or one less.
  that_fit,  ///< Those that find place; once 4,096 did not, those that find it without a search.
};

/// What two filters have in common, from their fingerprints alone (Filter::count_common).
struct Overlap {
  /// Residents of both that look the same, each counted once: at least as many as there are common
  /// keys, and copies of each that both have.
  std::uint64_t matches = 0;
  /// How many matches to expect if no key was common: 0.9 to 1.3 times keys * other keys / (slots
  /// of a segment * 254 * 2^(bits - 8) * blocks before doublings), up to 1.7 times after changes
  /// without turns_over, by docs/SIZING.md.
  double by_chance = 0;
  double estimate = 0;        ///< Of the common keys: the matches without those that chance makes.
  double standard_error = 0;  ///< Of `estimate`: by chance, and 2 % of by_chance for its formula.
};

/// A cuckoo filter in memory.
///
/// Thread safety: const members may run in any number of threads while no other member runs.
/// Moving leaves a filter that can only be destroyed or assigned to.
///
/// A signal handler counts as a thread: it must not use a filter that the interrupted thread is
/// changing. No member is a cancellation point. A child process has its own copy, which is whole if
/// no other thread was changing it at the moment of fork().
///
/// Complexity: each single-key operation is O(1): one or two cache lines, except an insert into a
/// nearly full filter, which looks at a bounded number of blocks. A batch does the same as its keys
/// one by one in the order given, with the memory latency hidden; it is the faster form from about
/// 16 keys on. Only the constructor, build, load, snapshot, grow, shrink, fit, merge, the sentence
/// of can_merge, an insert or update that makes the filter grow, and an erase that makes it shrink
/// allocate. When such an insert gets no memory, the filter stays as it is and takes keys until it
/// answers `full`; it asks for memory again after 65,536 more keys that need growth, or at once
/// when grow() is called.
class NESTLINE_EXPORT Filter {
 public:
  /// An empty filter. Throws std::invalid_argument that names the option's bounds, std::bad_alloc.
  explicit Filter(const Options& options);
  /// A filter of all `keys`, equal ones being copies: as by inserts into Filter(options), up to
  /// where fingerprints lie, in a fraction of the time. parallel::build leaves the same bytes. The
  /// same keys in another order may leave others: sort them where that matters.
  ///
  /// More keys than options.capacity make it double first, as far as options.max_capacity allows,
  /// and so does a key that finds no room. Copies that are not stored do not count: where there are
  /// so many that fewer doublings are enough, it is built a second time. Of equal keys, those for
  /// which there is no slot are not stored, as by insert: Outcome::too_many_copies where copies
  /// have all slots of the key, else Outcome::full. may_contain is true for them all the same.
  /// size() returns how many were stored.
  ///
  /// Takes about 2.5 bytes a key and 9 bytes a block beside the filter while it runs.
  /// O(keys + blocks). Throws std::length_error when a key finds no room and would be missed,
  /// unless `outcomes` is given, or more than 2^31 keys share 1024 blocks; std::invalid_argument,
  /// also when `outcomes` has the wrong length; std::bad_alloc.
  [[nodiscard]] static Filter build(const Options& options, KeySpan keys,
                                    std::span<Outcome> outcomes = {});

  Filter(Filter&& other) noexcept;
  Filter& operator=(Filter&& other) noexcept;
  ~Filter();
  /// A copy in memory of its own, with the same promises. O(memory). Throws std::bad_alloc.
  [[nodiscard]] Filter snapshot() const;
  /// Reads a whole filter (Input has what it takes) into `memory`, as Options::memory requires, and
  /// checks everything before it returns. Throws FormatError, std::system_error, std::bad_alloc.
  static Filter load(const Input& from, std::pmr::memory_resource* memory = nullptr);

  // Single keys. A key is an integer of any width, a byte string or a Hash: see Key.

  /// Stores one copy of `key`. A second copy of a key is a second entry, up to twice k copies.
  /// On Outcome::full or Outcome::too_many_copies the filter is unchanged, as Outcome documents.
  [[nodiscard]] NESTLINE_HERE Inserted insert(Key key) noexcept {
    return insert_one(hash_of_(key));
  }

  /// Stores `key` unless may_contain(key) is true already: then Outcome::present. That may be a
  /// false positive, so do not erase a key after `present` unless you know that it was inserted:
  /// such a key is found until the one that looks like it is erased, and with Options::turns_over
  /// no longer once that one comes home: when others are erased, or the filter doubles or folds.
  [[nodiscard]] NESTLINE_HERE Inserted insert_unique(Key key) noexcept {
    return insert_unique_one(hash_of_(key));
  }

  /// Replaces one copy of `old_key`, which must have been inserted, by `new_key`, which is stored
  /// also when no copy of `old_key` is found. On Outcome::full or Outcome::too_many_copies
  /// `old_key` stays.
  [[nodiscard]] NESTLINE_HERE Inserted update(Key old_key, Key new_key) noexcept {
    return update_one(hash_of_(old_key), hash_of_(new_key));
  }

  /// False: `key` is certainly not in the filter. True: it is, or it looks the same as one.
  [[nodiscard]] NESTLINE_HERE bool may_contain(Key key) const noexcept {
    return may_contain_one(hash_of_(key));
  }
  /// Hashes `key` and starts to fetch its block into the cache, for callers that do something else
  /// before they look up, insert or erase the hash: 16 keys later is enough for filters in memory.
  [[nodiscard]] NESTLINE_HERE Hash prepare(Key key) const noexcept {
    const Hash hash = hash_of_(key);
    fetch(hash);
    return hash;
  }
  /// Lookups to inline into a loop, until the filter gets other memory: see Reader.
  [[nodiscard]] Reader reader() const noexcept;
  /// Copies of `key`, 0 to 2k. May count copies of another key that looks the same.
  [[nodiscard]] NESTLINE_HERE unsigned count(Key key) const noexcept {
    return count_one(hash_of_(key));
  }
  /// Removes one copy of `key`; false when none was found. Only for copies that were stored: else
  /// it may remove a key that looks the same, which is then missed.
  NESTLINE_HERE bool erase(Key key) noexcept { return erase_one(hash_of_(key)); }
  void clear() noexcept;  ///< Removes everything and keeps the memory.

  // Batches. Every span that goes with `keys` must have as many elements as `keys`, unless stated
  // otherwise; if not, std::invalid_argument is thrown before anything is touched. Optional spans
  // may be left out. Spans must not overlap unless the function allows it.

  /// Inserts every key; returns how many were stored: check it. `outcomes`: how each ended.
  [[nodiscard]] std::size_t insert(KeySpan keys, std::span<Outcome> outcomes = {});
  /// insert_unique in this order: a key may be present because of one before it. Returns as insert.
  [[nodiscard]] std::size_t insert_unique(KeySpan keys, std::span<Outcome> outcomes = {});

  /// Looks up every key; returns how many answers are true. `out`: 1 or 0 for each key.
  NESTLINE_HERE std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
    return look_up(keys, {out});
  }

  /// The same as bits, least significant first: key i is bit i % 64 of word i / 64. `bitmap` has
  /// ceil(keys / 64) words; the unused bits of the last one are set to 0.
  NESTLINE_HERE std::size_t may_contain_bits(KeySpan keys, std::span<std::uint64_t> bitmap) const {
    return look_up(keys, {bitmap});
  }

  /// Writes the positions of the keys whose answer is true, in ascending order, to the front of
  /// `positions`; returns how many. Elements after them are left as they were. At most 2^32 keys.
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions});
  }

  /// The same for the keys at the positions in `selection` only, in the order of `selection`.
  /// `positions` has as many elements as `selection` and may be the same memory. Throws
  /// std::invalid_argument when a position lies outside `keys`.
  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<const std::uint32_t> selection,
                                   std::span<std::uint32_t> positions) const {
    return look_up(keys, {positions, selection});
  }

  /// Erases one copy of every key; returns how many were found. `erased`: 1 or 0 for each key.
  std::size_t erase(KeySpan keys, std::span<std::uint8_t> erased = {});
  void count(KeySpan keys, std::span<std::uint8_t> out) const;  ///< Copies of each key.
  [[nodiscard]] std::uint64_t size() const noexcept;  ///< Keys in the filter, every copy counted.
  /// Keys that the filter promises to hold; at least Options::capacity. Inserts beyond it usually
  /// succeed for a while.
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  /// Options::max_capacity: until capacity() is at least this, it doubles by itself. 0: never.
  [[nodiscard]] std::uint64_t max_capacity() const noexcept;
  [[nodiscard]] unsigned growth() const noexcept;  ///< How often the filter has doubled.
  /// Whether it was made with Options::turns_over, of 64 blocks or more before any doubling.
  [[nodiscard]] bool turns_over() const noexcept;
  /// Slots: each holds one copy of a key. They are never all in use: see docs/SIZING.md.
  [[nodiscard]] std::uint64_t slots() const noexcept;
  [[nodiscard]] double load_factor() const noexcept;  ///< size() divided by slots(), 0 to 1.
  /// The false-positive rate at the present load and growth, from the formula in docs/SIZING.md
  /// with s measured on the blocks (on 4096 of them, taken at random, when there are more).
  [[nodiscard]] double expected_fpr() const noexcept;
  [[nodiscard]] int bits() const noexcept;            ///< Fingerprint width: 8, 9, 10, 12 or 16.
  [[nodiscard]] std::uint64_t seed() const noexcept;  ///< The seed given in Options.
  /// The kinds of keys that the filter names, bits that docs/FORMAT.md lists; 0: none, as of every
  /// filter that was not made in SQL. They come with a file and go into copies and unions; what is
  /// inserted does not change them.
  [[nodiscard]] std::uint32_t key_kinds() const noexcept;
  /// Bytes of memory, or of the mapped file, that the filter occupies.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

  /// Doubles the filter in one streaming pass, without the keys: each block splits into two by the
  /// next bit of its fingerprints, and nothing else moves. Lookups are wrong about twice as often
  /// at the same load. capacity() doubles, or nearly so in small filters (docs/SIZING.md). Returns
  /// false and changes nothing when there is no bit left to take, which is after 4, 5, 6, 8
  /// or 12 doublings at 8, 9, 10, 12 or 16 bits, or when there would be more than 2^40 blocks.
  /// Needs the old and the new memory at once. Throws std::bad_alloc; the filter is then unchanged.
  bool grow();

  /// Undoes one doubling, without the keys: half the blocks, the fingerprints' bit again, and the
  /// capacity of before. (Where doubling did not double it, in filters of less than 800 first
  /// blocks, it is as many keys as find room, at most 1.7 times that of before; such a load errs
  /// more often than was asked for.) At the same keys lookups are wrong as often as they were, or
  /// more often where keys were erased without turns_over, since marks stay. Returns false and
  /// changes nothing, unless can_shrink, or where copies of keys leave a key without room.
  /// O(memory): docs/SIZING.md has figures of both. Needs the old and the new memory at once.
  /// Throws std::bad_alloc; the filter is then unchanged.
  bool shrink();
  /// Whether the filter has doubled, by growing or from the beginning (Options::may_fold), and its
  /// keys are within the capacity that it would have after shrink. O(1).
  [[nodiscard]] bool can_shrink() const noexcept;
  /// Shrinks as often as its keys allow, in one pass; returns how often. The filter then has the
  /// blocks and bits of one that was made for them with as many first blocks, its rate too unless
  /// keys were erased without turns_over, and grows by itself as before. Otherwise as shrink.
  unsigned fit();

  /// Adds everything that is in `other`, copies included, without the keys. Both must have been
  /// made with the same width, seed and number of blocks and have grown equally often, as is the
  /// case for filters of equal Options that have not grown; otherwise throws std::invalid_argument.
  /// Where one has doubled more often, it is folded first, this one or a copy of `other`, if the
  /// keys of both are within the capacity that it then has.
  /// Throws std::length_error when something finds no room, with a sentence that tells too many
  /// copies from too many keys, and std::bad_alloc because the union is made in new memory; the
  /// filter is then unchanged. The union has room for the keys that insert would have room for
  /// without doubling, which a merge does not do (call grow), so it may go beyond capacity(). Keys
  /// without room may have some when both filters have grown; copies of one key beyond the most
  /// never have. `other` may be this filter.
  ///
  /// Returns how many copies were left out: 0 with Copies::all. Where some were, a key that both
  /// filters had can be erased less often than it was inserted: once all that is stored of it is
  /// erased it is missed, and a further erase may take a key that looks the same.
  std::uint64_t merge(const Filter& other, Copies copies = Copies::all);

  /// Whether merge accepts `other`: false where merge throws std::invalid_argument. `why`, if not
  /// null, is then set to the reason, a sentence. Does not say whether there is room for the keys
  /// and the copies of the union. Throws std::bad_alloc for the sentence.
  bool can_merge(const Filter& other, std::string* why = nullptr) const;

  /// False: certainly no key is in both filters. True: some may be, or keys look the same; filters
  /// of n and m keys without a common one look so with probability 1 - exp(-by_chance) (Overlap):
  /// 16 bits, 95 % load and n = m: 0.07 at 1,000 keys, 0.5 at 8,192. Filters of the same keys with
  /// other seeds err independently. O(blocks), in cache 0.4 to 4 ns a slot by load, and stops at
  /// the first match. Of a filter that has doubled more often a copy is folded first, if its keys
  /// have room then, else a copy of the other doubles. Throws std::bad_alloc, and
  /// std::invalid_argument unless the two are then as can_merge(other) wants them.
  [[nodiscard]] bool may_overlap(const Filter& other) const;
  /// The positions of those of `others` that may overlap. Throws as may_overlap, std::bad_alloc.
  [[nodiscard]] std::vector<std::size_t> overlapping(std::span<const Filter* const> others) const;
  /// Counts what may be common. The estimate is for sets, of keys with well mixed hashes. Throws as
  /// may_overlap. O(blocks).
  [[nodiscard]] Overlap count_common(const Filter& other) const;

 private:
  friend struct FilterAccess;  // lib/filters/filter/blocks.h
  // A template, so that {} is not taken for a pointer.
  template <internal::OwnerOf<internal::Blocks> Owner>
  explicit Filter(Owner state) noexcept : state_(std::move(state)), hash_of_(hasher(*state_)) {}
  Inserted insert_one(Hash key) noexcept;
  Inserted insert_unique_one(Hash key) noexcept;
  Inserted update_one(Hash old_key, Hash new_key) noexcept;
  [[nodiscard]] bool may_contain_one(Hash key) const noexcept;
  void fetch(Hash key) const noexcept;
  std::size_t look_up(KeySpan keys, const internal::Answers& answers) const;
  [[nodiscard]] unsigned count_one(Hash key) const noexcept;
  bool erase_one(Hash key) noexcept;
  static internal::KeyHasher hasher(const internal::Blocks& blocks) noexcept;
  internal::OwnedState<internal::Blocks> state_;
  internal::KeyHasher hash_of_;
};

/// Writes the filter: see Output. Throws std::system_error, std::bad_alloc.
NESTLINE_EXPORT void save(const Filter& filter, const Output& to);

}}  // namespace nestline

#pragma pop_macro("slots")

#endif  // NESTLINE_FILTER_H_
