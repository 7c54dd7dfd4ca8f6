// What passes between the client and the nodes, and what their replies mean: see client.h.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/cluster/client.h"

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

// What is on the way to one node: enough to keep it busy.
constexpr std::size_t kWindow = std::size_t{4} << 20;
constexpr std::chrono::milliseconds kMaxPause{200};

std::chrono::milliseconds pause_after(unsigned attempts) {
  return std::min(kMaxPause, std::chrono::milliseconds(5) * (1 << std::min(attempts, 10U)));
}

bool begins_with(const Reply& reply, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return reply.is_error(word); });
}

// What a server replies that has not carried out a command and may do so later. UNBLOCKED may end
// the wait of one that was begun: so only a command that changes nothing may be sent again.
bool is_put_off(const Reply& reply, bool changes) {
  return begins_with(reply,
                     {"TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY", "BUSY"}) ||
         (reply.is_error() && reply.text.starts_with(kTooManyClients)) ||
         (!changes && reply.is_error("UNBLOCKED"));
}

// Whether an error comes before a command or transaction did anything. Not so for our module's OOM.
bool comes_first(const Reply& reply) {
  return begins_with(reply, {"OOM", "WRONGTYPE", "EXECABORT", "NOREPLICAS", "MISCONF", "MOVED",
                             "ASK", kOtherConnection}) ||
         (reply.is_error() && (reply.text.starts_with("ERR unknown command") ||
                               reply.text.starts_with("ERR wrong number of arguments") ||
                               reply.is_missing() || reply.text == "ERR item exists"));
}

// The commands of a request with ASKING before each, or before a transaction.
std::string with_asking(const std::string& commands, bool each) {
  static const std::string kAsking = encode_command({"ASKING"});
  if (!each) return kAsking + commands;
  std::string all;
  for (std::size_t at = 0; at < commands.size();) {
    const std::size_t begin = at;
    const auto number = [&] {
      const std::size_t end = commands.find("\r\n", at);
      const auto value = std::stoul(commands.substr(at + 1, end - at - 1));
      at = end + 2;
      return value;
    };
    for (std::size_t arguments = number(); arguments != 0; --arguments) at += number() + 2;
    // The last argument may be a payload that follows.
    at = std::min(at, commands.size());
    all += kAsking;
    all.append(commands, begin, at - begin);
  }
  return all;
}

}  // namespace

// The next of the servers that were named and the nodes that are known.
void Client::request_map() {
  Task& task = tasks_.back();
  if (now_ < task.not_before) return;
  const std::vector<Address>& nodes = map_.nodes();
  const std::size_t choices = seeds_.size() + nodes.size();
  const auto next = [&]() -> Node& {
    const std::size_t choice = next_map_source_++ % choices;
    return node_at(choice < seeds_.size() ? seeds_[choice] : nodes[choice - seeds_.size()]);
  };
  // Not one that owes other answers and gives none.
  Node* node = &next();
  for (std::size_t i = 1; i < choices && is_silent(*node); ++i) node = &next();
  if (is_silent(*node)) {
    task.not_before = now_ + kMaxPause;
    return;
  }
  map_is_requested_ = true;
  node->queue.push_front(requests_.size());
}

// Throws when the task's trouble has lasted for longer than the timeout.
void Client::delay(std::size_t number, const std::string& why, bool at_once) {
  Task& task = tasks_[number];
  ++task.attempts;
  if (!task.trouble_since) task.trouble_since = now_;
  if (now_ - *task.trouble_since > timeout_) fail(number, why);
  task.not_before = at_once && task.attempts < 5 ? now_ : now_ + pause_after(task.attempts);
}

void Client::put_off(std::size_t number, const Node& node, const std::string& why, bool at_once) {
  if (is_map_task(number)) map_is_requested_ = false;
  if (is_map_task(number) && open_ == 0) return;
  delay(number,
        "the node " + to_text(node.address) + " " + why + ", for longer than the timeout of " +
            std::to_string(timeout_.count()) + " ms",
        at_once);
  if (!is_map_task(number)) waiting_.push_back(number);
}

void Client::deliver(std::size_t number, const Node& node, Reply reply) {
  const Request& request = request_of(number);
  // Nil is the reply to a transaction whose key was changed before it.
  const bool is_undone = reply.kind == Reply::Kind::nil || comes_first(reply);
  changed_ |= request.changes && !request.aside && !is_undone;
  answers_[number] = {std::move(reply), node.address, node.serial, tasks_[number].was_asking};
  --open_;
}

// Connects, sends, receives, as far as that goes without waiting.
void Client::pump(Node& node) {
  if (node.queue.empty() && node.flights.empty()) return;
  if (!node.connection && now_ < node.not_before) return;
  try {
    if (!node.connection) {
      node.progress = now_;
      node.connection = std::make_unique<Connection>(node.address, login_, tls_.get());
      node.serial = ++serials_;
    }
    // A server may have ended an idle connection: better known before a change is sent on it.
    if (node.flights.empty()) node.connection->advance();
    send(node);
    if (node.connection->advance()) node.progress = now_;
    take_replies(node);
  } catch (const ConnectionLost& lost) {
    lose(node, lost.what());
  } catch (const BadReply& bad) {
    lose(node, bad.what());
  } catch (const LoginRefused& refused) {
    fail_at(node, first_task(node), refused.what());
  } catch (const TlsError& error) {
    fail_at(node, first_task(node), error.what());
  }
}

// One that is concerned by what happens to the node.
std::size_t Client::first_task(const Node& node) const {
  if (!node.flights.empty()) return node.flights.front().task;
  return node.queue.empty() ? requests_.size() : node.queue.front();
}

void Client::send(Node& node) {
  while (!node.queue.empty() && (node.flights.empty() || node.bytes_in_flight < kWindow)) {
    const std::size_t number = node.queue.front();
    Task& task = tasks_[number];
    const Request& request = request_of(number);
    if (node.flights.empty()) node.progress = now_;
    Connection& connection = *node.connection;
    const bool asking = task.redirect.has_value() || request.asking;
    const bool asks_each = asking && !request.commands.starts_with(encode_command({"MULTI"}));
    const std::uint64_t position =
        connection.queue(asking ? with_asking(request.commands, asks_each) : request.commands);
    if (!request.payload.empty()) {
      connection.queue(request.payload);
      connection.queue("\r\n");
    }
    const std::size_t bytes = request.commands.size() + request.payload.size();
    node.queue.pop_front();
    node.flights.push_back({number, position, bytes, asks_each, asking});
    node.bytes_in_flight += bytes;
    task.replies_left = request.replies;
    task.error.reset();
    task.was_asking = asking;
    task.redirect.reset();
  }
}

void Client::take_replies(Node& node) {
  while (!node.flights.empty()) {
    auto reply = node.connection->receive();
    if (!reply) return;
    node.failures = 0;
    Flight& flight = node.flights.front();
    if (flight.asking) {
      flight.asking = false;
      continue;
    }
    Task& task = tasks_[flight.task];
    if (reply->is_error() && !task.error) task.error = reply;
    flight.asking = flight.asks_each;
    if (--task.replies_left != 0) continue;
    const std::size_t number = flight.task;
    node.bytes_in_flight -= flight.bytes;
    node.flights.pop_front();
    finish(number, node, task.error ? *task.error : *std::move(reply));
  }
  if (node.connection->receive()) throw BadReply("it sent an answer that nobody asked for");
}

void Client::finish(std::size_t number, const Node& node, Reply reply) {
  if (reply.is_error("NOAUTH"))
    fail_at(node, number,
            "wants a password; nestline cluster takes it from NESTLINE_CLUSTER_PASSWORD");
  if (reply.is_error("NOPERM")) {
    fail_at(node, number, "does not allow this user what is needed here: " + reply.text);
  }
  if (reply.is_error("DENIED")) fail_at(node, number, "refuses us: " + reply.text);
  const bool is_redirected = reply.is_error("MOVED") || reply.is_error("ASK");
  const Request& request = request_of(number);
  const bool waits = is_put_off(reply, request.changes);
  // A transaction that was refused watches nothing any more: its caller begins anew.
  if (request.only_on && request.replies > 1 && (waits || is_redirected)) {
    map_is_old_ = true;
    reply.text = kOtherConnection;
    return deliver(number, node, std::move(reply));
  }
  if (waits) {
    // A node that replies one of these may not be the primary of the slot any more.
    map_is_old_ |= !reply.is_error("TRYAGAIN") && !is_map_task(number);
    return put_off(number, node, "answers '" + reply.text + "'", false);
  }
  if (is_map_task(number)) return take_map(node, reply);
  if (is_redirected) return redirect(number, node, reply);
  deliver(number, node, std::move(reply));
}

// "MOVED SLOT HOST:PORT", "ASK SLOT HOST:PORT"
void Client::redirect(std::size_t number, const Node& node, const Reply& reply) {
  const std::size_t space = reply.text.rfind(' ');
  const auto to = parse_redirection(std::string_view(reply.text).substr(space + 1), node.address);
  if (!to) fail_at(node, number, "redirects to no address: '" + reply.text + "'");
  put_off(number, node, "answers '" + reply.text + "'", true);
  if (reply.is_error("ASK")) {
    tasks_[number].redirect = to;
  } else {
    map_.set(request_of(number).slot, *to);
    map_is_old_ = true;
  }
}

void Client::take_map(const Node& node, const Reply& reply) {
  map_is_requested_ = false;
  std::optional<SlotMap> map;
  if (reply.is_error() && reply.text.find("cluster support disabled") != std::string::npos) {
    map.emplace(node.address);
  } else {
    map = SlotMap::parse(reply, node.address);
  }
  if (!map) {
    return put_off(requests_.size(), node,
                   reply.is_error() ? "answers '" + reply.text + "' to CLUSTER SLOTS"
                                    : "does not tell a map of slots: it is in no cluster yet",
                   false);
  }
  map_ = *std::move(map);
  has_map_ = true;
  map_is_old_ = false;
  Task& task = tasks_.back();
  task.trouble_since.reset();
  task.not_before = now_ + pause_after(task.attempts++);  // a node may not agree with it
}

// The connection is gone. What was not carried out for certain, or may be sent again, is put off.
void Client::lose(Node& node, const std::string& why) {
  try {
    if (node.connection) take_replies(node);
  } catch (const BadReply&) {        // it is lost in any case
  } catch (const ConnectionLost&) {  // the same
  } catch (const LoginRefused& refused) {
    fail_at(node, first_task(node), refused.what());
  }
  const auto connection = std::move(node.connection);
  node.connection.reset();
  node.not_before = now_ + pause_after(node.failures++);
  node.bytes_in_flight = 0;
  const Flight* unknown = nullptr;
  const auto flights = std::exchange(node.flights, {});
  const auto queue = std::exchange(node.queue, {});
  for (const std::size_t number : queue) map_is_old_ |= !is_map_task(number);
  for (const Flight& flight : flights) map_is_old_ |= !is_map_task(flight.task);
  for (const Flight& flight : flights) {
    const Request& request = request_of(flight.task);
    if (!request.changes || !connection || !connection->has_left(flight.position)) continue;
    changed_ |= !request.aside;
    unknown = &flight;
  }
  if (unknown != nullptr) fail_at(node, unknown->task, why + " before it answered a change");
  for (const Flight& flight : flights) put_off(flight.task, node, why, true);
  for (const std::size_t number : queue) put_off(number, node, why, true);
}

// A node that owes only the map has less time: others know it too.
Clock::duration Client::patience_with(const Node& node) const {
  const bool only_map = node.flights.size() == 1 && is_map_task(node.flights.front().task);
  return timeout_ / (only_map ? 4 : 1);
}

bool Client::is_silent(const Node& node) const {
  return node.connection && !node.flights.empty() && now_ - node.progress >= timeout_ / 2;
}

// A node is silent: perhaps a replica has taken its place, and the others know.
void Client::doubt(Node& node) {
  const auto is_map = [&](std::size_t number) { return is_map_task(number); };
  // The request for the map is not for this node then.
  if (std::erase_if(node.queue, is_map) != 0) map_is_requested_ = false;
  if (node.doubted != node.progress) {
    node.doubted = node.progress;
    map_is_old_ = true;
    return;
  }
  const std::vector<Address>& primaries = map_.nodes();
  if (map_is_old_ || map_is_requested_ ||
      std::ranges::find(primaries, node.address) != primaries.end()) {
    return;
  }
  lose(node, "has not answered for half of the timeout, and is no primary any more");
}

void Client::check_for_hangs() {
  for (auto& [address, node] : nodes_) {
    if (!node.connection || node.flights.empty()) continue;
    if (now_ - node.progress < patience_with(node)) {
      if (has_map_ && is_silent(node)) doubt(node);
      continue;
    }
    has_map_ = false;  // the next call requests one before it sends anything
    const auto silence =
        std::chrono::duration_cast<std::chrono::milliseconds>(now_ - node.progress);
    const std::string why = "has not answered for " + std::to_string(silence.count()) + " ms";
    const std::size_t number = node.flights.front().task;
    if (!is_map_task(number)) fail_at(node, number, why);
    lose(node, why);
  }
}

void Client::wait() {
  std::vector<::pollfd> sockets;
  Clock::time_point until = now_ + timeout_;
  for (auto& [address, node] : nodes_) {
    if (node.connection && !node.flights.empty()) {
      sockets.push_back({node.connection->descriptor(), node.connection->wanted_events(), 0});
      const bool is_doubted = node.doubted == node.progress;
      until = std::min(until, node.progress + patience_with(node) / (is_doubted ? 1 : 2));
    } else if (!node.queue.empty()) {
      until = std::min(until, node.not_before);
    }
  }
  for (const std::size_t number : waiting_) {
    if (has_map_) until = std::min(until, tasks_[number].not_before);
  }
  if (wants_map()) until = std::min(until, tasks_.back().not_before);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  ::poll(sockets.data(), sockets.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
}

void Client::fail(std::size_t number, const std::string& what) {
  for (const auto& [address, node] : nodes_) {
    for (const Flight& flight : node.flights) {
      const Request& request = request_of(flight.task);
      changed_ |= request.changes && !request.aside && node.connection &&
                  node.connection->has_left(flight.position);
    }
  }
  throw ClusterError(std::string(request_of(number).label) + ": " + what,
                     changed_ ? ClusterError::Effect::unknown : ClusterError::Effect::none);
}

void Client::fail_at(const Node& node, std::size_t number, const std::string& why) {
  fail(number, "the node " + to_text(node.address) + " " + why);
}

}}}  // namespace nestline::cluster
