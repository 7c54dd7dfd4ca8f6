// Parts in memory, and ClusterCopy: see part_set.h and nestline/cluster.h. The file of a
// ClusterCopy, little-endian. A head of 64 bytes:
//
//     0  magic: 8e 'N' 'C' 'L' 0d 0a 1a 0a    24  u64 fpr: the bits of the double
//     8  u32 version, 1                       32  u64 capacity
//    12  u32 parts                            40  u64 max capacity
//    16  u64 seed                             48  u64 turns over: 0 or 1
//                                             56  u64 checksum of bytes 0 to 55
//
// Then the parts one after the other. Each is the pieces of its image
// (lib/faces/embed/value/image.h), its head first, every piece as a record, and then a record
// without bytes:
//
//     0  u64 length of the bytes
//     8  the bytes
//   end  u64 checksum of four numbers of 64 bits: the checksum of the record before (at the
//        beginning that of the head), the part's number, the length, and the checksum of the bytes
//
// So every byte counts, and no record can be left out, doubled or moved. A checksum is XXH3-64.
#include "lib/faces/cluster/part_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/embed/fields.h"
#include "lib/filters/parallel/parallel_tasks.h"
#include "lib/system/system.h"

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

constexpr std::uint64_t kMagic = 0x0a1a0a0d4c434e8e;  // 8e 'N' 'C' 'L' 0d 0a 1a 0a
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 64;

using Head = std::array<std::byte, kHeadBytes>;
using Number = std::array<std::byte, 8>;

// What is between the version and the checksum.
constexpr auto kHeadFields = [](auto& at, auto& head) {
  at(12, 4, head.parts);
  at(16, 8, head.seed, head.fpr, head.capacity, head.max_capacity);
  at(48, 8, head.turns_over);
};

Number bytes_of(std::uint64_t number) {
  Number bytes;
  put(std::span(bytes), 0, number);
  return bytes;
}

std::uint64_t record_checksum(std::uint64_t before, std::uint64_t part,
                              std::span<const std::byte> content) {
  std::array<std::byte, 32> numbers;
  put(std::span(numbers), 0, before);
  put(std::span(numbers), 8, part);
  put(std::span(numbers), 16, std::uint64_t{content.size()});
  put(std::span(numbers), 24, checksum(content));
  return checksum(numbers);
}

Head encode_head(const Descriptor& descriptor) {
  Head head{};
  put(std::span(head), 0, kMagic);
  put(std::span(head), 8, kVersion);
  put_fields(head, kHeadFields, descriptor);
  seal(head);
  return head;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : source_(path) {}

  PartSet read() {
    PartSet parts(read_head());
    for (std::uint32_t part = 0; part < parts.descriptor().parts; ++part) {
      redis::ImageReader reader;
      while (read_record(part)) {
        if (!reader.add(record_)) refuse("a piece of part " + std::to_string(part) + " is wrong");
      }
      parts.values()[part] = reader.finish();
      if (!parts.values()[part]) refuse("part " + std::to_string(part) + " is not whole");
      const redis::Settings& settings = parts.value(part).settings();
      if (settings.seed != parts.descriptor().seed ||
          settings.turns_over != parts.descriptor().turns_over ||
          !parts.value(part).tables().empty()) {
        refuse("part " + std::to_string(part) + " belongs to another filter");
      }
    }
    if (at_ != source_.size()) refuse("there are bytes after its end");
    return parts;
  }

 private:
  Descriptor read_head() {
    Head head{};
    if (source_.size() < kHeadBytes) refuse("it is too short");
    source_.read(0, head);
    if (get<std::uint64_t>(head, 0) != kMagic) refuse("it does not begin as one");
    if (!is_sealed(head)) refuse("its head is damaged");
    before_ = seal_of(head);
    if (get<std::uint32_t>(head, 8) != kVersion) refuse("its version is not known here");
    Descriptor found;
    const bool is_valid = get_fields(head, kHeadFields, found) && found.parts != 0 &&
                          found.parts <= kMaxParts && found.capacity != 0 &&
                          found.fpr >= redis::lowest_error(0) && found.fpr < 1;
    if (!is_valid) refuse("its head has a value that is out of bounds");
    at_ = kHeadBytes;
    return found;
  }

  // Into record_. False: it has no bytes.
  bool read_record(std::uint32_t part) {
    const std::uint64_t left = source_.size() - at_;
    Number number{};
    if (left < 2 * number.size()) refuse("it ends too early");
    source_.read(at_, number);
    const auto length = get<std::uint64_t>(number, 0);
    if (length > left - 2 * number.size()) refuse("it ends too early, or a length is damaged");
    record_.resize(static_cast<std::size_t>(length));
    source_.read(at_ + number.size(), record_);
    source_.read(at_ + number.size() + length, number);
    before_ = record_checksum(before_, part, record_);
    if (before_ != get<std::uint64_t>(number, 0)) {
      refuse("part " + std::to_string(part) + " is damaged");
    }
    at_ += 2 * number.size() + length;
    return length != 0;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw FormatError(source_.name(), at_, "this is not the copy of a logical filter: " + why);
  }

  RegularFile source_;
  std::uint64_t at_ = 0;
  std::uint64_t before_ = 0;
  std::vector<std::byte> record_;
};

}  // namespace

PartSet PartSet::build(const Descriptor& descriptor, const HashesByPart& hashes) {
  PartSet made(descriptor);
  const redis::Settings settings =
      part_settings(descriptor, std::max(descriptor.capacity, hashes.size()));
  parallel::for_each_task(descriptor.parts, [&](std::size_t part) {
    made.values_[part] =
        redis::CuckooValue::build(settings, hashes.of(static_cast<std::uint32_t>(part)));
  });
  return made;
}

std::size_t PartSet::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  require_answers(keys, out);
  KeySplit split;
  std::vector<std::uint8_t> answers;
  std::size_t found = 0;
  for (std::size_t at = 0; at < keys.size(); at += kKeysAtOnce) {
    const std::size_t some = std::min(kKeysAtOnce, keys.size() - at);
    split.assign(keys.subspan(at, some), descriptor_.seed, descriptor_.parts);
    for (std::uint32_t part = 0; part < descriptor_.parts; ++part) {
      const auto hashes = split.hashes_of(part);
      const auto positions = split.positions_of(part);
      answers.resize(hashes.size());
      values_[part]->exists(hashes, answers);
      for (std::size_t i = 0; i < answers.size(); ++i) {
        out[at + positions[i]] = answers[i];
        found += answers[i];
      }
    }
  }
  return found;
}

std::uint64_t PartSet::items() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& value : values_) sum += value->items();
  return sum;
}

std::size_t PartSet::memory_bytes() const noexcept {
  std::size_t sum = 0;
  for (const auto& value : values_) sum += value->memory_bytes();
  return sum;
}

void write_copy(const std::filesystem::path& path, const PartSet& parts) {
  replace_file(path, [&](const ByteSink& sink) {
    const Head head = encode_head(parts.descriptor());
    sink(head);
    std::uint64_t before = seal_of(head);
    const auto write = [&](std::uint32_t part, std::span<const std::byte> content) {
      before = record_checksum(before, part, content);
      sink(bytes_of(content.size()));
      sink(content);
      sink(bytes_of(before));
    };
    for (std::uint32_t part = 0; part < parts.descriptor().parts; ++part) {
      parts.value(part).for_each_chunk(
          [&](const redis::Chunk& piece) { write(part, piece.bytes); });
      write(part, {});
    }
  });
}

PartSet read_copy(const std::filesystem::path& path) { return Reader(path).read(); }

}}}  // namespace nestline::cluster

namespace nestline { inline namespace v0_3 {

ClusterCopy::ClusterCopy(internal::OwnedState<State> state) noexcept : state_(std::move(state)) {}
ClusterCopy::ClusterCopy(ClusterCopy&& other) noexcept = default;
ClusterCopy& ClusterCopy::operator=(ClusterCopy&& other) noexcept = default;
ClusterCopy::~ClusterCopy() = default;

void save(const ClusterCopy& copy, const std::string& path) {
  cluster::write_copy(path, copy.state_->parts);
}
ClusterCopy ClusterCopy::load(const std::string& path) {
  return ClusterCopy(std::unique_ptr<State>(new State{cluster::read_copy(path)}));
}

std::size_t ClusterCopy::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  return state_->parts.may_contain(keys, out);
}
std::uint64_t ClusterCopy::size() const noexcept { return state_->parts.items(); }
unsigned ClusterCopy::parts() const noexcept { return state_->parts.descriptor().parts; }
std::uint64_t ClusterCopy::seed() const noexcept { return state_->parts.descriptor().seed; }
double ClusterCopy::fpr() const noexcept { return state_->parts.descriptor().fpr; }
std::uint64_t ClusterCopy::capacity() const noexcept { return state_->parts.descriptor().capacity; }
std::size_t ClusterCopy::memory_bytes() const noexcept { return state_->parts.memory_bytes(); }

}}  // namespace nestline
