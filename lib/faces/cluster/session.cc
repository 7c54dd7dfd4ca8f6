#include "lib/faces/cluster/session.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

// What a node lacks that does not know one of our commands.
std::string missing_module(Client& client, const Request& request) {
  const Answer answer = client.run(request);
  const auto knows = [&](std::size_t i) {
    return answer.reply.is_array() && i < answer.reply.elements.size() &&
           answer.reply.elements[i].is_array();
  };
  const std::string load = "; load nestline_redis.so of this version of nestline on every node";
  if (!knows(0)) return "has not loaded the module nestline_redis.so" + load;
  if (!knows(1)) return "has another module with CF.* commands than nestline_redis.so" + load;
  return "has an older version of the module nestline_redis.so" + load;
}

// WAIT. A server that waits answers at the latest when the time is over; it must not seem to hang.
std::string wait_command(unsigned replicas, std::chrono::milliseconds timeout) {
  const auto patience = std::max<std::int64_t>(1, timeout.count() * 3 / 4);
  return encode_command({"WAIT", std::to_string(replicas), std::to_string(patience)});
}

}  // namespace

Session::Session(const ClusterOptions& options, std::string_view name)
    : client_(options), wait_replicas_(options.wait_replicas), name_(name) {
  check_name(name);
  label_ = "the logical filter '" + name_ + "'";
}

Request Session::about_all(std::string commands, unsigned replies) const {
  Request request;
  request.label = label_;
  request.slot = slot_of(name_);
  request.commands = std::move(commands);
  request.replies = replies;
  return request;
}

Request Session::about_part(std::uint32_t part, std::string commands, unsigned replies) const {
  Request request = about_all(std::move(commands), replies);
  request.label = labels_[part];
  request.slot = slot_of(keys_[part]);
  return request;
}

Request Session::behind(const Answer& answer, Request request) {
  request.only_on = answer.connection;
  request.asking = answer.asking;
  if (answer.asking) request.node = answer.node;
  return request;
}

Request Session::epoch_request() const {
  return about_all(encode_command({"HMGET", name_, "epoch", "id"}));
}

bool Session::is_current(const Answer& epoch) {
  if (epoch.reply.is_error()) refuse(label_, epoch);
  const std::vector<Reply>& values = epoch.reply.elements;
  if (values.size() != 2) refuse(label_, epoch);
  if (!values[0].is_bulk()) fail(label_, "it was removed meanwhile");
  if (values[1].text != std::to_string(descriptor_.id)) {
    fail(label_, "it was removed and made anew meanwhile; open it again");
  }
  return values[0].text == std::to_string(descriptor_.epoch);
}

void Session::fail(std::string_view label, const std::string& what) {
  const bool changed = client_.has_changed();
  throw ClusterError(
      std::string(label) + ": " + what + (changed ? "; some of the change may have been made" : ""),
      changed ? ClusterError::Effect::unknown : ClusterError::Effect::none);
}

void Session::refuse(std::string_view label, const Answer& answer) {
  const std::string& text = answer.reply.text;
  const std::string node = "the node " + to_text(answer.node);
  if (answer.reply.is_missing()) {
    fail(label, node +
                    " does not have it: it was deleted, evicted or lost with a node. Upload the "
                    "filter again, or remove it");
  }
  if (text.starts_with("ERR unknown command")) {
    Request request = about_all(encode_command({"COMMAND", "INFO", "CF.RESERVE", "CF.MERGE"}));
    request.node = answer.node;
    fail(label, node + " " + missing_module(client_, request));
  }
  if (answer.reply.is_error("OOM")) {
    fail(label, node + " has no memory for it: '" + text +
                    "'. Raise maxmemory there, or move some of its slots to another node");
  }
  if (answer.reply.is_error("WRONGTYPE")) {
    fail(label, node + " has a key of this name that is something else; choose another name");
  }
  if (text == kOtherConnection) {
    fail(label, "the connection to " + node + " was lost before its replicas had the change");
  }
  fail(label, answer.reply.is_error() ? node + " answers '" + text + "'"
                                      : node + " gives an answer that does not fit the question");
}

Answer Session::run(const Request& request) {
  Answer answer = client_.run(request);
  if (answer.reply.is_error()) refuse(request.label, answer);
  return answer;
}

std::vector<Answer> Session::run(std::span<const Request> requests, Reply::Kind kind) {
  std::vector<Answer> answers = client_.run(requests);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].reply.kind != kind) refuse(requests[i].label, answers[i]);
  }
  return answers;
}

FoundDescriptor Session::look() { return decode_fields(run({"HGETALL", name_}).reply); }

void Session::read() {
  const FoundDescriptor found = look();
  if (!found.exists) fail(label_, "there is none; create it first");
  if (!found.has_format) {
    fail(label_, found.format.empty()
                     ? "the key of this name is something else; choose another name"
                     : "it has format " + found.format + ", which this version cannot read");
  }
  if (!found.is_ready) {
    fail(label_,
         "it is not whole: a create() is under way, or was broken off. In that case take "
         "it away with remove() or `nestline cluster drop`");
  }
  set(found.descriptor);
}

bool Session::read_again() {
  const Descriptor before = descriptor_;
  read();
  if (descriptor_.id != before.id) {
    fail(label_, "it was removed and made anew meanwhile; open it again");
  }
  return descriptor_.epoch != before.epoch;
}

void Session::set(const Descriptor& descriptor) {
  const bool same_keys = descriptor.parts == keys_.size() && descriptor.epoch == descriptor_.epoch;
  descriptor_ = descriptor;
  if (same_keys) return;  // requests may still refer to the labels
  keys_.resize(descriptor.parts);
  labels_.resize(descriptor.parts);
  for (std::uint32_t part = 0; part < descriptor.parts; ++part) {
    keys_[part] = part_key(name_, part, descriptor.epoch);
    labels_[part] = "part " + std::to_string(part) + " of '" + name_ + "' (" + keys_[part] + ")";
  }
}

bool Session::replicates(const Answer& answer, unsigned replicas) {
  Request wait = about_all(wait_command(replicas, client_.timeout()));
  wait.node = answer.node;
  wait.only_on = answer.connection;
  const Answer count = client_.run(wait);
  return count.reply.is_integer() && count.reply.integer >= static_cast<std::int64_t>(replicas);
}

std::optional<Answer> Session::change_if(const std::vector<std::string>& fields,
                                         const Decide& decide, bool counts) {
  std::vector<std::string> values = {"HMGET", name_};
  values.insert(values.end(), fields.begin(), fields.end());
  const Request look = about_all(encode_command({"WATCH", name_}) + encode_command(values), 2);
  for (;;) {
    const Answer found = run(look);
    if (!found.reply.is_array() || found.reply.elements.size() != fields.size()) {
      refuse(label_, found);
    }
    Commands commands;
    try {
      commands = decide(found.reply.elements);
    } catch (...) {
      client_.disconnect(found.connection);  // it would go on watching
      throw;
    }
    std::string bytes = encode_command({commands.empty() ? "UNWATCH" : "MULTI"});
    for (const auto& command : commands) bytes += encode_command(command);
    if (!commands.empty()) bytes += encode_command({"EXEC"});
    const auto replies = static_cast<unsigned>(commands.empty() ? 1 : commands.size() + 2);
    const Request change = behind(found, about_all(std::move(bytes), replies));
    const bool has_changed = client_.has_changed();
    if (counts && !commands.empty()) client_.may_change();  // until it is known
    const Answer done = client_.run(change);
    const bool is_elsewhere = done.reply.text == kOtherConnection;
    if (commands.empty()) return std::nullopt;
    if (done.reply.is_array()) {
      for (const Reply& each : done.reply.elements) {
        if (each.is_error()) refuse(label_, {each, done.node, done.connection});
      }
      return done;
    }
    // Nil, or an error: nothing was carried out. Without an answer that is not known.
    if (!is_elsewhere && !has_changed) client_.forget();
    if (done.reply.is_error() && !is_elsewhere) refuse(label_, done);
  }
}

void Session::wait_for_replicas(std::span<const Request> requests,
                                std::span<const Answer> answers) {
  if (wait_replicas_ == 0) return;
  const std::string command = wait_command(wait_replicas_, client_.timeout());
  std::vector<Request> waits;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].changes || answers[i].reply.is_error()) continue;
    const auto is_same = [&](const Request& wait) { return wait.only_on == answers[i].connection; };
    if (std::ranges::any_of(waits, is_same)) continue;
    Request wait = about_all(command);
    wait.label = requests[i].label;
    wait.changes = true;
    wait.aside = requests[i].aside;
    wait.node = answers[i].node;
    wait.only_on = answers[i].connection;
    waits.push_back(std::move(wait));
  }
  const std::vector<Answer> counts = client_.run(waits);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Reply& reply = counts[i].reply;
    if (!reply.is_integer()) refuse(waits[i].label, counts[i]);
    if (reply.integer < static_cast<std::int64_t>(wait_replicas_)) {
      if (waits[i].aside) {
        fail(waits[i].label,
             "only " + std::to_string(reply.integer) + " of " + std::to_string(wait_replicas_) +
                 " replicas of the node " + to_text(counts[i].node) +
                 " have what was sent; nothing was exchanged. Look at the replicas");
      }
      throw ClusterError(std::string(waits[i].label) + ": the change was made, but only " +
                             std::to_string(reply.integer) + " of " +
                             std::to_string(wait_replicas_) + " replicas of the node " +
                             to_text(counts[i].node) + " have it; look at the replicas",
                         ClusterError::Effect::unknown);
    }
  }
}

}}}  // namespace nestline::cluster
