// Merging on the servers, and figures: see survey.h.
#include "lib/cluster/survey.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/place/layout.h"
#include "lib/redis/value/image.h"

namespace nestline::cluster {
namespace {

bool is_same_cluster(const Session& one, const Session& other) {
  const std::vector<Address> ours = one.primaries(), theirs = other.primaries();
  return std::any_of(ours.begin(), ours.end(), [&](const Address& address) {
    return std::find(theirs.begin(), theirs.end(), address) != theirs.end();
  });
}

// The value of a field of CF.INFO; null if it is not there.
const Reply* field_of(const Reply& info, std::string_view name) {
  for (std::size_t i = 0; i + 1 < info.elements.size(); i += 2) {
    if (info.elements[i].text == name) return &info.elements[i + 1];
  }
  return nullptr;
}

std::optional<double> fraction_of(const Reply* reply) {
  if (reply == nullptr) return std::nullopt;
  double number = 0;
  const char* const end = reply->text.data() + reply->text.size();
  if (std::from_chars(reply->text.data(), end, number).ptr != end) return std::nullopt;
  return number;
}

std::uint64_t natural_of(const Reply* reply) {
  return reply == nullptr ? 0 : static_cast<std::uint64_t>(std::max<std::int64_t>(0, reply->integer));
}

// What the head of the part's image says about room; `pair` is the reply to CF.SCANDUMP with 0.
void take_head(ClusterPart& part, const Reply& pair) {
  if (pair.elements.size() != 2) return;
  const std::string& bytes = pair.elements[1].text;
  const auto head = redis::decode_head(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!head) return;
  std::uint64_t slots = 0;
  part.capacity = 0;
  for (const redis::ImageGeneration& each : head->generations) {
    part.capacity += each.shape.capacity;
    const std::uint64_t blocks = each.shape.base_blocks << each.shape.growth;
    slots += blocks * slots_of(each.shape.bits);
  }
  if (slots != 0) part.load = static_cast<double>(part.items) / static_cast<double>(slots);
}

// False: the content was replaced meanwhile.
bool survey_parts(Session& session, ClusterStats& stats) {
  const Descriptor& descriptor = session.descriptor();
  std::vector<Request> requests{session.epoch_request()};
  for (std::uint32_t part = 0; part < descriptor.parts; ++part) {
    const std::string& key = session.key_of(part);
    requests.push_back(session.about_part(part, encode_command({"CF.INFO", key})));
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
    if (is_missing(info.reply) && session.read_again()) return false;
    const auto rate = fraction_of(field_of(info.reply, "Expected error rate"));
    if (!rate) session.refuse(session.label_of(number), info);
    if (head.reply.is_error()) session.refuse(session.label_of(number), head);
    ClusterPart part;
    part.number = number;
    part.key = session.key_of(number);
    part.node = to_text(info.node);
    part.items = natural_of(field_of(info.reply, "Number of items inserted"));
    part.memory_bytes = natural_of(field_of(info.reply, "Size"));
    part.expected_fpr = *rate;
    // A part without items shows no head.
    part.capacity = part_settings(descriptor, descriptor.capacity).capacity;
    take_head(part, head.reply);
    stats.items += part.items;
    stats.memory_bytes += part.memory_bytes;
    stats.expected_fpr += part.expected_fpr / descriptor.parts;
    stats.parts.push_back(std::move(part));
  }
  return true;
}

}  // namespace

void merge(Session& target, Session& source) {
  target.client().forget();
  source.read_again();
  target.read_again();
  const Descriptor &ours = target.descriptor(), &theirs = source.descriptor();
  if (ours.parts != theirs.parts || ours.seed != theirs.seed) {
    throw std::invalid_argument("'" + source.name() + "' has " + std::to_string(theirs.parts) +
                                " parts and seed " + std::to_string(theirs.seed) + ", but '" +
                                target.name() + "' has " + std::to_string(ours.parts) +
                                " parts and seed " + std::to_string(ours.seed) +
                                "; filters that are merged need the same");
  }
  if (!is_same_cluster(target, source)) {
    throw std::invalid_argument("'" + source.name() + "' is on another cluster than '" +
                                target.name() + "'; download() it and upload() it here");
  }
  std::vector<Request> requests{target.epoch_request(), source.epoch_request()};
  for (std::uint32_t part = 0; part < ours.parts; ++part) {
    requests.push_back(target.about_part(
        part, encode_command({"CF.MERGE", target.key_of(part), source.key_of(part)})));
    requests.back().changes = true;
  }
  const std::vector<Answer> answers = target.client().run(requests);
  if (!target.is_current(answers[0]) || !source.is_current(answers[1])) {
    target.fail(target.label(), "another client has replaced its content, or that of '" +
                                    source.name() + "', during the merge");
  }
  for (std::size_t i = 2; i < answers.size(); ++i) {
    if (answers[i].reply.kind != Reply::Kind::status) target.refuse(requests[i].label, answers[i]);
  }
  target.wait_for_replicas(requests, answers);
}

ClusterStats survey(Session& session) {
  session.client().forget();
  ClusterStats stats;
  while (!survey_parts(session, stats)) continue;
  return stats;
}

}  // namespace nestline::cluster
