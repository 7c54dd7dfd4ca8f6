// ClusterFilter: making, opening, removing, figures, and its members. See nestline/cluster.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/engine/place/parts.h"
#include "lib/faces/cluster/transfer.h"

namespace nestline { inline namespace v0_3 {
namespace cluster {
namespace {

std::uint64_t natural_of(const Reply* reply) {
  return reply == nullptr ? 0
                          : static_cast<std::uint64_t>(std::max<std::int64_t>(0, reply->integer));
}

// The room by the head of the part's image; `pair` is the reply to CF.SCANDUMP with 0.
void take_head(ClusterPart& part, const Reply& pair) {
  if (pair.elements.size() != 2) return;
  const std::string& bytes = pair.elements[1].text;
  const auto head = redis::decode_head(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!head) return;
  std::uint64_t slots = 0;
  part.capacity = 0;
  for (const redis::ImageSubFilter& each : head->sub_filters) {
    part.capacity += each.shape.capacity;
    const std::uint64_t blocks = each.shape.base_blocks << each.shape.growth;
    slots += blocks * slots_of(each.shape.bits);
  }
  if (slots != 0) part.load = static_cast<double>(part.size) / static_cast<double>(slots);
}

// False: the content was replaced meanwhile.
bool survey_parts(Session& session, ClusterStats& stats) {
  const Descriptor& descriptor = session.descriptor();
  std::vector<Request> requests{session.epoch_request()};
  for (std::uint32_t part = 0; part < descriptor.parts; ++part) {
    const std::string& key = session.key_of(part);
    requests.push_back(session.about_part(part, encode_command({"CF.INFO", key, "FULL"})));
    requests.push_back(session.about_part(part, encode_command({"CF.SCANDUMP", key, "0"})));
  }
  const std::vector<Answer> answers = session.client().run(requests);
  if (!session.is_current(answers.front())) {
    session.read_again();
    return false;
  }
  stats = {};
  for (std::uint32_t number = 0; number < descriptor.parts; ++number) {
    const Answer& info = answers[1 + 2 * number];
    const Answer& head = answers[2 + 2 * number];
    if (info.reply.is_missing() && session.read_again()) return false;
    const Reply* const rate_field = info.reply.field("Expected error rate");
    const auto rate = parse_number<double>(rate_field == nullptr ? "" : rate_field->text);
    if (!rate) session.refuse(session.label_of(number), info);
    if (head.reply.is_error()) session.refuse(session.label_of(number), head);
    ClusterPart part;
    part.number = number;
    part.key = session.key_of(number);
    part.node = to_text(info.node);
    part.size = natural_of(info.reply.field("Number of items inserted"));
    part.memory_bytes = natural_of(info.reply.field("Size"));
    part.expected_fpr = *rate;
    // A part without items shows no head.
    part.capacity = part_settings(descriptor, descriptor.capacity).capacity;
    take_head(part, head.reply);
    stats.size += part.size;
    stats.memory_bytes += part.memory_bytes;
    stats.expected_fpr += part.expected_fpr / descriptor.parts;
    stats.parts.push_back(std::move(part));
  }
  return true;
}

constexpr std::size_t kPartsOfPrimary = 4;  // at least

constexpr char kTaken[] = "the name is taken; choose another, or remove that filter first";

// The name belongs to the client that sets its first field.
void claim_name(Session& session, std::string_view format) {
  Request request = session.about_all(encode_command({"HSETNX", session.name(), "format", format}));
  request.changes = true;
  if (session.run(request).reply.integer == 1) return;
  session.client().forget();
  session.fail(session.label(), kTaken);
}

void take_name(Session& session, const Descriptor& descriptor) {
  const std::uint32_t parts = descriptor.parts;
  if (session.look().exists) session.fail(session.label(), kTaken);
  const std::size_t primaries = session.client().primaries().size();
  if (primaries > 1 && parts < kPartsOfPrimary * primaries) {
    throw std::invalid_argument(
        "a cluster of " + std::to_string(primaries) + " primaries needs at least " +
        std::to_string(kPartsOfPrimary * primaries) +
        " parts, so that all of them have about as many; not " + std::to_string(parts));
  }
  claim_name(session, descriptor.format());
}

// On an answer that is an error, takes away what was made and throws.
void reserve_parts(Session& session) {
  const Descriptor& descriptor = session.descriptor();
  const redis::Settings settings = part_settings(descriptor, descriptor.capacity);
  std::vector<Request> requests = session.about_parts([&](std::uint32_t part) {
    std::vector<std::string> command = {"CF.RESERVE",
                                        session.key_of(part),
                                        std::to_string(settings.capacity),
                                        "EXPANSION",
                                        std::to_string(settings.expansion),
                                        "ERROR",
                                        text_of(settings.error),
                                        "SEED",
                                        std::to_string(settings.seed)};
    if (settings.all_widths) command.insert(command.end(), {"WIDTHS", "5"});
    if (settings.turns_over) command.insert(command.end(), {"TURNSOVER", "1"});
    return encode_command(command);
  });
  for (Request& request : requests) request.changes = true;
  const std::vector<Answer> answers = session.client().run(requests);
  const auto refused =
      std::ranges::find_if(answers, [](const Answer& answer) { return answer.reply.is_error(); });
  if (refused == answers.end()) return session.wait_for_replicas(requests, answers);
  std::vector<Request> removals;
  for (std::uint32_t part = 0; part < descriptor.parts; ++part) {
    if (answers[part].reply.is_error()) continue;
    removals.push_back(session.about_part(part, encode_command({"UNLINK", session.key_of(part)})));
  }
  removals.push_back(session.about_all(encode_command({"DEL", session.name()})));
  session.client().run(removals);
  session.client().forget();
  const auto part = static_cast<std::uint32_t>(refused - answers.begin());
  if (refused->reply.text == "ERR item exists") {
    session.fail(session.label_of(part),
                 "a key of this name is there, but no logical filter '" + session.name() +
                     "'. Take it away with remove() or `nestline cluster drop`, or choose another "
                     "name");
  }
  session.refuse(session.label_of(part), *refused);
}

// The keys that are parts by their names and types, on all nodes. O(all keys).
std::vector<std::string> find_parts(Session& session) {
  std::string pattern;
  for (const char c : session.name()) {
    if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  pattern += ":{p*";
  std::vector<std::string> found;
  for (const Address& node : std::vector(session.client().primaries())) {
    std::string cursor = "0";
    do {
      Request request = session.about_all(
          encode_command({"SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "MBbloomCF"}));
      request.node = node;
      const Answer answer = session.run(request);
      const std::vector<Reply>& pair = answer.reply.elements;
      if (pair.size() != 2 || !pair[1].is_array()) session.refuse(session.label(), answer);
      for (const Reply& key : pair[1].elements) found.push_back(key.text);
      cursor = pair[0].text;
    } while (cursor != "0");
  }
  return found;
}

void unlink(Session& session, std::span<const std::string> keys) {
  std::vector<Request> requests;
  for (const std::string& key : keys) {
    requests.push_back(session.about_all(encode_command({"UNLINK", key})));
    requests.back().slot = slot_of(key);
  }
  session.run(requests, Reply::Kind::integer);
}

}  // namespace

ClusterStats survey(Session& session) {
  session.client().forget();
  ClusterStats stats;
  while (!survey_parts(session, stats)) continue;
  return stats;
}

}  // namespace cluster

namespace {

// Adds keys, and looks up those that were not added: `if_found` or full.
template <class State>
std::size_t insert_keys(State& state, const cluster::BatchCommand& command, KeySpan keys,
                        std::span<Outcome> outcomes, Outcome if_found) {
  static_assert(static_cast<int>(Outcome::stored) == 1, "as in the replies");
  const std::span bytes(reinterpret_cast<std::uint8_t*>(outcomes.data()), outcomes.size());
  const std::size_t added = run_batch(state.session, state.split, command, keys, bytes);
  std::vector<Hash> others;
  keys.visit([&](const auto& all) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (bytes[i] == 0) others.push_back(hash_key(all[i], state.session.descriptor().seed));
    }
  });
  std::vector<std::uint8_t> found(others.size());
  run_batch(state.session, state.split, cluster::kLookup, others, found);
  auto is_found = found.begin();
  for (Outcome& outcome : outcomes) {
    if (outcome != Outcome::stored) outcome = *is_found++ != 0 ? if_found : Outcome::full;
  }
  return added;
}

}  // namespace

struct ClusterFilter::State {
  cluster::Session session;
  cluster::KeySplit split;  // its memory is used again by the next batch
};

ClusterFilter::ClusterFilter(internal::OwnedState<State> state) noexcept
    : state_(std::move(state)) {}
ClusterFilter::ClusterFilter(ClusterFilter&& other) noexcept = default;
ClusterFilter& ClusterFilter::operator=(ClusterFilter&& other) noexcept = default;
ClusterFilter::~ClusterFilter() = default;

ClusterFilter ClusterFilter::create(const ClusterOptions& cluster, std::string_view name,
                                    const Options& options, unsigned parts) {
  const cluster::Descriptor descriptor = cluster::describe(options, parts);
  std::unique_ptr<State> state(new State{cluster::Session(cluster, name), {}});
  cluster::Session& session = state->session;
  cluster::take_name(session, descriptor);
  session.set(descriptor);
  session.run(session.about_all(cluster::encode_command(cluster::encode_fields(name, descriptor))));
  session.run({"HSET", name, "state", "creating"});
  cluster::reserve_parts(session);
  session.run({"HSET", name, "state", cluster::kReady});
  return ClusterFilter(std::move(state));
}

ClusterFilter ClusterFilter::open(const ClusterOptions& cluster, std::string_view name) {
  std::unique_ptr<State> state(new State{cluster::Session(cluster, name), {}});
  state->session.read();
  return ClusterFilter(std::move(state));
}

// Without a descriptor, or a number of parts in it, SCAN finds the parts.
//
// First the descriptor stops naming a content, so that no upload can end well any more; then the
// parts go, and at last the descriptor. So a next call can go on if this one is killed.
bool ClusterFilter::remove(const ClusterOptions& cluster, std::string_view name) {
  cluster::Session session(cluster, name);
  const cluster::FoundDescriptor found = session.look();
  if (found.exists && !found.has_format) {
    session.fail(session.label(),
                 found.format.empty()
                     ? "the key of this name is something else; it stays"
                     : "it has format " + found.format + ", which this version cannot remove");
  }
  if (found.has_parts) {
    session.set(found.descriptor);
    session.run(
        {"HSET", name, "state", "removing", cluster::left_field(found.descriptor.epoch), "0"});
    session.run({"HDEL", name, "epoch"});
    for (const auto& [epoch, since] : session.look().left) cluster::unlink_parts(session, epoch);
  } else {
    const std::vector<std::string> parts = cluster::find_parts(session);
    if (parts.empty() && !found.exists) return false;
    // So that no other makes one.
    if (!found.exists) cluster::claim_name(session, cluster::kFormat);
    cluster::unlink(session, parts);
  }
  session.run({"DEL", name});
  return true;
}

std::size_t ClusterFilter::insert(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_keys(*state_, cluster::kInsert, keys, outcomes, Outcome::too_many_copies);
}
std::size_t ClusterFilter::insert_unique(KeySpan keys, std::span<Outcome> outcomes) {
  return insert_keys(*state_, cluster::kInsertUnique, keys, outcomes, Outcome::present);
}
std::size_t ClusterFilter::may_contain(KeySpan keys, std::span<std::uint8_t> out) {
  return run_batch(state_->session, state_->split, cluster::kLookup, keys, out);
}
std::size_t ClusterFilter::erase(KeySpan keys, std::span<std::uint8_t> erased) {
  return run_batch(state_->session, state_->split, cluster::kErase, keys, erased);
}
void ClusterFilter::count(KeySpan keys, std::span<std::uint8_t> out) {
  run_batch(state_->session, state_->split, cluster::kCount, keys, out);
}

void ClusterFilter::upload(KeySpan keys, Upload how) {
  upload([&] { return std::exchange(keys, keys.subspan(0, 0)); }, how);
}

void ClusterFilter::upload(const std::function<KeySpan()>& next, Upload how) {
  const cluster::Descriptor& descriptor = state_->session.descriptor();
  std::optional<cluster::HashesByPart> hashes(std::in_place, descriptor.seed, descriptor.parts);
  for (KeySpan keys = next(); keys.size() != 0; keys = next()) hashes->append(keys);
  const cluster::PartSet parts = cluster::PartSet::build(descriptor, *hashes);
  hashes.reset();
  cluster::upload(state_->session, parts, how);
}

void ClusterFilter::upload(const ClusterCopy& copy, Upload how) {
  const cluster::Descriptor& theirs = copy.state_->parts.descriptor();
  const cluster::Descriptor& ours = state_->session.descriptor();
  if (!can_unite(theirs, ours)) {
    throw std::invalid_argument("the copy has " + common_of(theirs) + ", but '" + name() +
                                "' has " + common_of(ours) + "; create one with those of the copy");
  }
  cluster::upload(state_->session, copy.state_->parts, how);
}

ClusterCopy ClusterFilter::download() {
  return ClusterCopy(std::unique_ptr<ClusterCopy::State>(
      new ClusterCopy::State{cluster::download(state_->session)}));
}

void ClusterFilter::merge(ClusterFilter& source) {
  cluster::merge(state_->session, source.state_->session);
}

void ClusterFilter::fit() { cluster::fit(state_->session); }
ClusterStats ClusterFilter::stats() { return cluster::survey(state_->session); }
const std::string& ClusterFilter::name() const noexcept { return state_->session.name(); }
unsigned ClusterFilter::parts() const noexcept { return state_->session.descriptor().parts; }
std::uint64_t ClusterFilter::seed() const noexcept { return state_->session.descriptor().seed; }
std::uint64_t ClusterFilter::capacity() const noexcept {
  return state_->session.descriptor().capacity;
}
double ClusterFilter::fpr() const noexcept { return state_->session.descriptor().fpr; }
unsigned ClusterFilter::part_of(Key key) const noexcept {
  return nestline::part_of(hash_key(key, seed()).value, parts());
}

}}  // namespace nestline
