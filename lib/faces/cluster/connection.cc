#include "lib/faces/cluster/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

constexpr std::size_t kMaxAtOnce = std::size_t{1} << 18;

std::string text_of(int error) { return std::generic_category().message(error); }

struct FreeAddresses {
  void operator()(::addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

}  // namespace

Connection::Connection(const Address& address, const Login& login, const TlsContext* tls) {
  if (tls != nullptr) tls_.emplace(*tls, address.host);
  resolve(address);
  if (!login.password.empty()) {
    awaits_login_ = true;
    queue(login.user.empty() ? encode_command({"AUTH", login.password})
                             : encode_command({"AUTH", login.user, login.password}));
  }
  connect_next();
}

Connection::~Connection() { close(); }

void Connection::close() noexcept {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void Connection::resolve(const Address& address) {
  ::addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  ::addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  const std::unique_ptr<::addrinfo, FreeAddresses> list(found);
  if (error != 0) throw ConnectionLost(std::string("has no address: ") + ::gai_strerror(error));
  for (const ::addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(each->ai_addr);
    candidates_.push_back({each->ai_family, {bytes, bytes + each->ai_addrlen}});
  }
  std::ranges::reverse(candidates_);
}

// Throws when the last candidate fails.
void Connection::connect_next() {
  std::string why = "has no address";
  while (!candidates_.empty()) {
    const Candidate candidate = std::move(candidates_.back());
    candidates_.pop_back();
    close();
    socket_ = ::socket(candidate.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) throw ConnectionLost("cannot be reached: " + text_of(errno));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto* const to = reinterpret_cast<const ::sockaddr*>(candidate.address.data());
    const auto size = static_cast<::socklen_t>(candidate.address.size());
    if (::connect(socket_, to, size) == 0 || errno == EINPROGRESS || errno == EINTR) return;
    why = "cannot be reached: " + text_of(errno);
  }
  close();
  throw ConnectionLost(why);
}

bool Connection::is_connected() {
  ::pollfd state{socket_, POLLOUT, 0};
  if (::poll(&state, 1, 0) <= 0 || state.revents == 0) return false;
  int error = 0;
  ::socklen_t size = sizeof error;
  if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return true;
  if (candidates_.empty()) throw ConnectionLost("cannot be reached: " + text_of(error));
  connect_next();
  return false;
}

short Connection::wanted_events() const noexcept {
  if (stage_ == Stage::connecting) return POLLOUT;
  const bool sends = !network_.empty() || (!tls_ && !plain_.empty());
  return static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN);
}

std::uint64_t Connection::queue(std::string_view bytes) {
  const std::uint64_t position = queued_;
  plain_.bytes() += bytes;
  queued_ += bytes.size();
  return position;
}

bool Connection::advance() {
  bool moved = false;
  try {
    if (stage_ == Stage::connecting) {
      if (!is_connected()) return false;
      stage_ = tls_ ? Stage::shaking_hands : Stage::open;
      moved = true;
    }
    seal();
    moved |= send_some();
    moved |= receive_some();
    seal();
    moved |= send_some();
    check_login();
  } catch (const TlsError& error) {
    // A certificate that is not trusted stays so.
    if (stage_ == Stage::shaking_hands) throw LoginRefused(error.what());
    throw ConnectionLost(error.what());
  }
  return moved;
}

// With TLS: as far as the handshake allows, makes bytes for the socket of what waits.
void Connection::seal() {
  if (!tls_) return;
  if (stage_ == Stage::shaking_hands && tls_->shake_hands()) stage_ = Stage::open;
  if (stage_ == Stage::open && !plain_.empty()) {
    left_ = queued_;
    tls_->write(plain_.rest());
    plain_.take(plain_.rest().size());
  }
  tls_->take_encrypted(network_.bytes());
}

bool Connection::send_some() {
  Outgoing& bytes = tls_ ? network_ : plain_;
  bool sent = false;
  while (!bytes.empty()) {
    const std::string_view some = bytes.rest().substr(0, kMaxAtOnce);
    const auto count = ::send(socket_, some.data(), some.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) {
      const int error = errno;
      receive_some();  // what it said before it ended the connection
      throw ConnectionLost("has broken the connection: " + text_of(error));
    }
    sent = true;
    bytes.take(static_cast<std::size_t>(count));
    if (!tls_) left_ += static_cast<std::size_t>(count);
  }
  return sent;
}

bool Connection::receive_some() {
  std::array<char, 65536> some;
  bool received = false;
  for (std::size_t all = 0; all < kMaxAtOnce;) {
    const auto count = ::recv(socket_, some.data(), some.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) throw ConnectionLost("has broken the connection: " + text_of(errno));
    if (count == 0) throw ConnectionLost("has ended the connection");
    received = true;
    const std::string_view bytes(some.data(), static_cast<std::size_t>(count));
    all += bytes.size();
    if (!tls_) {
      reader_.feed(bytes);
      continue;
    }
    tls_->put_encrypted(bytes);
    if (stage_ == Stage::shaking_hands) {
      if (!tls_->shake_hands()) continue;
      stage_ = Stage::open;
    }
    std::string plain;
    const bool goes_on = tls_->read(plain);
    if (!plain.empty()) reader_.feed(plain);
    if (!goes_on) throw ConnectionLost("has ended the connection");
  }
  return received;
}

void Connection::check_login() {
  if (!awaits_login_) return;
  const auto reply = reader_.next();
  if (!reply) return;
  awaits_login_ = false;
  if (!reply->is_error()) return;
  if (reply->text.starts_with(kTooManyClients))
    throw ConnectionLost("answers '" + reply->text + "'");
  throw LoginRefused("refuses the user or the password: " + reply->text);
}

std::optional<Reply> Connection::receive() {
  check_login();
  return awaits_login_ ? std::nullopt : reader_.next();
}

}}}  // namespace nestline::cluster
