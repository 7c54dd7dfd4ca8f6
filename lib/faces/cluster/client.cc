// The client: see client.h. What passes between here and the nodes is in run.cc.
#include "lib/faces/cluster/client.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace cluster {

Client::Client(const ClusterOptions& options)
    : timeout_(options.timeout), login_{options.user, options.password} {
  if (options.servers.empty()) {
    throw std::invalid_argument("name at least one server of the cluster, as HOST:PORT");
  }
  if (timeout_.count() <= 0) throw std::invalid_argument("the timeout must be above 0");
  // Files for TLS would be pointless without it: nothing then goes out in plain text in silence.
  bool tls = options.tls || !options.ca_file.empty() || !options.cert_file.empty() ||
             !options.key_file.empty();
  for (const std::string& text : options.servers) {
    ServerUrl url = parse_server(text);
    tls |= url.tls;
    if (url.user) login_.user = *std::move(url.user);
    if (url.password) login_.password = *std::move(url.password);
    seeds_.push_back(std::move(url.address));
  }
  if (!login_.user.empty() && login_.password.empty()) {
    throw std::invalid_argument("there is a user without a password");
  }
  map_request_.label = "the map of the cluster";
  map_request_.commands = encode_command({"CLUSTER", "SLOTS"});
  if (tls) {
    tls_ = std::make_unique<TlsContext>(options.ca_file, options.cert_file, options.key_file,
                                        options.verify);
  }
}

Client::Node& Client::node_at(const Address& address) {
  const auto [at, is_new] = nodes_.try_emplace(address);
  if (is_new) at->second.address = address;
  return at->second;
}

// After an error: replies that come late must not be taken for those of later requests.
void Client::abandon() noexcept {
  for (auto& [address, node] : nodes_) {
    if (!node.flights.empty() || (node.connection && node.connection->has_waiting())) {
      node.connection.reset();
    }
    node.queue.clear();
    node.flights.clear();
    node.bytes_in_flight = 0;
  }
}

void Client::disconnect(std::uint64_t connection) noexcept {
  for (auto& [address, node] : nodes_) {
    if (node.serial == connection) node.connection.reset();
  }
}

std::vector<Answer> Client::run(std::span<const Request> requests) {
  requests_ = requests;
  answers_ = std::vector<Answer>(requests.size());
  tasks_ = std::vector<Task>(requests.size() + 1);
  waiting_.resize(requests.size());
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  open_ = requests.size();
  map_is_requested_ = false;
  try {
    // A map that is on its way is waited for: its reply must not be left for the next run.
    while (open_ != 0 || map_is_requested_) {
      now_ = Clock::now();
      if (wants_map() && open_ != 0) request_map();
      place_tasks();
      for (auto& [address, node] : nodes_) pump(node);
      check_for_hangs();
      if (open_ != 0 || map_is_requested_) wait();
    }
  } catch (...) {
    abandon();
    throw;
  }
  return std::move(answers_);
}

void Client::place_tasks() {
  if (!has_map_) return;
  std::vector<std::size_t> still;
  for (const std::size_t number : std::exchange(waiting_, {})) {
    if (now_ < tasks_[number].not_before || !place(number)) still.push_back(number);
  }
  waiting_.insert(waiting_.end(), still.begin(), still.end());
}

// False: no node has its slot now.
bool Client::place(std::size_t number) {
  const Request& request = request_of(number);
  const Address* to = map_.node_of(request.slot);
  if (tasks_[number].redirect) to = &*tasks_[number].redirect;
  if (request.node) to = &*request.node;
  if (to == nullptr) {
    map_is_old_ = true;
    delay(number, "no node serves its slot " + std::to_string(request.slot), false);
    return false;
  }
  Node& node = node_at(*to);
  if (request.only_on && (!node.connection || node.serial != *request.only_on)) {
    deliver(number, node, {Reply::Kind::error, 0, std::string(kOtherConnection), {}});
    return true;
  }
  node.queue.push_back(number);
  return true;
}

}}}  // namespace nestline::cluster
