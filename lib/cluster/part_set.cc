// Parts in memory, and ClusterCopy: see part_set.h and nestline/cluster.h.
#include "lib/cluster/part_set.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/cluster/key_split.h"
#include "lib/parallel/parallel_tasks.h"

namespace nestline::cluster {
namespace {

void add_all(redis::CuckooValue& value, std::span<const std::uint64_t> hashes) {
  std::vector<redis::Added> outcomes(hashes.size());
  // What a caller uploads has been accepted: a part that does not grow takes it all the same.
  value.add(hashes, redis::Unless::never, redis::kUnlimited, outcomes);
  const auto is_out = [](redis::Added outcome) { return outcome != redis::Added::added; };
  if (std::any_of(outcomes.begin(), outcomes.end(), is_out)) throw std::bad_alloc();
}

// Keys that are split at once for parts that are built: some thousand a part stay in the caches.
std::size_t keys_at_once(std::uint32_t parts) {
  return std::clamp(std::size_t{parts} << 12, std::size_t{1} << 18, kKeysAtOnce);
}

}  // namespace

PartSet PartSet::build(const Descriptor& descriptor, std::uint64_t items, KeySpan keys) {
  PartSet made(descriptor);
  const redis::Settings settings = part_settings(descriptor, items);
  parallel::for_each_task(descriptor.parts, [&](std::size_t part) {
    made.values_[part] = redis::CuckooValue::create(settings);
  });
  KeySplit split;
  const std::size_t most = keys_at_once(descriptor.parts);
  for (std::size_t at = 0; at < keys.size(); at += most) {
    const std::size_t some = std::min(most, keys.size() - at);
    split.assign(keys.subspan(at, some), descriptor.seed, descriptor.parts);
    parallel::for_each_task(descriptor.parts, [&](std::size_t part) {
      add_all(*made.values_[part], split.hashes_of(static_cast<std::uint32_t>(part)));
    });
  }
  return made;
}

std::size_t PartSet::may_contain(KeySpan keys, std::span<std::uint8_t> out) const {
  if (out.size() != keys.size()) {
    throw std::invalid_argument("there are " + std::to_string(keys.size()) +
                                " keys, but room for " + std::to_string(out.size()) + " answers");
  }
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

}  // namespace nestline::cluster

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
