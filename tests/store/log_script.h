// Files of a store made from few bytes, with right checksums: what a fuzzer cannot find by itself.
// The bytes are steps: what to write next, and what may be wrong about it. Numbers, sequence
// numbers and hashes are right unless a step says otherwise.
#ifndef NESTLINE_TESTS_STORE_LOG_SCRIPT_H_
#define NESTLINE_TESTS_STORE_LOG_SCRIPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/store/log_format.h"
#include "tests/store/simulated_disk.h"

namespace nestline::test {

class LogScript {
 public:
  using Bytes = SimulatedMachine::Bytes;
  using Files = std::map<std::string, Bytes>;

  static constexpr std::uint64_t kStoreId = 0x0123456789abcdef;
  static constexpr std::uint64_t kLimit = 65'536;  // of the files

  enum Step : std::uint8_t {
    kSegment,   // seals this file and begins the next one
    kPut,       // key, length of the value
    kErase,     // key
    kManifest,  // key, length of the value
    kBatch,     // number of changes, and of their bytes in units of 8
    kBatchEnd,
    kMark,      // how far back
    kSegments,  // how many of the files before this one
    kSeal,
    kAnyRecord,  // kind, lengths of key and value, error of the sequence number, error of the hash
    kBytes,      // how many bytes as they follow
    kZeros,      // how many
    kFlip,       // position from the end, mask
    kJump,       // the next file leaves out a number
    kOtherFile,  // the rest of the input is the checkpoint
    kSteps,
  };

  explicit LogScript(std::span<const std::uint8_t> input) : input_(input) {}

  Files run() {
    begin_segment();
    while (!input_.empty()) step();
    files_[segment_name(number_)] = content_;
    return std::move(files_);
  }

 private:
  std::uint8_t next() {
    if (input_.empty()) return 0;
    const std::uint8_t byte = input_.front();
    input_ = input_.subspan(1);
    return byte;
  }

  void begin_segment() {
    content_.assign(kSegmentHeaderBytes, std::byte{0});
    encode_segment_header(std::span(content_).first<kSegmentHeaderBytes>(),
                          {kStoreId, number_, kLimit, sequence_});
    numbers_.push_back(number_);
    append(RecordKind::segments, "", list_of(numbers_.size() - 1));
  }

  [[nodiscard]] std::string list_of(std::size_t count) const {
    std::vector<std::uint64_t> numbers;
    for (const std::uint64_t number : numbers_) {
      if (numbers.size() < count && number < number_) numbers.push_back(number);
    }
    return encode_segment_list(numbers);
  }

  void append(RecordKind kind, const std::string& key, const std::string& value,
              std::uint64_t sequence_error = 0, std::uint64_t hash_error = 0) {
    Record record;
    record.kind = kind;
    record.sequence = sequence_ + sequence_error;
    record.hash =
        (has_key(kind) ? hash_in(space_of(kind), key, kStoreId) : std::uint64_t{0}) + hash_error;
    record.key = key;
    record.value = value;
    const std::size_t offset = content_.size();
    content_.resize(offset + bytes_of(record));
    encode_record_header(std::span(content_).subspan(offset).first<kRecordHeaderBytes>(), record,
                         value_digest(value, kStoreId), {kStoreId, number_, offset});
    const std::string both = key + value;
    std::copy_n(reinterpret_cast<const std::byte*>(both.data()), both.size(),
                content_.begin() + static_cast<std::ptrdiff_t>(offset + kRecordHeaderBytes));
    ++sequence_;
  }

  static std::string key_of_byte(std::uint8_t byte) {
    return std::string(byte % 5, 'k') += static_cast<char>(byte);
  }
  std::string draw_value() { return std::string(std::size_t{next()} * 3, 'v'); }

  void step() {
    switch (next() % kSteps) {
      case kSegment:
        append(RecordKind::seal, "", "");
        files_[segment_name(number_)] = content_;
        ++number_;
        return begin_segment();
      case kPut: {
        const std::string key = key_of_byte(next());
        return append(RecordKind::put, key, draw_value());
      }
      case kErase:
        return append(RecordKind::erase, key_of_byte(next()), "");
      case kManifest: {
        const std::string key = key_of_byte(next());
        return append(RecordKind::manifest_put, key, draw_value());
      }
      case kBatch: {
        const std::uint64_t changes = next();
        return append(RecordKind::batch_begin, "",
                      encode_two_numbers({changes, std::uint64_t{next()} * 8}));
      }
      case kBatchEnd:
        return append(RecordKind::batch_end, "", "");
      case kMark: {
        const std::uint64_t back = next();
        const std::uint64_t end = content_.size();
        return append(RecordKind::sync_mark, "", encode_two_numbers({number_, end - back * 8}));
      }
      case kSegments:
        return append(RecordKind::segments, "", list_of(next()));
      case kSeal:
        return append(RecordKind::seal, "", "");
      case kAnyRecord: {
        const auto kind = static_cast<RecordKind>(next());
        const std::string key(next(), 'k');
        const std::string value = draw_value();
        const std::uint64_t sequence_error = next();
        return append(kind, key, value, sequence_error, next());
      }
      case kBytes:
        for (unsigned left = next(); left > 0; --left) content_.push_back(std::byte{next()});
        return;
      case kZeros:
        return content_.resize(content_.size() + next());
      case kFlip: {
        const std::size_t back = std::size_t{next()} % content_.size();
        content_[content_.size() - 1 - back] ^= std::byte{next()};
        return;
      }
      case kJump:
        files_[segment_name(number_)] = content_;
        number_ += 1 + next();
        return begin_segment();
      case kOtherFile: {
        const auto rest = std::as_bytes(input_);
        files_["index.nest"] = Bytes(rest.begin(), rest.end());
        input_ = {};
        return;
      }
      default:
        return;
    }
  }

  std::span<const std::uint8_t> input_;
  Files files_;
  std::vector<std::uint64_t> numbers_;
  std::uint64_t number_ = 1;
  std::uint64_t sequence_ = 1;
  Bytes content_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_LOG_SCRIPT_H_
