#include "lib/store/log_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <span>
#include <system_error>

#include "lib/store/digest.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::uint64_t kManifestSeed = 0x6d616e6966657374;  // else their hashes are those of keys

// `header`: bytes 8 to 31.
std::uint64_t checksum(const std::byte* header, std::uint64_t digest,
                       const RecordPlace& place) noexcept {
  const std::span<const std::byte, kRecordHeaderBytes - 8> fields(header, kRecordHeaderBytes - 8);
  return digest_of(fields, digest, place.segment, place.offset, place.store_id);
}

constexpr std::array<char, 8> kSegmentMagic = {'n', 'e', 's', 't', 'l', 'o', 'g', '\n'};
constexpr std::size_t kChecksumAt = kSegmentHeaderBytes - 8;
constexpr std::string_view kEnding = ".log";
constexpr std::size_t kMinDigits = 8;
constexpr std::uint64_t kMaxListed = std::uint64_t{1} << 20;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

std::uint64_t hash_in(Space space, std::string_view key, std::uint64_t store_id) noexcept {
  return digest_of(key, space == Space::keys ? store_id : store_id ^ kManifestSeed);
}

std::uint64_t value_digest(std::string_view value, std::uint64_t store_id) noexcept {
  return digest_of(value, store_id);
}

void encode_record_header(std::span<std::byte, kRecordHeaderBytes> to, const Record& record,
                          std::uint64_t value_digest, const RecordPlace& place) noexcept {
  put<std::uint64_t>(to, 8,
                     static_cast<std::uint64_t>(record.kind) | record.key.size() << 8 |
                         static_cast<std::uint64_t>(record.value.size()) << 32);
  put<std::uint64_t>(to, 16, record.sequence);
  put<std::uint64_t>(to, 24, record.hash);
  put<std::uint64_t>(to, 0, checksum(to.data() + 8, value_digest, place));
}

std::vector<std::byte> encode_frame(RecordKind kind, std::uint64_t sequence, std::string_view value,
                                    const RecordPlace& place) {
  const Record record = {kind, sequence, 0, {}, value};
  std::vector<std::byte> bytes(bytes_of(record));
  const std::span<std::byte, kRecordHeaderBytes> header(bytes.data(), kRecordHeaderBytes);
  encode_record_header(header, record, value_digest(value, place.store_id), place);
  std::ranges::copy(bytes_of(value), bytes.begin() + kRecordHeaderBytes);
  return bytes;
}

bool has_checksum(const std::byte* from, std::uint64_t value_digest,
                  const RecordPlace& place) noexcept {
  return load_number<std::uint64_t>(from) == checksum(from + 8, value_digest, place);
}

bool has_hash(const RecordHeader& header, std::string_view key, std::uint64_t store_id) noexcept {
  const auto kind = static_cast<RecordKind>(header.kind);
  return has_key(kind) ? header.hash == hash_in(space_of(kind), key, store_id)
                       : header.hash == 0 && key.empty();
}

std::optional<Record> read_record(std::span<const std::byte> rest,
                                  const RecordPlace& place) noexcept {
  const std::optional<Record> record = frame_record(rest);
  // What is short comes first: a value may be long, and be made to look like records.
  if (!record || !has_hash(read_record_header(rest.data()), record->key, place.store_id) ||
      !has_checksum(rest.data(), *record, place)) {
    return std::nullopt;
  }
  const std::size_t used = kRecordHeaderBytes + record->key.size() + record->value.size();
  return is_zero(rest.subspan(used, bytes_of(*record) - used)) ? record : std::nullopt;
}

void encode_segment_header(std::span<std::byte, kSegmentHeaderBytes> to,
                           const SegmentHeader& header) noexcept {
  std::ranges::fill(to, std::byte{0});
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
      header.limit > kMaxSegmentBytes) {
    return std::nullopt;
  }
  return header;
}

std::string segment_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kMinDigits) digits.insert(0, kMinDigits - digits.size(), '0');
  return digits.append(kEnding);
}

std::optional<std::uint64_t> segment_number(std::string_view name) noexcept {
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  if (name.size() < kMinDigits || (name.size() > kMinDigits && name.front() == '0')) {
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
  std::ranges::sort(numbers);
  return numbers;
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
    if (run.second == 0 || run.second > kMaxListed - numbers.size() || run.first > ~run.second ||
        (!numbers.empty() && run.first <= numbers.back())) {
      return std::nullopt;
    }
    for (std::uint64_t i = 0; i < run.second; ++i) numbers.push_back(run.first + i);
  }
  return numbers;
}

}}  // namespace nestline
