// CF.MEXISTSH, MADDH, MADDNXH, MDELH, MCOUNTH: batches of hashes in one string.
//
// A hash belongs to the seed of one filter. So a missing key is an error: a filter that a command
// made would have another seed, and a client whose filter was lost must not take that for "not in
// it". Nor may it take a filter whose pieces are missing (CF.LOADCHUNK) for a whole one: an error,
// too, but not for what is replayed. Tables of RedisBloom need another hash; the value refuses.
//
// What is replicated is what was done: the hashes that were stored, or that were found and erased.
// A replica adds without limits, as it does for all that its primary has acknowledged.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "lib/faces/embed/value/hash_string.h"
#include "lib/faces/redis/server/ticker.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

using Answers = std::array<std::uint8_t, HashString::kMaxInChunk>;

int reply_bytes(const Call& call, std::span<const char> bytes) {
  return api.ReplyWithStringBuffer(call.context, bytes.data(), bytes.size());
}

// The filter of the key; null after a reply with the reason why there are no answers.
CuckooValue* whole_filter(const Call& call, const OpenedKey& key,
                          const char* windowed = kNotForWindow) {
  if (key.refuse(kNotFound, windowed)) return nullptr;
  if (!is_incomplete(call, *key.filter())) return key.filter();
  reply_error(call, kIncomplete);
  return nullptr;
}

// A command's reply, and the hashes to replicate: those with bit 1. Takes all its memory at first.
class Done {
 public:
  explicit Done(const HashString& hashes) : hashes_(hashes), bits_(bit_bytes(hashes.size())) {
    replicated_.resize(hashes.bytes().size());
  }

  // The answers for the next hashes, in the order of the argument.
  void take(std::size_t first, std::span<const std::uint8_t> answers) noexcept {
    put_bits(answers, std::span(bits_).subspan(first / 8, bit_bytes(answers.size())));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      std::memcpy(replicated_.data() + count_ * kHashBytes,
                  hashes_.bytes().data() + (first + i) * kHashBytes, kHashBytes);
      count_ += answers[i];
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::span<const char> bits() const noexcept { return bits_; }

  // For replicas and listeners, if anything was done.
  void replicate(const Call& call, const char* command, const char* event) const {
    if (count_ == 0) return;
    if (count_ == hashes_.size()) {
      api.Replicate(call.context, command, "ss", call.key(), call.arguments[2]);
    } else {
      api.Replicate(call.context, command, "sb", call.key(), replicated_.data(),
                    count_ * kHashBytes);
    }
    notify_change(call, event);
  }

 private:
  const HashString& hashes_;
  std::vector<char> bits_;
  std::vector<char> replicated_;  // the hashes that were stored or erased, count_ of them
  std::size_t count_ = 0;
};

// Inserts all, by insert(hashes, outcomes) for a chunk; take(first, answers) gets what was stored.
template <typename Insert, typename Take>
void insert_chunks(const HashString& hashes, const Insert& insert, const Take& take) {
  std::array<Outcome, HashString::kMaxInChunk> outcomes;
  Answers answers;
  hashes.in_chunks([&](std::size_t first, std::span<const std::uint64_t> chunk) {
    insert(chunk, std::span(outcomes).first(chunk.size()));
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      count_outcome(outcomes[i]);
      answers[i] = outcomes[i] == Outcome::stored;
    }
    take(first, std::span<const std::uint8_t>(answers).first(chunk.size()));
  });
}

int insert_windowed(const Call& call, WindowedValue& value, const HashString& hashes,
                    const char* event) {
  if (refuse_incomplete(call, value)) return kOk;
  std::vector<char> bits(bit_bytes(hashes.size()));
  apply_pending_ticks(call, value);
  insert_chunks(
      hashes, [&](auto chunk, auto outcomes) { value.insert(chunk, outcomes); },
      [&](std::size_t first, auto answers) {
        put_bits(answers, std::span(bits).subspan(first / 8, bit_bytes(answers.size())));
      });
  replicate(call, event);
  replicate_insert_time(call, value);
  return reply_bytes(call, bits);
}

int insert_all(const Call& call, Unless unless, const char* event) {
  const HashString hashes(call.item(2));
  const OpenedKey key(call, kWrite);
  if (WindowedValue* const windowed = key.windowed()) {
    return insert_windowed(call, *windowed, hashes, event);
  }
  CuckooValue* const filter = whole_filter(call, key);
  if (filter == nullptr) return kOk;
  const Limits limits = is_replayed(call) ? kUnlimited : limits_for_clients();
  Done done(hashes);
  insert_chunks(
      hashes, [&](auto chunk, auto outcomes) { filter->insert(chunk, unless, limits, outcomes); },
      [&](std::size_t first, auto answers) { done.take(first, answers); });
  done.replicate(call, "CF.MADDH", event);
  return reply_bytes(call, done.bits());
}

template <typename Value>
std::vector<char> bits_of(const Value& filter, const HashString& hashes) {
  std::vector<char> bits(bit_bytes(hashes.size()));
  Answers answers;
  hashes.in_chunks([&](std::size_t first, std::span<const std::uint64_t> chunk) {
    const auto some = std::span(answers).first(chunk.size());
    filter.exists(chunk, some);
    put_bits(some, std::span(bits).subspan(first / 8, bit_bytes(some.size())));
  });
  return bits;
}

// The reply of a lookup: `answer` makes it of the filter and the hashes.
template <typename Answer>
int look_up(const Call& call, Reply reply, const Answer& answer) {
  const HashString hashes(call.item(2));
  const OpenedKey key(call, kRead);
  if (key.windowed() != nullptr && reply == Reply::bits) {
    if (refuse_incomplete(call, *key.windowed())) return kOk;
    return reply_bytes(call, bits_of(*key.windowed(), hashes));
  }
  const CuckooValue* const filter = whole_filter(call, key, kWindowHasNoCopies);
  if (filter == nullptr) return kOk;
  if (is_for_workers(call, hashes.size()) && hand_over(call, key, reply)) return kOk;
  return reply_bytes(call, answer(*filter, hashes));
}

std::vector<char> counts_of(const CuckooValue& filter, const HashString& hashes) {
  std::vector<char> counts(hashes.size());
  Answers answers;
  hashes.in_chunks([&](std::size_t first, std::span<const std::uint64_t> chunk) {
    filter.count(chunk, std::span(answers).first(chunk.size()));
    std::memcpy(counts.data() + first, answers.data(), chunk.size());
  });
  return counts;
}

}  // namespace

int exists_hashes(const Call& call) { return look_up(call, Reply::bits, bits_of<CuckooValue>); }
int count_hashes(const Call& call) { return look_up(call, Reply::counts, counts_of); }
int add_hashes(const Call& call) { return insert_all(call, Unless::never, "cf.maddh"); }
int add_unique_hashes(const Call& call) { return insert_all(call, Unless::present, "cf.maddnxh"); }

int erase_hashes(const Call& call) {
  const HashString hashes(call.item(2));
  const OpenedKey key(call, kWrite);
  CuckooValue* const filter = whole_filter(call, key);
  if (filter == nullptr) return kOk;
  Done done(hashes);
  Answers answers;
  bool has_memory = true;
  hashes.in_chunks([&](std::size_t first, std::span<const std::uint64_t> chunk) {
    if (!has_memory) return;
    const auto some = std::span(answers).first(chunk.size());
    try {
      filter->erase(chunk, some);
    } catch (const std::bad_alloc&) {
      has_memory = false;
    }
    done.take(first, some);
  });
  counters.items_deleted += done.count();
  done.replicate(call, "CF.MDELH", "cf.mdelh");
  // A bit of 0 would mean "not found".
  return has_memory ? reply_bytes(call, done.bits()) : reply_error(call, kInsufficientMemory);
}

}}}  // namespace nestline::redis
