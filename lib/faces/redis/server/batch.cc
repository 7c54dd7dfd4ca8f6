// A batch of lookups that the worker threads answer while the server goes on.
//
//   server's thread   begin: makes a View of the value, blocks the client
//   workers           look up in the View, slice by slice (workers.h)
//   server's thread   answers what the View left open, kMaxAtOnce lookups at a time, between
//                     other events; mostly there is none
//   a worker          writes the reply, lets go of the value, unblocks the client
//   server's thread   moves the reply to the client, if it is still there, and frees the batch
//
// Every answer is right for some instant between the command's arrival and its reply (view.h). The
// value is held by reference: deleting or replacing its key does not wait for the batch, which goes
// on with that value; if nothing else holds it in the end, a worker frees it. Of the server's data
// workers touch only the argument's bytes, which the batch holds, and the reply, the client's.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/value/hash_string.h"
#include "lib/faces/embed/value/view.h"
#include "lib/faces/redis/server/commands.h"
#include "lib/faces/redis/server/configuration.h"
#include "lib/faces/redis/server/workers.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

// Hashes of a slice: some ten microseconds of work. Larger batches have larger slices.
constexpr std::size_t kSlice = 4096;
// Lookups that the server's thread does at once, and those that it looks at for that.
constexpr std::size_t kMaxAtOnce = 1024;
constexpr std::size_t kMaxLookedAt = std::size_t{1} << 18;

constexpr std::size_t rounded_up(std::size_t number, std::size_t unit) {
  return (number + unit - 1) / unit * unit;
}

class Batch;

// The batches that wait for the server's thread, which answers some lookups of one after the other.
// The event loop makes the calls that are scheduled until none is left; so there is one call at
// most at any time, and a worker schedules the next one. Other events come in between.
class Turns final : public Work {
 public:
  void add(Batch& batch) noexcept;  // by any thread
  // In a worker.
  void run(std::uint32_t) noexcept override { (void)api.EventLoopAddOneShot(serve, this); }

 private:
  // In the server's thread.
  static void serve(void* turns) noexcept { static_cast<Turns*>(turns)->serve(); }
  void serve() noexcept;
  void append(Batch& batch) noexcept;
  std::mutex mutex_;  // guards the others
  Batch* first_ = nullptr;
  Batch* last_ = nullptr;
  bool is_scheduled_ = false;  // a call
};

// Lives as long as the process: workers may still have work when it ends.
Turns& turns() {
  static Turns* const only = new Turns;
  return *only;
}

class Batch final : public Work {
 public:
  // `hashes` are empty if they are in `argument`.
  Batch(std::shared_ptr<CuckooValue> value, std::unique_ptr<View> view, Reply reply,
        String* argument, std::vector<std::uint64_t> hashes)
      : value_(std::move(value)),
        view_(std::move(view)),
        reply_(reply),
        hashes_(std::move(hashes)),
        size_(hashes_.empty() ? HashString(text(argument)).size() : hashes_.size()),
        answers_(reply == Reply::counts ? size_ : bit_bytes(size_)),
        open_(bit_bytes(size_)) {
    const std::size_t slices = std::min<std::size_t>(Workers::kMaxSlices, size_ / kSlice + 1);
    slice_ = rounded_up((size_ + slices - 1) / slices, View::kMaxBatch);
    slices_ = static_cast<std::uint32_t>((size_ + slice_ - 1) / slice_);
    left_ = slices_;
  }

  // False, nothing having happened, when the workers or the server refuse.
  static bool begin(std::unique_ptr<Batch> batch, const Call& call) {
    if (!workers().are_ready(batch->slices_)) return false;
    batch->client_ = api.BlockClient(call.context, nullptr, nullptr, release, 0);
    if (batch->client_ == nullptr) return false;
    // The slow log and the statistics of commands then have the time until the reply is there.
    (void)api.BlockedClientMeasureTimeStart(batch->client_);
    // Here, not in a worker: it looks at the client, which may be gone by then.
    batch->context_ = api.GetThreadSafeContext(batch->client_);
    if (batch->hashes_.empty()) {
      batch->argument_ = api.HoldString(nullptr, call.arguments[2]);
      batch->bytes_ = text(batch->argument_);
    }
    ++counters.batches;
    Batch& begun = *batch.release();
    workers().offer(begun, begun.slices_);
    return true;
  }

  void run(std::uint32_t slice) noexcept override {
    if (!is_answered_) {
      look_up(slice);
      // Release and acquire: the last one sees what all have written.
      if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      if (has_open_.load(std::memory_order_relaxed)) return turns().add(*this);
    }
    finish();
  }

  // In the server's thread: answers some of what is open. False: that was all; the batch is gone.
  bool take_turn() noexcept {
    if (answer_some()) return true;
    is_answered_ = true;
    if (!workers().offer(*this, 1)) finish();
    return false;
  }

  Batch* behind = nullptr;  // in the queue of Turns

 private:
  void read(std::size_t first, std::span<std::uint64_t> to) const {
    if (hashes_.empty()) {
      HashString(bytes_).read(first, to);
    } else {
      std::copy_n(hashes_.begin() + static_cast<std::ptrdiff_t>(first), to.size(), to.begin());
    }
  }

  void look_up(std::uint32_t slice) {
    std::array<std::uint64_t, View::kMaxBatch> hashes;
    std::array<std::uint8_t, View::kMaxBatch> out, open;
    const std::size_t end = std::min(size_, (slice + std::size_t{1}) * slice_);
    for (std::size_t first = slice * slice_; first < end; first += View::kMaxBatch) {
      const std::size_t some = std::min(View::kMaxBatch, end - first);
      const auto answers = std::span(out).first(some);
      const auto left = std::span(open).first(some);
      read(first, std::span(hashes).first(some));
      if (reply_ == Reply::counts) {
        view_->count(std::span(hashes).first(some), answers, left);
        std::ranges::copy(answers, answers_.begin() + static_cast<std::ptrdiff_t>(first));
      } else {
        view_->exists(std::span(hashes).first(some), answers, left);
        put_bits(answers, std::span(answers_).subspan(first / 8, bit_bytes(some)));
      }
      put_bits(left, std::span(open_).subspan(first / 8, bit_bytes(some)));
      if (std::ranges::find(left, 1) != left.end()) has_open_ = true;
    }
  }

  // Answers some of what is open; whether there may be more.
  bool answer_some() noexcept {
    std::array<std::size_t, kMaxAtOnce> places;
    std::array<std::uint64_t, kMaxAtOnce> hashes;
    std::array<std::uint8_t, kMaxAtOnce> out;
    std::size_t count = 0;
    const std::size_t end = std::min(size_, next_ + kMaxLookedAt);
    for (; next_ < end && count + 8 <= kMaxAtOnce; next_ += 8) {
      for (auto bits = static_cast<unsigned char>(open_[next_ / 8]); bits != 0; bits &= bits - 1) {
        places[count] = next_ + static_cast<std::size_t>(std::countr_zero(bits));
        read(places[count], std::span(hashes).subspan(count, 1));
        ++count;
      }
    }
    counters.answers_left_open += count;
    const auto some = std::span<const std::uint64_t>(hashes).first(count);
    if (reply_ == Reply::counts) {
      value_->count(some, std::span(out).first(count));
    } else {
      value_->exists(some, std::span(out).first(count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (reply_ == Reply::counts) {
        answers_[places[i]] = static_cast<char>(out[i]);
      } else {
        answers_[places[i] / 8] =
            static_cast<char>(answers_[places[i] / 8] | out[i] << places[i] % 8);
      }
    }
    return next_ < size_;
  }

  // Nothing may touch the batch after this.
  void finish() noexcept {
    if (reply_ == Reply::booleans) {
      api.ReplyWithArray(context_, static_cast<long>(size_));
      for (std::size_t i = 0; i < size_; ++i) {
        api.ReplyWithBool(context_, answers_[i / 8] >> i % 8 & 1);
      }
    } else {
      api.ReplyWithStringBuffer(context_, answers_.data(), answers_.size());
    }
    api.FreeThreadSafeContext(context_);
    view_.reset();
    value_.reset();
    (void)api.BlockedClientMeasureTimeEnd(client_);
    api.UnblockClient(client_, this);
  }

  // In the server's thread, also when the client is gone.
  static void release(Context*, void* data) {
    const std::unique_ptr<Batch> batch(static_cast<Batch*>(data));
    if (batch->argument_ != nullptr) api.FreeString(nullptr, batch->argument_);
  }

  std::shared_ptr<CuckooValue> value_;
  std::unique_ptr<View> view_;
  const Reply reply_;
  const std::vector<std::uint64_t> hashes_;
  String* argument_ = nullptr;
  std::string_view bytes_;  // of argument_
  const std::size_t size_;
  std::vector<char> answers_;  // bits or counts
  std::vector<char> open_;     // bits: what the view left open
  std::size_t slice_;          // hashes of a slice; a multiple of View::kMaxBatch
  std::uint32_t slices_;
  std::atomic<std::uint32_t> left_{0};  // slices
  std::atomic<bool> has_open_{false};
  std::size_t next_ = 0;      // what the server's thread looks at next
  bool is_answered_ = false;  // by the server's thread, while no other works on the batch
  BlockedClient* client_ = nullptr;
  Context* context_ = nullptr;
};

void Turns::append(Batch& batch) noexcept {
  batch.behind = nullptr;
  (first_ == nullptr ? first_ : last_->behind) = &batch;
  last_ = &batch;
}

void Turns::add(Batch& batch) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    append(batch);
    if (std::exchange(is_scheduled_, true)) return;
  }
  run(0);
}

void Turns::serve() noexcept {
  for (;;) {
    Batch* batch = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      batch = std::exchange(first_, first_->behind);
    }
    const bool has_more = batch->take_turn();
    {
      const std::scoped_lock lock(mutex_);
      if (has_more) append(*batch);
      is_scheduled_ = first_ != nullptr;
      if (!is_scheduled_) return;
    }
    // Without a worker this thread goes on.
    if (workers().offer(*this, 1)) return;
  }
}

// Whether the server tells the client about changes: CLIENT TRACKING, a subscription. That message
// could come first, and a reply from before the change would be taken for a newer one.
bool is_told_of_changes(const Call& call) {
  ClientInfo client{};
  client.version = 1;
  return api.GetClientInfoById(&client, api.GetClientId(call.context)) != kOk ||
         (client.flags & (kClientTracking | kClientSubscribed)) != 0;
}

}  // namespace

bool is_for_workers(const Call& call, std::size_t lookups) {
  const Configuration& now = configuration();
  if (now.threads == 0 || lookups < static_cast<std::size_t>(now.thread_items)) return false;
  constexpr int kNeedsReply =
      kContextLua | kContextMulti | kContextDenyBlocking | kContextReplicated | kContextLoading;
  return (api.GetContextFlags(call.context) & kNeedsReply) == 0 && !is_told_of_changes(call);
}

bool hand_over(const Call& call, const OpenedKey& key, Reply reply,
               std::vector<std::uint64_t> hashes) {
  auto view = key.filter()->view();
  if (view == nullptr) return false;
  return Batch::begin(std::make_unique<Batch>(key.shared(), std::move(view), reply,
                                              call.arguments[2], std::move(hashes)),
                      call);
}

}}}  // namespace nestline::redis
