// ClusterCopy: see nestline/cluster.h.
#include <utility>

#include "lib/cluster/copy_file.h"
#include "lib/cluster/part_set.h"
#include "nestline/cluster.h"

namespace nestline {

ClusterCopy::ClusterCopy(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ClusterCopy::ClusterCopy(ClusterCopy&& other) noexcept = default;
ClusterCopy& ClusterCopy::operator=(ClusterCopy&& other) noexcept = default;
ClusterCopy::~ClusterCopy() = default;

void ClusterCopy::save(const std::string& path) const { cluster::write_copy(path, state_->parts); }
ClusterCopy ClusterCopy::load(const std::string& path) {
  return ClusterCopy(std::unique_ptr<State>(new State{cluster::read_copy(path)}));
}

std::size_t ClusterCopy::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  return state_->parts.may_contain(keys, out);
}
std::uint64_t ClusterCopy::items() const noexcept { return state_->parts.items(); }
unsigned ClusterCopy::parts() const noexcept { return state_->parts.descriptor().parts; }
std::uint64_t ClusterCopy::seed() const noexcept { return state_->parts.descriptor().seed; }
double ClusterCopy::fpr() const noexcept { return state_->parts.descriptor().fpr; }
std::uint64_t ClusterCopy::capacity() const noexcept { return state_->parts.descriptor().capacity; }
std::size_t ClusterCopy::memory_bytes() const noexcept { return state_->parts.memory_bytes(); }

}  // namespace nestline
