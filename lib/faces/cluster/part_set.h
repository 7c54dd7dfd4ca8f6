// All parts of a logical filter in memory: what upload() builds and download() returns.
#ifndef NESTLINE_LIB_FACES_CLUSTER_PART_SET_H_
#define NESTLINE_LIB_FACES_CLUSTER_PART_SET_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "lib/faces/cluster/descriptor.h"
#include "lib/faces/cluster/key_split.h"
#include "lib/faces/embed/value/value.h"
#include "nestline/cluster.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

/// Thread safety: const members may run together; nothing else.
class PartSet {
 public:
  /// No parts yet; they are to be put in.
  explicit PartSet(const Descriptor& descriptor) : descriptor_(descriptor) {
    values_.resize(descriptor.parts);
  }
  /// Parts with these keys and with room for at least the descriptor's capacity, built on all
  /// threads of the caller's oneTBB arena. Throws parallel::Cancelled, std::bad_alloc.
  static PartSet build(const Descriptor& descriptor, const HashesByPart& hashes);
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::span<std::unique_ptr<redis::CuckooValue>> values() noexcept { return values_; }
  [[nodiscard]] const redis::CuckooValue& value(std::uint32_t part) const { return *values_[part]; }
  std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out) const;
  [[nodiscard]] std::uint64_t items() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  Descriptor descriptor_;
  std::vector<std::unique_ptr<redis::CuckooValue>> values_;
};

/// The file of a ClusterCopy. Throws std::system_error, std::bad_alloc.
void write_copy(const std::filesystem::path& path, const PartSet& parts);
/// Throws FormatError, std::system_error, std::bad_alloc. Takes as much memory as the file, about.
PartSet read_copy(const std::filesystem::path& path);

}}}  // namespace nestline::cluster

namespace nestline { inline namespace v0_3 {

struct ClusterCopy::State {
  cluster::PartSet parts;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_CLUSTER_PART_SET_H_
