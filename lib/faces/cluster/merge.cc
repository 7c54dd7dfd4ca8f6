// Merges and fits. CF.MERGE makes a missing destination, and a part that was lost must not come
// back with the new items only. So each part is watched, and merged into if it is there, in a
// transaction that fails and is repeated when it changes. A connection watches one part; those of
// different nodes are merged at once. The epoch is read afterwards: parts of replaced content do
// not count.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/faces/cluster/transfer.h"

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

std::vector<std::uint32_t> all_parts(const Session& session) {
  std::vector<std::uint32_t> parts(session.descriptor().parts);
  std::iota(parts.begin(), parts.end(), 0U);
  return parts;
}

// The first of these parts of each node.
std::vector<std::uint32_t> one_of_each_node(Session& target, std::span<const std::uint32_t> parts) {
  std::vector<std::uint32_t> some;
  std::vector<Address> nodes;
  for (const std::uint32_t part : parts) {
    const Address* const node = target.client().primary_of(slot_of(target.key_of(part)));
    const Address address = node == nullptr ? Address() : *node;
    if (std::ranges::find(nodes, address) != nodes.end()) continue;
    nodes.push_back(address);
    some.push_back(part);
  }
  return some;
}

[[noreturn]] void replaced(Session& session) {
  session.read_again();
  session.fail(session.label(), "another client has replaced the content meanwhile; repeat it");
}

}  // namespace

void merge_parts(Session& target, std::span<const std::uint32_t> parts,
                 const std::function<std::string(std::uint32_t part)>& source) {
  Client& client = target.client();
  std::vector<std::uint32_t> open(parts.begin(), parts.end());
  auto until = Clock::now() + client.timeout();
  while (!open.empty()) {
    const std::vector<std::uint32_t> some = one_of_each_node(target, open);
    std::vector<Request> looks;
    for (const std::uint32_t part : some) {
      const std::string& key = target.key_of(part);
      looks.push_back(target.about_part(
          part, encode_command({"WATCH", key}) + encode_command({"EXISTS", key}), 2));
    }
    const std::vector<Answer> found = client.run(looks);
    std::vector<Request> changes;
    std::vector<std::uint32_t> watched;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const Reply& reply = found[i].reply;
      const bool is_there = reply.is_integer() && reply.integer == 1;
      // A slot has moved, and two parts share a connection: the first EXEC ends all watching.
      const bool is_shared = std::any_of(
          found.begin(), found.begin() + static_cast<std::ptrdiff_t>(i),
          [&](const Answer& before) { return before.connection == found[i].connection; });
      if (is_shared && is_there) continue;
      watched.push_back(some[i]);
      if (is_there) {
        const std::string commands =
            encode_command({"MULTI"}) +
            encode_command({"CF.MERGE", target.key_of(some[i]), source(some[i])}) +
            encode_command({"EXEC"});
        changes.push_back(Session::behind(found[i], target.about_part(some[i], commands, 3)));
        changes.back().changes = true;
        continue;
      }
      for (const Answer& each : found) client.disconnect(each.connection);  // ends the watching
      if (!reply.is_integer()) target.refuse(looks[i].label, found[i]);
      if (!target.is_current()) replaced(target);
      target.refuse(looks[i].label, {{Reply::Kind::error, 0, "ERR not found", {}}, found[i].node});
    }
    const std::vector<Answer> answers = client.run(changes);
    std::vector<Request> done;
    std::vector<Answer> done_by;
    for (std::size_t i = 0; i < watched.size(); ++i) {
      const Reply& reply = answers[i].reply;
      const bool is_again = reply.kind == Reply::Kind::nil || reply.text == kOtherConnection;
      if (is_again && Clock::now() < until) continue;
      if (is_again) target.fail(changes[i].label, "other clients keep changing it");
      if (!reply.is_array() || reply.elements.size() != 1) {
        target.refuse(changes[i].label, answers[i]);
      }
      if (reply.elements[0].is_error()) {
        target.refuse(changes[i].label, {reply.elements[0], answers[i].node});
      }
      std::erase(open, watched[i]);
      done.push_back(changes[i]);
      done_by.push_back(answers[i]);
    }
    target.wait_for_replicas(done, done_by);
    if (!done.empty()) until = Clock::now() + client.timeout();
  }
  if (!target.is_current()) replaced(target);
}

void merge(Session& target, Session& source) {
  target.client().forget();
  source.client().forget();
  source.read_again();
  target.read_again();
  const Descriptor &ours = target.descriptor(), &theirs = source.descriptor();
  if (!can_unite(ours, theirs)) {
    throw std::invalid_argument("'" + source.name() + "' has " + common_of(theirs) + ", but '" +
                                target.name() + "' has " + common_of(ours) +
                                "; filters that are merged need the same");
  }
  const std::vector<Address>& nodes = target.client().primaries();
  if (std::ranges::find_first_of(nodes, source.client().primaries()) == nodes.end()) {
    throw std::invalid_argument("'" + source.name() + "' is on another cluster than '" +
                                target.name() + "'; download() it and upload() it here");
  }
  merge_parts(target, all_parts(target), [&](std::uint32_t part) { return source.key_of(part); });
  source.client().may_change();  // what it reports now comes after changes of the target
  if (!source.is_current()) replaced(source);
}

// A server does nothing else while it fits a part, so each has one at a time.
void fit(Session& session) {
  session.client().forget();
  session.read_again();
  std::vector<std::uint32_t> open = all_parts(session);
  while (!open.empty()) {
    std::vector<Request> requests;
    for (const std::uint32_t part : one_of_each_node(session, open)) {
      const std::string& key = session.key_of(part);
      requests.push_back(session.about_part(part, encode_command({"CF.COMPACT", key})));
      requests.back().changes = true;
      std::erase(open, part);
    }
    const std::vector<Answer> answers = session.client().run(requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].reply.is_error()) continue;
      if (!session.is_current()) replaced(session);
      session.refuse(requests[i].label, answers[i]);
    }
    session.wait_for_replicas(requests, answers);
  }
  if (!session.is_current()) replaced(session);
}

}}}  // namespace nestline::cluster
