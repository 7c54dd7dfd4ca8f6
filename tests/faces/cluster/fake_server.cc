// The fake server: see fake_server.h.
#include "tests/faces/cluster/fake_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace nestline::cluster {
namespace {

// The number after `mark` in a line at `at`, which moves behind it; nothing if it has not come yet.
std::optional<std::size_t> number_at(const std::string& bytes, std::size_t& at, char mark) {
  const std::size_t end = bytes.find("\r\n", at);
  if (end == std::string::npos) return std::nullopt;
  if (bytes[at] != mark) throw std::logic_error("the client sends what is no command");
  const std::size_t number = std::stoul(bytes.substr(at + 1, end - at - 1));
  at = end + 2;
  return number;
}

// Takes the first command off the bytes when all of it has come.
std::optional<Command> take_command(std::string& bytes) {
  std::size_t at = 0;
  const auto count = number_at(bytes, at, '*');
  if (!count) return std::nullopt;
  Command command;
  for (std::size_t i = 0; i < *count; ++i) {
    const auto length = number_at(bytes, at, '$');
    if (!length || bytes.size() < at + *length + 2) return std::nullopt;
    command.push_back(bytes.substr(at, *length));
    at += *length + 2;
  }
  bytes.erase(0, at);
  return command;
}

void send_all(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;  // the client has gone
    sent += static_cast<std::size_t>(count);
  }
}

}  // namespace

OwnPort::OwnPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<::sockaddr*>(&address);
  if (socket_ < 0 || ::bind(socket_, general, size) != 0 ||
      ::getsockname(socket_, general, &size) != 0) {
    throw std::runtime_error("no port for a fake server");
  }
  number_ = ntohs(address.sin_port);
}

OwnPort::~OwnPort() { ::close(socket_); }

void OwnPort::listen() {
  if (::listen(socket_, 64) != 0) throw std::runtime_error("a fake server cannot listen");
}

FakeServer::FakeServer(Answer answer) : answer_(std::move(answer)) {
  port_.listen();
  if (::pipe(stop_) != 0) throw std::runtime_error("no pipe for a fake server");
  thread_ = std::thread([this] { serve(); });
}

FakeServer::~FakeServer() {
  ::close(stop_[1]);
  thread_.join();
  ::close(stop_[0]);
}

void FakeServer::serve() {
  std::vector<std::pair<int, std::string>> clients;  // and what has come from each
  for (;;) {
    std::vector<::pollfd> sockets{{stop_[0], POLLIN, 0}, {port_.socket(), POLLIN, 0}};
    for (const auto& [socket, bytes] : clients) sockets.push_back({socket, POLLIN, 0});
    ::poll(sockets.data(), sockets.size(), -1);
    if (sockets[0].revents != 0) break;
    for (std::size_t i = clients.size(); i-- > 0;) {
      if (sockets[i + 2].revents == 0) continue;
      std::array<char, 65536> some;
      const auto count = ::recv(clients[i].first, some.data(), some.size(), 0);
      if (count > 0) clients[i].second.append(some.data(), static_cast<std::size_t>(count));
      if (count > 0 && answer_all(clients[i].first, clients[i].second)) continue;
      ::close(clients[i].first);
      ++ended_;
      clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (sockets[1].revents != 0) {
      const int client = ::accept(port_.socket(), nullptr, nullptr);
      const int on = 1;
      ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      if (client >= 0) clients.emplace_back(client, "");
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
  }
  for (const auto& [socket, bytes] : clients) ::close(socket);
}

// False: the connection ends.
bool FakeServer::answer_all(int socket, std::string& bytes) {
  while (const auto command = take_command(bytes)) {
    {
      const std::lock_guard lock(mutex_);
      names_.push_back(command->front());
    }
    const std::string answer = answer_(*command);
    if (answer == kHang) continue;
    send_all(socket, answer.substr(0, answer.find(kEnd)));
    if (answer.ends_with(kEnd)) return false;
  }
  return true;
}

std::size_t FakeServer::seen(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count(names_.begin(), names_.end(), name));
}

std::vector<std::string> FakeServer::names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::size_t FakeServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string array(const std::vector<std::string>& replies) {
  std::string bytes = "*" + std::to_string(replies.size()) + "\r\n";
  for (const std::string& reply : replies) bytes += reply;
  return bytes;
}

std::string slots_reply(const std::vector<Address>& nodes) {
  std::vector<std::string> ranges;
  const std::size_t share = 16384 / nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t last = i + 1 == nodes.size() ? 16383 : (i + 1) * share - 1;
    ranges.push_back(array(
        {":" + std::to_string(i * share) + "\r\n", ":" + std::to_string(last) + "\r\n",
         array({bulk(nodes[i].host), ":" + std::to_string(nodes[i].port) + "\r\n", bulk("id")})}));
  }
  return array(ranges);
}

}  // namespace nestline::cluster
