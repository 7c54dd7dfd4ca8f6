// The client: see client.h. What happens during a call is in run.cc.
#include "lib/cluster/client.h"

#include <stdexcept>
#include <utility>

#include "lib/cluster/run.h"

namespace nestline::cluster {

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

// After an error: answers that come late must not be taken for those of later requests.
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
  std::vector<Answer> answers(requests.size());
  try {
    Run(*this, requests, answers).go();
  } catch (...) {
    abandon();
    throw;
  }
  return answers;
}

std::vector<unsigned> Client::slots_of(std::span<const std::string> keys) {
  // Any node knows; the one that has slot 0 is asked.
  std::vector<Request> requests(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    requests[i].label = keys[i];
    requests[i].commands = encode_command({"CLUSTER", "KEYSLOT", keys[i]});
  }
  std::vector<unsigned> slots(keys.size());
  const std::vector<Answer> answers = run(requests);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Reply& reply = answers[i].reply;
    // A server that is no cluster has no slots.
    if (reply.is_error() && reply.text.find("cluster support disabled") != std::string::npos) {
      continue;
    }
    if (!reply.is_integer() || reply.integer < 0 || reply.integer >= kSlots) {
      throw ClusterError("the node " + to_text(answers[i].node) + " does not tell the slot of '" +
                         keys[i] + "': it answers '" + reply.text + "'");
    }
    slots[i] = static_cast<unsigned>(reply.integer);
  }
  return slots;
}

}  // namespace nestline::cluster
