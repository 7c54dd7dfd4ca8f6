#include "lib/faces/embed/value/view.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

std::uint64_t read(const std::atomic<std::uint64_t>& number) noexcept {
  return number.load(std::memory_order_acquire);
}

}  // namespace

View::View(std::span<SubFilter> sub_filters, const Ledger& ledger,
           const std::shared_ptr<Notices>& notices)
    : notices_(notices) {
  filters_.reserve(sub_filters.size());
  for (SubFilter& sub_filter : sub_filters) filters_.push_back(sub_filter.reader(notices));
  named_.reserve(ledger.size());
  for (const auto& [hash, entry] : ledger.entries()) named_.push_back(hash);
  erases_ = read(notices->erases);
  lists_ = read(notices->lists);
}

void View::exists(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out,
                  std::span<std::uint8_t> open) const {
  const std::uint64_t before = read(notices_->erases);
  find_in(filters_, hashes, out);
  const std::uint64_t after = read(notices_->erases);
  const bool is_n1 = after == erases_;
  const bool is_n2 = after == before && read(notices_->lists) == lists_;
  if (is_n1 || is_n2) {
    std::ranges::fill(open, std::uint8_t{0});
  } else {
    std::ranges::transform(out, open.begin(),
                           [](std::uint8_t found) { return static_cast<std::uint8_t>(1 - found); });
  }
  leave_named_open(hashes, out, open);
}

void View::count(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out,
                 std::span<std::uint8_t> open) const {
  std::array<std::uint8_t, kMaxBatch> copies;
  const std::uint64_t before = read(notices_->erases);
  std::ranges::fill(out, std::uint8_t{0});
  for (const SharedFilter::Reader& filter : filters_) {
    filter->filter.count(hashes, std::span(copies).first(hashes.size()));
    std::ranges::transform(out, copies, out.begin(), [](unsigned a, unsigned b) {
      return static_cast<std::uint8_t>(std::min(a + b, 255u));
    });
  }
  const bool is_whole =
      before % 2 == 0 && read(notices_->erases) == before && read(notices_->lists) == lists_;
  std::ranges::fill(open, static_cast<std::uint8_t>(is_whole ? 0 : 1));
  if (!is_whole) std::ranges::fill(out, std::uint8_t{0});
  leave_named_open(hashes, out, open);
}

void View::leave_named_open(std::span<const std::uint64_t> hashes, std::span<std::uint8_t> out,
                            std::span<std::uint8_t> open) const {
  if (named_.empty()) return;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (!std::ranges::binary_search(named_, hashes[i])) continue;
    out[i] = 0;
    open[i] = 1;
  }
}

}}}  // namespace nestline::redis
