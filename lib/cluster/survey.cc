// What the servers report about the parts.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/cluster/transfer.h"
#include "lib/place/layout.h"
#include "lib/redis/value/image.h"

namespace nestline::cluster {
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
    if (is_missing(info.reply) && session.read_again()) return false;
    const Reply* const rate_field = info.reply.field("Expected error rate");
    const auto rate = parse_number<double>(rate_field == nullptr ? "" : rate_field->text);
    if (!rate) session.refuse(session.label_of(number), info);
    if (head.reply.is_error()) session.refuse(session.label_of(number), head);
    ClusterPart part;
    part.number = number;
    part.key = session.key_of(number);
    part.node = to_text(info.node);
    part.items = natural_of(info.reply.field("Number of items inserted"));
    part.memory_bytes = natural_of(info.reply.field("Size"));
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

ClusterStats survey(Session& session) {
  session.client().forget();
  ClusterStats stats;
  while (!survey_parts(session, stats)) continue;
  return stats;
}

}  // namespace nestline::cluster
