#include "lib/redis/value/windowed_value.h"

#include <stdexcept>

#include "nestline/keys.h"

namespace nestline::redis {
namespace {

// Keys that are given to the filter in one call.
constexpr std::size_t kChunk = 256;

// Calls use(keys, first) for one chunk of the hashes after the other.
template <typename Use>
void in_hash_chunks(std::span<const std::uint64_t> hashes, const Use& use) {
  std::array<Hash, kChunk> chunk;
  for (std::size_t first = 0; first < hashes.size(); first += kChunk) {
    const std::size_t count = std::min(kChunk, hashes.size() - first);
    for (std::size_t i = 0; i < count; ++i) chunk[i] = Hash{hashes[first + i]};
    use(std::span<const Hash>(chunk).first(count), first);
  }
}

void check_lengths(std::size_t keys, std::size_t results) {
  if (keys != results) throw std::invalid_argument("there must be one result for each item");
}

}  // namespace

std::unique_ptr<WindowedValue> WindowedValue::create(const WindowSettings& settings,
                                                     std::uint64_t time,
                                                     std::pmr::memory_resource* memory) {
  if (settings.window < 1 || settings.window > kMaxWindow) {
    throw std::invalid_argument("window must be from 1 to 4294967295 seconds");
  }
  ExpiringFilter filter({.capacity = settings.capacity,
                         .fpr = settings.error,
                         .life = kLife,
                         .seed = settings.seed,
                         .memory = memory});
  return std::unique_ptr<WindowedValue>(new WindowedValue(
      std::move(filter), settings.error, settings.window, std::min(time, kMaxTime), memory));
}

unsigned WindowedValue::life_of(std::uint64_t seconds) const noexcept {
  const std::uint64_t life = (seconds * kLife + window_ - 1) / window_;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(life, 1, kLife));
}

std::int64_t WindowedValue::tick_length() const noexcept {
  return static_cast<std::int64_t>((window_ * 1'000'000 + kLife - 1) / kLife);
}

Outcome WindowedValue::add(std::string_view item, unsigned life) noexcept {
  return filter_.insert(item, life).outcome;
}

void WindowedValue::add(std::span<const std::string_view> items, std::span<Outcome> outcomes) {
  check_lengths(items.size(), outcomes.size());
  (void)filter_.insert(items, outcomes);
}

void WindowedValue::add(std::span<const std::uint64_t> hashes, std::span<Outcome> outcomes) {
  check_lengths(hashes.size(), outcomes.size());
  in_hash_chunks(hashes, [&](std::span<const Hash> keys, std::size_t first) {
    (void)filter_.insert(keys, outcomes.subspan(first, keys.size()));
  });
}

bool WindowedValue::advance(std::uint64_t tick, std::uint64_t time) {
  const std::uint64_t now = filter_.now();
  if (tick <= now || tick > kMaxTick) return false;
  filter_.advance(tick - now);
  time_ = std::min(time, kMaxTime);
  return true;
}

bool WindowedValue::delay(std::uint64_t time) noexcept {
  if (time <= time_) return false;
  time_ = std::min(time, kMaxTime);
  return true;
}

void WindowedValue::sweep(std::uint64_t blocks) noexcept {
  (void)filter_.sweep(static_cast<std::size_t>(std::min(blocks, this->blocks())));
}

bool WindowedValue::exists(std::string_view item) const noexcept {
  return filter_.may_contain(item);
}

void WindowedValue::exists(std::span<const std::string_view> items,
                           std::span<std::uint8_t> out) const {
  (void)filter_.may_contain(items, out);
}

void WindowedValue::exists(std::span<const std::uint64_t> hashes,
                           std::span<std::uint8_t> out) const {
  check_lengths(hashes.size(), out.size());
  in_hash_chunks(hashes, [&](std::span<const Hash> keys, std::size_t first) {
    (void)filter_.may_contain(keys, out.subspan(first, keys.size()));
  });
}

std::uint64_t WindowedValue::unswept() const noexcept {
  const Shape shape = shape_of(filter_);
  return shape.geometry.blocks() - shape.swept;
}

std::size_t WindowedValue::memory_bytes() const noexcept {
  return sizeof(*this) + bytes_beside(filter_) +
         static_cast<std::size_t>(shape_of(filter_).stored_bytes());
}

std::unique_ptr<WindowedValue> WindowedValue::copy() const {
  WindowedHead all = head();
  std::unique_ptr<WindowedValue> made = from_head(all, memory_);
  std::vector<std::byte> bytes;
  for (std::uint64_t offset = 0; offset < all.shape.stored_bytes(); offset += kPieceBytes) {
    bytes.resize(static_cast<std::size_t>(
        std::min<std::uint64_t>(kPieceBytes, all.shape.stored_bytes() - offset)));
    copy_bytes(blocks_of(filter_), offset, bytes);
    (void)replace_bytes(made->filter_, offset, bytes);
  }
  made->awaited_ = awaited_;
  made->begun = begun;
  made->owed = owed;
  return made;
}

}  // namespace nestline::redis
