// ClusterFilter: see nestline/cluster.h.
#include "nestline/cluster.h"

#include <utility>

namespace nestline {

struct ClusterFilter::State {
  std::string name;
};

namespace {
[[noreturn]] void absent() { throw ClusterError("the cluster library is a skeleton"); }
}  // namespace

ClusterFilter::ClusterFilter(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ClusterFilter::ClusterFilter(ClusterFilter&& other) noexcept = default;
ClusterFilter& ClusterFilter::operator=(ClusterFilter&& other) noexcept = default;
ClusterFilter::~ClusterFilter() = default;

ClusterFilter ClusterFilter::create(const ClusterOptions&, std::string_view, const Options&,
                                    unsigned) {
  absent();
}
ClusterFilter ClusterFilter::open(const ClusterOptions&, std::string_view) { absent(); }
bool ClusterFilter::remove(const ClusterOptions&, std::string_view) { absent(); }
std::size_t ClusterFilter::insert(KeySpan, std::span<std::uint8_t>) { absent(); }
std::size_t ClusterFilter::insert_unique(KeySpan, std::span<std::uint8_t>) { absent(); }
std::size_t ClusterFilter::may_contain(KeySpan, std::span<std::uint8_t>) { absent(); }
std::size_t ClusterFilter::erase(KeySpan, std::span<std::uint8_t>) { absent(); }
void ClusterFilter::count(KeySpan, std::span<std::uint8_t>) { absent(); }
void ClusterFilter::upload(KeySpan, Upload) { absent(); }
void ClusterFilter::upload(const ClusterCopy&, Upload) { absent(); }
ClusterCopy ClusterFilter::download() { absent(); }
void ClusterFilter::merge(ClusterFilter&) { absent(); }
ClusterStats ClusterFilter::stats() { absent(); }
const std::string& ClusterFilter::name() const noexcept { return state_->name; }
unsigned ClusterFilter::parts() const noexcept { return 0; }
std::uint64_t ClusterFilter::seed() const noexcept { return 0; }
std::uint64_t ClusterFilter::capacity() const noexcept { return 0; }
double ClusterFilter::fpr() const noexcept { return 0; }
unsigned ClusterFilter::part_of(Key) const noexcept { return 0; }

}  // namespace nestline
