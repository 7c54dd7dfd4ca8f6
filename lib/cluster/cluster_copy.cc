// ClusterCopy: see nestline/cluster.h.
#include <utility>

#include "nestline/cluster.h"

namespace nestline {

struct ClusterCopy::State {};

ClusterCopy::ClusterCopy(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ClusterCopy::ClusterCopy(ClusterCopy&& other) noexcept = default;
ClusterCopy& ClusterCopy::operator=(ClusterCopy&& other) noexcept = default;
ClusterCopy::~ClusterCopy() = default;

void ClusterCopy::save(const std::string&) const {}
ClusterCopy ClusterCopy::load(const std::string&) { throw ClusterError("a skeleton"); }
std::size_t ClusterCopy::may_contain(KeySpan, std::span<std::uint8_t>) const { return 0; }
std::uint64_t ClusterCopy::items() const noexcept { return 0; }
unsigned ClusterCopy::parts() const noexcept { return 0; }
std::uint64_t ClusterCopy::seed() const noexcept { return 0; }
double ClusterCopy::fpr() const noexcept { return 0; }
std::uint64_t ClusterCopy::capacity() const noexcept { return 0; }
std::size_t ClusterCopy::memory_bytes() const noexcept { return 0; }

}  // namespace nestline
