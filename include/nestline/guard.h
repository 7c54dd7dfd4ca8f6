// A filter before any engine that keeps keys: lookups of keys that are not there end here.
//
//   nestline::Guard guard({.capacity = 1'000'000, .max_capacity = 64'000'000}, "db/guard.nest");
//   if (!guard.load()) guard.fill([&] { return all_keys_of(db); });   // at the start
//   guard.get(key, [&] { return db.get(key, value); });               // reads db if it must
//   guard.put(key, [&] { return db.has(key); }, [&] { db.put(key, value); });
//   guard.erase(key, [&] { return db.erase(key); });
//   guard.save([&] { db.sync(); });                                   // at the end
//
// The rule: each key in the engine has a token of its own, which is a copy of it in the filter or,
// where the filter refuses one, its hash in a short list. put adds a token before the engine has
// the key, and only if the key is new. erase takes the token after the engine has lost the key, and
// only if it was there. So at each instant there are at least as many tokens of a hash as keys of
// that hash in the engine, and that is why a key that is there is never missed:
//
// - Keys that look the same in the filter have a copy each. Taking the copy of one leaves those of
//   the others. insert_unique would not do: two keys would share a copy, and the erasure of one
//   would lose the other.
// - An overwrite adds no token: the one erasure later takes one. That is why put calls `has`, but
//   only when the filter answers maybe: a key that it does not know is new.
// - Calls for one key take turns, so nothing comes between `has` and what follows from it.
// - A write that fails leaves its token, since the engine may have the key all the same. This costs
//   a false maybe, as does whatever ends a call between its two steps, never a key.
// - A lookup looks at the list first and then at the filter. Two keys of one hash may use each
//   other's tokens; erase takes those of the list first. So while there is none in the list, those
//   in the filter are as many as the keys, and none of them moves to the list.
// - When the list is full as well, the guard gives up: from then on it answers maybe to all.
//
// The saved file is there only while it is true: the first change removes it, and the disk has
// forgotten it before the engine sees the change. So after a crash there is either no file, or one
// that was saved after the last change. docs/ENGINES.md has recipes for engines and transactions.
//
// This header alone needs exceptions, to tell an engine's, and a damaged file, from success.
#ifndef NESTLINE_GUARD_H_
#define NESTLINE_GUARD_H_

#ifndef __cpp_exceptions
#error "nestline/guard.h needs exceptions: compile what includes it without -fno-exceptions"
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/keys.h"
#include "nestline/pass_rate.h"

namespace nestline { inline namespace v0_3 {

/// What a lookup may return. No error code: its 0 may mean success.
template <typename T>
concept GuardAnswer = std::same_as<T, bool> || requires(const T& t) {
  t == nullptr;
} || requires(const T& t) {
  t == std::nullopt;
};

/// A growing, deleting filter before an engine. All changes of the engine's keys must go through
/// one Guard; a key that is written around it may be missed. It knows the newest state of the
/// engine: a read in an older snapshot, which may have keys that are erased since, must not ask it.
///
/// Thread safety: every member from any thread at any time, if the engine allows it, except
/// construction, destruction, load, add and take, which document what they need. Lookups take no
/// lock. put and erase hold a lock while they call the engine, one of 32 that the key's hash
/// chooses: the functions that they are given must not change keys through the same guard. Inside a
/// section (ConcurrentFilter) only lookups may be called: the others may wait for ever.
///
/// A lookup answers no only if there was an instant during the call at which the key was not in
/// the engine. What ConcurrentFilter promises about order and memory holds here.
class Guard {
 public:
  /// How many tokens the list holds before the guard gives up.
  static constexpr std::size_t kMaxListed = 16'384;

  /// A guard that answers maybe to all, until load or fill has made it know the keys. The filter
  /// grows to options.max_capacity as it does by itself, and on as far as it can; beyond, it errs
  /// twice as often with each doubling. `path`: the file for load and save, in a folder that can be
  /// read; empty for none. Each engine needs a path of its own. Throws as ConcurrentFilter does.
  NESTLINE_HERE explicit Guard(const Options& options, std::filesystem::path path = {})
      : filter_(options), memory_(options.memory), path_(std::move(path)), saved_(!path_.empty()) {}

  /// Takes the saved filter and its options; false if there is no whole one: call fill. No other
  /// thread may use the guard yet. Throws std::system_error, std::bad_alloc, std::logic_error after
  /// fill.
  NESTLINE_HERE bool load() {
    expect_new("load");
    std::error_code error;
    if (!saved_ || !std::filesystem::exists(path_, error)) return false;
    try {
      filter_ = ConcurrentFilter(Filter::load(path_, memory_));
    } catch (const FormatError&) {
      return false;
    }
    forget_list();
    state_ = State::filtering;
    return true;
  }

  /// Learns the keys from the engine. begin() is called while no put and no erase is under way; it
  /// takes what the engine has for a look at one instant (a snapshot, an iterator, a reading
  /// transaction) and returns a function `scan`. scan(add) calls add(key) once for each key of that
  /// instant, from any thread. Lookups, put and erase may go on during the scan. Passes on what
  /// the two throw: fill may then be called again. Throws std::bad_alloc, and std::logic_error when
  /// the guard knows the keys already: to learn them anew, make a new guard.
  NESTLINE_HERE void fill(std::invocable auto&& begin) {
    auto scan = [&] {
      const auto locks = lock_all();
      expect_new("fill");
      if (filter_.size() != 0) filter_.clear();  // what a fill that failed has left
      forget_list();
      auto result = begin();
      state_ = State::filling;
      return result;
    }();
    try {
      scan([this](Key key) { add_token(hash(key)); });
    } catch (...) {
      const auto locks = lock_all();
      if (state_ == State::filling) state_ = State::passing;
      throw;
    }
    const auto locks = lock_all();
    if (state_ == State::gave_up) return;
    for (const std::uint64_t each : taken_) remove_token(Hash{each});
    taken_ = {};
    state_ = State::filtering;
  }

  /// Saves the filter for the next start, which is then as quick as reading a file. Calls sync()
  /// first, after which the engine must not lose what it was given, not even an erasure, when the
  /// power fails. Changes wait. False: not saved, since the guard does not know the keys, has a
  /// list or no path. Needs memory for a copy. Throws as nestline::save does, and what `sync`
  /// throws.
  NESTLINE_HERE bool save(std::invocable auto&& sync) {
    const auto locks = lock_all();
    if (path_.empty() || state_ != State::filtering || list_size_ != 0) return false;
    sync();
    saved_ = true;
    nestline::save(filter_.snapshot(), path_);
    return true;
  }

  /// False: the key is certainly not in the engine.
  [[nodiscard]] NESTLINE_HERE bool may_contain(Key key) const { return may_have(hash(key)); }

  /// get() if the key may be there, else false, null or std::nullopt, whichever get() returns. With
  /// a rate, of the calling thread, also get() without a look while most keys are there (PassRate).
  template <std::invocable Get>
  requires GuardAnswer<std::invoke_result_t<Get>> NESTLINE_HERE auto get(
      Key key, Get&& get, PassRate* rate = nullptr) const {
    const bool asks = rate == nullptr ? may_contain(key) : rate->may_contain(*this, key);
    return asks ? get() : decltype(get()){};
  }

  /// Calls ask(positions) for the keys that may be there, up to 1,024 at a time and in ascending
  /// order; `rate` as of get. At most 2^32 keys.
  template <std::invocable<std::span<const std::uint32_t>> Ask>
  NESTLINE_HERE void get_many(KeySpan keys, Ask&& ask, PassRate* rate = nullptr) const {
    std::array<std::uint32_t, 1024> positions;
    for (std::size_t at = 0; at < keys.size(); at += positions.size()) {
      const auto all = std::span(positions).first((std::min)(positions.size(), keys.size() - at));
      const KeySpan some = keys.subspan(at, all.size());
      const auto found =
          all.first(rate == nullptr ? select(some, all) : rate->select(*this, some, all));
      for (std::uint32_t& each : found) each += static_cast<std::uint32_t>(at);
      if (!found.empty()) ask(std::span<const std::uint32_t>(found));
    }
  }

  /// Puts a key into the engine by write(). Before that it calls has(), whether the engine has the
  /// key, if the guard cannot know. Passes on what the two throw, std::bad_alloc, and
  /// std::system_error when the saved file cannot be removed; only write() changes the engine.
  NESTLINE_HERE void put(Key key, std::predicate auto&& has, std::invocable auto&& write) {
    const Hash hashed = hash(key);
    const std::lock_guard lock(turn(hashed));
    forget_file();
    if (counts() && (!may_have(hashed) || !has())) add_token(hashed);
    write();
  }

  /// Removes a key from the engine by erase(), which returns whether the key was there, and is only
  /// called if it may be. Returns what it returns, and passes on as put does. If erase() says true
  /// of a key that was not there, the token of another is taken: engines whose deletion does not
  /// know (LevelDB, RocksDB) must be looked up first, in erase().
  NESTLINE_HERE bool erase(Key key, std::predicate auto&& erase) {
    const Hash hashed = hash(key);
    const std::lock_guard lock(turn(hashed));
    if (!may_have(hashed)) return false;
    forget_file();
    if (!erase()) return false;
    take_token(hashed);
    return true;
  }

  /// The two steps by themselves, for transactions and batches: add before the engine is given a
  /// new key, take after an erasure of a key that was there is committed, and neither when the key
  /// was there before and after. A transaction that is rolled back leaves its tokens. The caller
  /// sees to it that no other change of the same keys comes between, and none of fill and save.
  NESTLINE_HERE void add(Key key) {
    forget_file();
    add_token(hash(key));
  }
  NESTLINE_HERE void take(Key key) {
    forget_file();
    take_token(hash(key));
  }

  /// Whether the filter answers lookups: after load or fill, until the guard gives up.
  [[nodiscard]] NESTLINE_HERE bool filters() const noexcept { return state_ == State::filtering; }
  /// Tokens in the list, which the filter had no place for.
  [[nodiscard]] NESTLINE_HERE std::size_t listed() const noexcept { return list_size_; }
  /// For its size, memory and rate.
  [[nodiscard]] NESTLINE_HERE const ConcurrentFilter& filter() const noexcept { return filter_; }

 private:
  // Few enough that the thread sanitizer can see one thread hold them all.
  static constexpr std::size_t kTurns = 32;
  // Not an enum's type: GCC shows the standard library's templates of one to other libraries.
  struct State {
    enum : std::uint8_t { passing, filling, filtering, gave_up };
  };

  [[nodiscard]] NESTLINE_HERE Hash hash(Key key) const noexcept {
    return hash_key(key, filter_.seed());
  }
  NESTLINE_HERE std::mutex& turn(Hash hash) noexcept { return turns_[hash.value >> 59U]; }
  [[nodiscard]] NESTLINE_HERE std::array<std::unique_lock<std::mutex>, kTurns> lock_all() {
    std::array<std::unique_lock<std::mutex>, kTurns> locks;
    for (std::size_t i = 0; i < kTurns; ++i) locks[i] = std::unique_lock(turns_[i]);
    return locks;
  }
  NESTLINE_HERE void expect_new(const char* what) const {
    if (state_ == State::passing) return;
    throw std::logic_error(std::string("Guard::") + what +
                           ": the guard knows its keys or is learning them: make a new guard.");
  }
  // What a fill that failed has left beside the filter.
  NESTLINE_HERE void forget_list() {
    listed_.clear();
    list_size_ = 0;
    taken_.clear();
  }
  // Whether tokens count now. Before fill begins they do not, since it begins with none.
  [[nodiscard]] NESTLINE_HERE bool counts() const noexcept {
    return state_ == State::filtering || state_ == State::filling;
  }

  friend class PassRate;  // for select
  [[nodiscard]] NESTLINE_HERE bool may_have(Hash hash) const {
    if (state_ != State::filtering) return true;
    if (list_size_ != 0) {
      const std::lock_guard lock(list_mutex_);
      if (listed_.contains(hash.value)) return true;
    }
    return filter_.may_contain(hash);
  }

  NESTLINE_HERE std::size_t select(KeySpan keys, std::span<std::uint32_t> positions) const {
    if (state_ == State::filtering && list_size_ == 0) {
      return filter_.select(keys, positions.first(keys.size()));
    }
    std::size_t count = 0;
    keys.visit([&](const auto& all) {
      for (std::uint32_t i = 0; i < all.size(); ++i) {
        if (may_contain(all[i])) positions[count++] = i;
      }
    });
    return count;
  }

  NESTLINE_HERE void add_token(Hash hash) {
    if (!counts()) return;
    if (state_ == State::filling) {
      // A token to be taken in the end serves as well: keys that come and go do not pile up.
      const std::lock_guard lock(list_mutex_);
      if (const auto found = taken_.find(hash.value); found != taken_.end()) {
        taken_.erase(found);
        return;
      }
    }
    if (filter_.insert(hash)) return;
    const std::lock_guard lock(list_mutex_);
    // Another thread may have made the filter grow meanwhile, so each doubling is asked for once.
    for (;;) {
      const Inserted again = filter_.insert(hash);
      if (again) return;
      if (again.outcome == Outcome::too_many_copies || !grows()) break;
    }
    if (listed_.size() < kMaxListed) {
      listed_.insert(hash.value);
      list_size_ = listed_.size();
    } else {
      state_ = State::gave_up;
    }
  }

  NESTLINE_HERE bool grows() {
    try {
      return filter_.grow();
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // During fill the token may not be there yet, so it is taken when fill ends.
  NESTLINE_HERE void take_token(Hash hash) {
    if (state_ == State::filtering) {
      remove_token(hash);
    } else if (state_ == State::filling) {
      const std::lock_guard lock(list_mutex_);
      taken_.insert(hash.value);
    }
  }

  NESTLINE_HERE void remove_token(Hash hash) {
    if (list_size_ != 0) {
      const std::lock_guard lock(list_mutex_);
      if (const auto found = listed_.find(hash.value); found != listed_.end()) {
        listed_.erase(found);
        list_size_ = listed_.size();
        return;
      }
    }
    filter_.erase(hash);
  }

  NESTLINE_HERE void forget_file() {
    if (!saved_) return;
    const std::lock_guard lock(file_mutex_);
    if (!saved_) return;
    remove_saved(path_);
    saved_ = false;
  }

  ConcurrentFilter filter_;
  std::pmr::memory_resource* memory_;
  std::filesystem::path path_;
  std::atomic<std::uint8_t> state_{State::passing};
  std::atomic<bool> saved_;  // whether there may be a file
  std::mutex file_mutex_;
  std::array<std::mutex, kTurns> turns_;  // of keys, by hash
  mutable std::mutex list_mutex_;
  std::unordered_multiset<std::uint64_t> listed_;
  std::atomic<std::size_t> list_size_{0};
  std::unordered_multiset<std::uint64_t> taken_;  // during fill: to be taken when it ends
};

}}  // namespace nestline

#endif  // NESTLINE_GUARD_H_
