// The public face: each member in terms of Store::State.
#include "nestline/store.h"

#include <utility>

#include "lib/store/state.h"

namespace nestline {

// The bytes of all keys and values in one string, and where each lies.
struct Store::Batch::Changes {
  struct Step {
    bool is_put;
    std::size_t begin;
    std::size_t key_bytes;
    std::size_t value_bytes;
  };
  std::string bytes;
  std::vector<Step> steps;

  void add(bool is_put, std::string_view key, std::string_view value) {
    const Step step = {is_put, bytes.size(), key.size(), value.size()};
    steps.push_back(step);
    try {
      bytes.append(key).append(value);
    } catch (...) {
      bytes.resize(step.begin);
      steps.pop_back();
      throw;
    }
  }
};

Store::Batch::Batch() : changes_(std::make_unique<Changes>()) {}
Store::Batch::Batch(Batch&& other) noexcept = default;
Store::Batch& Store::Batch::operator=(Batch&& other) noexcept = default;
Store::Batch::~Batch() = default;

void Store::Batch::put(std::string_view key, std::string_view value) {
  changes_->add(true, key, value);
}
void Store::Batch::erase(std::string_view key) { changes_->add(false, key, {}); }
void Store::Batch::clear() noexcept {
  changes_->bytes.clear();
  changes_->steps.clear();
}
std::size_t Store::Batch::size() const noexcept { return changes_->steps.size(); }

Store Store::open(const std::filesystem::path& folder, const StoreOptions& options) {
  if (options.segment_bytes < std::uint64_t{64} << 10) {
    throw std::invalid_argument("segment_bytes must be from 64 KiB to 64 GiB");
  }
  return State::open(open_system_disk(folder, options.create && !options.read_only), options, {});
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&& other) noexcept = default;
Store& Store::operator=(Store&& other) noexcept = default;
Store::~Store() = default;

bool Store::get(std::string_view key, std::string& value) const {
  return get(key, [&](std::string_view found) { value.assign(found); });
}

bool Store::get_with(std::string_view key, With with, void* context) const {
  return state_->get(Space::keys, key, with, context);
}

bool Store::contains(std::string_view key) const {
  return state_->get(Space::keys, key, nullptr, nullptr);
}

void Store::put(std::string_view key, std::string_view value) {
  state_->put(Space::keys, key, value);
}

bool Store::insert(std::string_view key, std::string_view value) {
  return state_->insert(Space::keys, key, value);
}

bool Store::erase(std::string_view key) { return state_->erase(Space::keys, key); }

void Store::write(const Batch& batch) {
  std::vector<State::BatchStep> steps;
  steps.reserve(batch.size());
  for (const Batch::Changes::Step& step : batch.changes_->steps) {
    const std::string_view bytes = std::string_view(batch.changes_->bytes).substr(step.begin);
    steps.push_back({step.is_put, bytes.substr(0, step.key_bytes),
                     bytes.substr(step.key_bytes, step.value_bytes)});
  }
  state_->write(steps);
}

std::size_t Store::get_many(std::span<const std::string_view> keys, WithMany with,
                            void* context) const {
  return state_->get_many(keys, with, context);
}

void Store::visit_all(WithAll with, void* context) const {
  state_->visit(Space::keys,
                [&](std::string_view key, std::string_view value) { with(context, key, value); });
}

void Store::sync() { state_->sync(); }
void Store::compact() { state_->compact(); }
void Store::checkpoint() { state_->checkpoint(); }
bool Store::refresh() { return state_->refresh(); }
StoreStats Store::stats() const { return state_->stats(); }

}  // namespace nestline
