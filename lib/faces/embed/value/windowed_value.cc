#include "lib/faces/embed/value/windowed_value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/embed/fields.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

std::span<const Hash> as_keys(std::span<const std::uint64_t> hashes) {
  static_assert(sizeof(Hash) == sizeof(std::uint64_t));
  return {reinterpret_cast<const Hash*>(hashes.data()), hashes.size()};
}

void check_lengths(std::size_t keys, std::size_t results) {
  if (keys != results) throw std::invalid_argument("there must be one result for each item");
}

constexpr std::uint64_t kWindowMagic = 0x0a1a0a0d57434e8e;  // 8e 'N' 'C' 'W' 0d 0a 1a 0a
constexpr std::uint32_t kWindowVersion = 1;
constexpr std::size_t kWindowHeadBytes = 120;
using Bytes = std::span<const std::byte>;

// All but byte 12, the width.
constexpr auto kWindowFields = [](auto& at, auto& head) {
  auto& shape = head.shape;
  at(0, 8, kWindowMagic);
  at(8, 4, kWindowVersion);
  at(13, 1, shape.life);
  at(14, 2, kNoBits);
  at(16, 8, shape.capacity, head.error, shape.seed, shape.geometry.base_blocks, head.window,
     shape.tick, head.time, shape.exchanged, shape.swept, shape.waiting, head.items, head.loaded);
};

PiecePlace place_of(const Shape& shape, std::uint64_t number) {
  return {AreaKind::blocks, 0, number * kPieceBytes, shape.stored_bytes()};
}

std::vector<std::byte> encode(const WindowedHead& head) {
  std::vector<std::byte> bytes(kWindowHeadBytes);
  put_fields(bytes, kWindowFields, head);
  put(bytes, 12, static_cast<std::uint8_t>(fingerprint_bits(head.shape.bits)));
  seal(bytes);
  return bytes;
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
                         .ttl_ticks = kLife,
                         .load = kLoad,
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

unsigned WindowedValue::next_death() const noexcept {
  static_assert(kDeaths == std::numeric_limits<std::uint16_t>::digits);
  if (deaths_ == 0) return 0;
  const auto from_now = std::rotr(deaths_, static_cast<int>(tick() % kDeaths));
  return static_cast<unsigned>(std::countr_zero(from_now));
}

// Which ticks those are is in the slots alone.
void WindowedValue::expect_all_deaths() noexcept {
  deaths_ = 0;
  if (filter_.size() != 0) deaths_ = static_cast<std::uint16_t>(~bit_of(tick()));
}

void WindowedValue::clear() noexcept {
  filter_.clear();
  deaths_ = 0;
}

Outcome WindowedValue::insert(std::string_view item, unsigned life) noexcept {
  expect_death(life);
  return filter_.insert(item, life).outcome;
}

void WindowedValue::insert(std::span<const std::string_view> items, std::span<Outcome> outcomes) {
  check_lengths(items.size(), outcomes.size());
  expect_death(kLife);
  (void)filter_.insert(items, outcomes);
}

void WindowedValue::insert(std::span<const std::uint64_t> hashes, std::span<Outcome> outcomes) {
  check_lengths(hashes.size(), outcomes.size());
  expect_death(kLife);
  (void)filter_.insert(as_keys(hashes), outcomes);
}

bool WindowedValue::advance(std::uint64_t tick, std::uint64_t time) {
  const std::uint64_t now = filter_.now();
  if (tick <= now || tick > kMaxTick) return false;
  filter_.advance(tick - now);
  for (std::uint64_t i = 1; i <= std::min<std::uint64_t>(tick - now, kDeaths); ++i) {
    deaths_ &= static_cast<std::uint16_t>(~bit_of(now + i));
  }
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
  (void)filter_.may_contain(as_keys(hashes), out);
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
  for (std::uint64_t number = 0; number < all.pieces(); ++number) {
    const PiecePlace place = place_of(all.shape, number);
    bytes.resize(place.content_bytes());
    copy_bytes(blocks_of(filter_), place.offset, bytes);
    (void)replace_bytes(made->filter_, place.offset, bytes);
  }
  made->awaited_ = awaited_;
  made->begun = begun;
  made->pending_ticks = pending_ticks;
  made->deaths_ = deaths_;
  return made;
}

bool WindowedValue::is_head(Bytes bytes) noexcept {
  return bytes.size() >= sizeof kWindowMagic && get<std::uint64_t>(bytes, 0) == kWindowMagic;
}

std::optional<WindowedHead> WindowedValue::decode_head(Bytes bytes) {
  WindowedHead head;
  if (bytes.size() != kWindowHeadBytes || !is_sealed(bytes) ||
      !get_fields(bytes, kWindowFields, head)) {
    return std::nullopt;
  }
  Shape& shape = head.shape;
  shape.bits = expiring_layout(get<std::uint8_t>(bytes, 12));
  const bool is_sound =
      head.error >= 0 && head.error < 1 && head.window >= 1 && head.window <= kMaxWindow &&
      shape.life == kLife && shape.tick <= kMaxTick && head.time <= kMaxTime &&
      can_exist(Kind::expiring, shape, head.items) && head.loaded <= head.pieces();
  return is_sound ? std::optional(head) : std::nullopt;
}

WindowedHead WindowedValue::head() const {
  WindowedHead head{.shape = shape_of(filter_),
                    .error = error_,
                    .window = window_,
                    .time = time_,
                    .items = awaited_ ? awaited_->items : filter_.size()};
  head.loaded = awaited_ ? awaited_->loaded : head.pieces();
  return head;
}

std::vector<std::byte> WindowedValue::piece(std::uint64_t number) const {
  const PiecePlace place = place_of(shape_of(filter_), number);
  std::vector<std::byte> content(place.content_bytes());
  copy_bytes(blocks_of(filter_), place.offset, content);
  return encode_piece(place, content);
}

// The iterator of the head is 0, that of piece n is n + 1.
Chunk WindowedValue::dump_chunk(std::uint64_t iterator) const {
  const WindowedHead all = head();
  if (iterator == 0) return {1, encode(all)};
  if (iterator > all.loaded) return {};
  return {iterator + 1, piece(iterator - 1)};
}

std::unique_ptr<WindowedValue> WindowedValue::from_head(const WindowedHead& head,
                                                        std::pmr::memory_resource* memory) {
  std::unique_ptr<WindowedValue> value(new WindowedValue(
      make_empty_expiring(head.shape, memory), head.error, head.window, head.time, memory));
  value->awaited_ = {head.items, 0};
  return value;
}

std::unique_ptr<WindowedValue> WindowedValue::from_head(Bytes bytes,
                                                        std::pmr::memory_resource* memory) {
  const auto head = decode_head(bytes);
  if (!head) throw std::invalid_argument("not the head of a filter with a window");
  return from_head(*head, memory);
}

bool WindowedValue::load_next(Bytes content) {
  const std::uint64_t offset = awaited_->loaded * kPieceBytes;
  if (!replace_bytes(filter_, offset, content)) return false;
  if (awaited_->loaded + 1 < pieces()) {
    ++awaited_->loaded;
    return true;
  }
  if (filter_.size() == awaited_->items) {
    awaited_.reset();
    expect_all_deaths();
    return true;
  }
  (void)replace_bytes(filter_, offset, std::vector<std::byte>(content.size()));
  return false;
}

bool WindowedValue::load_chunk(std::uint64_t iterator, Bytes bytes) {
  const auto piece = decode_piece(bytes);
  if (!piece || iterator < 2 || iterator - 2 >= pieces()) return false;
  const std::uint64_t number = iterator - 2;
  if (!(piece->place == place_of(shape_of(filter_), number))) return false;
  if (awaited_ && number == awaited_->loaded) return load_next(piece->content);
  if (awaited_ && number > awaited_->loaded) return false;
  const std::vector<std::byte> present = this->piece(number);
  return std::equal(present.begin(), present.end(), bytes.begin(), bytes.end());
}

std::uint64_t WindowedValue::digest() const {
  std::uint64_t digest = checksum(encode(head()));
  for (std::uint64_t number = 0; number < pieces(); ++number) {
    digest = chained(digest, piece(number));
  }
  return digest;
}

bool WindowedValue::load_content(const Piece& piece) {
  return piece.place.kind == AreaKind::blocks &&
         replace_bytes(filter_, piece.place.offset, piece.content);
}

bool WindowedValue::finish_reading(const WindowedHead& head) {
  if (head.loaded < head.pieces()) {
    awaited_ = {head.items, head.loaded};
    return true;
  }
  awaited_.reset();
  expect_all_deaths();
  return filter_.size() == head.items;
}

}}}  // namespace nestline::redis
