// The filter of a generation while other threads may look up in it, and who holds it.
//
//   Generation --- SharedFilter::Owner ----+
//                                          +--> SharedFilter (counts its holders) --> Notices
//   View, View, ... - SharedFilter::Reader +
//
// The owner's thread alone changes the filter, and it alone makes readers' handles from its own. So
// once it finds itself the only holder, it stays that. Readers' handles may be dropped in any
// thread; the last holder frees the filter.
//
// Notices is what a value tells the threads that look at it (view.h). All of it is written by the
// value's thread alone.
#ifndef NESTLINE_LIB_REDIS_VALUE_SHARED_FILTER_H_
#define NESTLINE_LIB_REDIS_VALUE_SHARED_FILTER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "lib/file/shared_blocks.h"

namespace nestline::redis {

/// See the head of this file. Each number is advanced before what it tells of can be seen: by a
/// release, as every change of a block is one.
struct Notices {
  /// Advanced when an erase begins that may choose between generations, and when it has ended: odd
  /// while one is under way.
  std::atomic<std::uint64_t> erases{0};
  /// Advanced when a filter is no longer that of a generation of the value, and when a generation
  /// comes.
  std::atomic<std::uint64_t> lists{0};

  static void advance(std::atomic<std::uint64_t>& number) noexcept {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

/// See the head of this file.
class SharedFilter {
 public:
  class Owner;
  class Reader;

 private:
  SharedFilter(Filter&& filter, std::shared_ptr<Notices> notices)
      : keys_(filter.size()), filter_(share(std::move(filter))), notices_(std::move(notices)) {}

  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  // Release and acquire: what each holder did happens before the last one frees the filter.
  void let_go() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::atomic<std::uint64_t> holders_{1};
  std::uint64_t keys_;  // the owner's count: it asks for it more often than the filter is asked
  ConcurrentFilter filter_;
  const std::shared_ptr<Notices> notices_;
};

/// A handle for looking up; none when it is empty.
class SharedFilter::Reader {
 public:
  Reader(Reader&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Reader& operator=(Reader&&) = delete;
  ~Reader() {
    if (shared_ != nullptr) shared_->let_go();
  }
  void may_contain(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
    shared_->filter_.may_contain(hashes, out);
  }
  void count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out) const {
    shared_->filter_.count(hashes, out);
  }

 private:
  friend class Owner;
  explicit Reader(SharedFilter* shared) noexcept : shared_(shared) { shared_->hold(); }
  SharedFilter* shared_;
};

/// The generation's handle; none when it is empty.
class SharedFilter::Owner {
 public:
  Owner() noexcept = default;
  /// Throws std::bad_alloc; `filter` is then unchanged.
  Owner(Filter&& filter, std::shared_ptr<Notices> notices)
      : shared_(new SharedFilter(std::move(filter), std::move(notices))) {}
  Owner(Owner&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) {
      drop();
      shared_ = std::exchange(other.shared_, nullptr);
    }
    return *this;
  }
  ~Owner() { drop(); }

  explicit operator bool() const noexcept { return shared_ != nullptr; }
  [[nodiscard]] ConcurrentFilter& filter() const noexcept { return shared_->filter_; }
  [[nodiscard]] std::uint64_t& keys() const noexcept { return shared_->keys_; }
  [[nodiscard]] Reader reader() const noexcept { return Reader(shared_); }

  /// The filter without locks, and the handle is then empty: the same memory if no reader holds it,
  /// or else a copy. Throws std::bad_alloc, nothing being changed.
  Filter take_back() {
    // Acquire: what the readers read, they read before this.
    const bool is_alone = shared_->holders_.load(std::memory_order_acquire) == 1;
    Filter filter = is_alone ? std::move(shared_->filter_).freeze() : copy_of(shared_->filter_);
    drop();
    return filter;
  }

 private:
  void drop() noexcept {
    if (shared_ == nullptr) return;
    Notices::advance(shared_->notices_->lists);
    std::exchange(shared_, nullptr)->let_go();
  }

  SharedFilter* shared_ = nullptr;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_SHARED_FILTER_H_
