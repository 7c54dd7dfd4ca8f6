// See power_loss.h.
#include "tests/store/power_loss.h"

#include <algorithm>

namespace nestline::test {

void lay(std::vector<std::byte>& content, const Change& change) {
  if (change.truncation) {
    content.resize(change.size);
    return;
  }
  content.resize(std::max(content.size(), static_cast<std::size_t>(change.size)));
  std::copy(change.bytes.begin(), change.bytes.end(),
            content.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

Fates::Fate Fates::next() {
  const auto lost = [this] { return one_in(2) ? Fate::lost : Fate::torn; };
  switch (kind_) {
    case 0:
      return Fate::kept;
    case 1:
      return Fate::lost;
    case 2:
      return one_in(8) ? lost() : Fate::kept;
    case 3:
      return one_in(8) ? Fate::kept : Fate::lost;
    case 4:
      if (!one_in(6)) return Fate::kept;
      kind_ = 1;
      return Fate::torn;
    default:
      return one_in(2) ? Fate::kept : lost();
  }
}

void Fates::next_file() {
  if (one_in(3)) kind_ = below(kKinds);
}

void Fates::lay(std::vector<std::byte>& content, const Change& change) {
  switch (next()) {
    case Fate::kept:
      return test::lay(content, change);
    case Fate::lost:
      if (!change.truncation) lay_length(content, change);
      return;
    case Fate::torn:
      if (!change.truncation) lay_torn(content, change);
      return;
  }
}

void Fates::lay_length(std::vector<std::byte>& content, const Change& change) {
  if (change.size <= content.size() || one_in(3)) return;
  const std::uint64_t growth = change.size - content.size();
  content.resize(content.size() + (one_in(2) ? growth : below(growth + 1)));
}

void Fates::lay_torn(std::vector<std::byte>& content, const Change& change) {
  lay_length(content, change);
  enum : std::uint64_t { front, sectors, zero_page, kWays };
  const std::uint64_t way = below(kWays);
  const std::uint64_t first = change.offset;
  const std::uint64_t end = std::min<std::uint64_t>(first + change.bytes.size(), content.size());
  const std::uint64_t front_end = first + below(change.bytes.size());
  const std::uint64_t page = (first + below(change.bytes.size())) / kPage;
  bool sector_kept = one_in(2);
  for (std::uint64_t at = first; at < end; ++at) {
    if (at % kSector == 0) sector_kept = one_in(2);
    const std::byte byte = change.bytes[at - first];
    if (way == front && at < front_end) content[at] = byte;
    if (way == sectors && sector_kept) content[at] = byte;
    if (way == zero_page) content[at] = at / kPage == page ? std::byte{0} : byte;
  }
}

}  // namespace nestline::test
