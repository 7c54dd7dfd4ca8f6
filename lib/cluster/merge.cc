// Merging: see merge.h.
//
// CF.MERGE makes a missing destination. So each command stands in a transaction behind an EXISTS: a
// part that was lost must not come back as one that has only the new items. And the epoch is asked
// for once more afterwards: if the content was replaced before that, the parts that were merged
// into are nobody's, and may have been made by the merge.
#include "lib/cluster/merge.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "lib/cluster/transfer.h"

namespace nestline::cluster {
namespace {

bool is_same_cluster(const Session& one, const Session& other) {
  const std::vector<Address> ours = one.primaries(), theirs = other.primaries();
  return std::any_of(ours.begin(), ours.end(), [&](const Address& address) {
    return std::find(theirs.begin(), theirs.end(), address) != theirs.end();
  });
}

[[noreturn]] void replaced(Session& session) {
  session.fail(session.label(), "another client has replaced the content meanwhile; repeat it");
}

}  // namespace

void merge_parts(Session& target, std::span<const std::uint32_t> parts,
                 const std::function<std::string(std::uint32_t part)>& source) {
  std::vector<Request> requests;
  for (const std::uint32_t part : parts) {
    const std::string& key = target.key_of(part);
    requests.push_back(target.about_part(
        part,
        encode_command({"MULTI"}) + encode_command({"EXISTS", key}) +
            encode_command({"CF.MERGE", key, source(part)}) + encode_command({"EXEC"}),
        4));
    requests.back().changes = true;
  }
  const std::vector<Answer> answers = target.client().run(requests);
  if (!target.is_current(target.ask(target.epoch_request()))) {
    unlink_parts(target, target.descriptor().epoch);
    target.read_again();
    replaced(target);
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string& label = target.label_of(parts[i]);
    const Reply& reply = answers[i].reply;
    if (!reply.is_array() || reply.elements.size() != 2) target.refuse(label, answers[i]);
    const Reply &existed = reply.elements[0], &merged = reply.elements[1];
    if (merged.is_error()) target.refuse(label, {merged, answers[i].node, 0});
    if (existed.integer == 0) {
      target.ask(target.about_part(parts[i], encode_command({"UNLINK", target.key_of(parts[i])})));
      target.refuse(label, {{Reply::Kind::error, 0, "ERR not found", {}}, answers[i].node, 0});
    }
  }
  target.wait_for_replicas(requests, answers);
}

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
  std::vector<std::uint32_t> parts(ours.parts);
  std::iota(parts.begin(), parts.end(), 0U);
  merge_parts(target, parts, [&](std::uint32_t part) { return source.key_of(part); });
  if (!source.is_current(source.ask(source.epoch_request()))) replaced(source);
}

}  // namespace nestline::cluster
