#include "lib/store/segment_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "lib/place/little_endian.h"
#include "lib/store/digest.h"

namespace nestline {
namespace {

constexpr std::array<char, 8> kSegmentMagic = {'n', 'e', 's', 't', 'l', 'o', 'g', '\n'};
constexpr std::size_t kChecksumAt = kSegmentHeaderBytes - 8;
constexpr std::string_view kEnding = ".log";
constexpr std::size_t kLeastDigits = 8;
constexpr std::uint64_t kMostListed = std::uint64_t{1} << 20;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

void encode_segment_header(std::span<std::byte, kSegmentHeaderBytes> to,
                           const SegmentHeader& header) noexcept {
  std::fill(to.begin(), to.end(), std::byte{0});
  std::memcpy(to.data(), kSegmentMagic.data(), kSegmentMagic.size());
  put<std::uint32_t>(to, 8, kStoreFormatVersion);
  put(to, 16, header.store_id);
  put(to, 24, header.number);
  put(to, 32, header.limit);
  put(to, 40, header.first_sequence);
  put(to, kChecksumAt, digest_of(to.first(kChecksumAt), header.store_id));
}

std::optional<SegmentHeader> decode_segment_header(std::span<const std::byte> segment,
                                                   std::uint64_t number, std::uint32_t& version) {
  version = kStoreFormatVersion;
  if (segment.size() < kSegmentHeaderBytes) return std::nullopt;
  const auto bytes = segment.first<kSegmentHeaderBytes>();
  if (std::memcmp(bytes.data(), kSegmentMagic.data(), kSegmentMagic.size()) != 0)
    return std::nullopt;
  const SegmentHeader header = {get<std::uint64_t>(bytes, 16), get<std::uint64_t>(bytes, 24),
                                get<std::uint64_t>(bytes, 32), get<std::uint64_t>(bytes, 40)};
  if (get<std::uint64_t>(bytes, kChecksumAt) !=
      digest_of(bytes.first(kChecksumAt), header.store_id)) {
    return std::nullopt;
  }
  version = get<std::uint32_t>(bytes, 8);
  if (version != kStoreFormatVersion || header.number != number ||
      header.limit > kMostSegmentBytes) {
    return std::nullopt;
  }
  return header;
}

std::string segment_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kLeastDigits) digits.insert(0, kLeastDigits - digits.size(), '0');
  return digits.append(kEnding);
}

std::optional<std::uint64_t> segment_number(std::string_view name) noexcept {
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  if (name.size() < kLeastDigits || (name.size() > kLeastDigits && name.front() == '0')) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

std::vector<std::uint64_t> segment_numbers(std::span<const std::string> names) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = segment_number(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool is_zero(std::span<const std::byte> bytes) noexcept {
  // Bytes that all equal their neighbours, the first of which is zero.
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::string encode_two_numbers(const TwoNumbers& numbers) {
  std::array<std::byte, 16> bytes;
  put(std::span<std::byte>(bytes), 0, numbers.first);
  put(std::span<std::byte>(bytes), 8, numbers.second);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<TwoNumbers> decode_two_numbers(std::string_view value) noexcept {
  if (value.size() != 16) return std::nullopt;
  return TwoNumbers(get<std::uint64_t>(bytes_of(value), 0), get<std::uint64_t>(bytes_of(value), 8));
}

std::optional<TwoNumbers> mark_of_file_before(const Record& record, std::uint64_t number) noexcept {
  if (record.kind != RecordKind::sync_mark) return std::nullopt;
  const auto mark = decode_two_numbers(record.value);
  return mark && mark->first + 1 == number ? mark : std::nullopt;
}

std::string encode_segment_list(std::span<const std::uint64_t> numbers) {
  std::string value;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[i] + (end - i)) ++end;
    value += encode_two_numbers({numbers[i], end - i});
    i = end;
  }
  return value;
}

std::optional<std::vector<std::uint64_t>> decode_segment_list(std::string_view value) {
  if (value.size() % 16 != 0) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (; !value.empty(); value.remove_prefix(16)) {
    const TwoNumbers run = *decode_two_numbers(value.substr(0, 16));
    if (run.second == 0 || run.second > kMostListed - numbers.size() || run.first > ~run.second ||
        (!numbers.empty() && run.first <= numbers.back())) {
      return std::nullopt;
    }
    for (std::uint64_t i = 0; i < run.second; ++i) numbers.push_back(run.first + i);
  }
  return numbers;
}

}  // namespace nestline
