// One connection to one server: a socket that never blocks, TLS if requested, and the login.
// Commands are queued as bytes; advance() moves them; replies come in order, without the login's.
// How far the queue was handed to the system is known: later commands were not carried out.
#ifndef NESTLINE_LIB_FACES_CLUSTER_CONNECTION_H_
#define NESTLINE_LIB_FACES_CLUSTER_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/cluster/address.h"
#include "lib/faces/cluster/reply.h"
#include "lib/faces/cluster/tls.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

/// What goes first on a connection. No password: nothing.
struct Login {
  std::string user;
  std::string password;
};

/// The connection cannot be made or has ended: a sentence without its subject. It may work later.
struct ConnectionLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The server refuses this client: a sentence without its subject. It will not work later.
struct LoginRefused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How the error begins with which a server ends a connection that is one too many.
inline constexpr std::string_view kTooManyClients = "ERR max number of clients reached";

class Connection {
 public:
  /// Begins to connect. The name service, when `address` has a name, may take its time. Throws
  /// ConnectionLost, std::bad_alloc. No `tls`: plain. It must live as long as the connection.
  Connection(const Address& address, const Login& login, const TlsContext* tls);
  ~Connection();
  Connection& operator=(Connection&&) = delete;
  [[nodiscard]] int descriptor() const noexcept { return socket_; }
  [[nodiscard]] short wanted_events() const noexcept;  ///< what poll() should wait for
  std::uint64_t queue(std::string_view bytes);         ///< returns where in the stream it begins
  /// Whether a byte of what begins at `position` may have left this process.
  [[nodiscard]] bool has_left(std::uint64_t position) const noexcept { return position < left_; }
  [[nodiscard]] bool has_waiting() const noexcept { return !plain_.empty() || !network_.empty(); }
  /// Moves what can be moved without waiting; whether any byte moved. Throws ConnectionLost,
  /// LoginRefused, BadReply, std::bad_alloc; receive() then still has the replies before that.
  bool advance();
  std::optional<Reply> receive();  ///< throws LoginRefused, BadReply, std::bad_alloc

 private:
  enum class Stage : std::uint8_t { connecting, shaking_hands, open };

  // Bytes that are taken off the front. Those are dropped now and then, not each time.
  class Outgoing {
   public:
    [[nodiscard]] bool empty() const noexcept { return taken_ == bytes_.size(); }
    [[nodiscard]] std::string_view rest() const noexcept {
      return std::string_view(bytes_).substr(taken_);
    }
    std::string& bytes() noexcept { return bytes_; }
    void take(std::size_t count) {
      taken_ += count;
      if (taken_ < bytes_.size() && taken_ < bytes_.size() / 2) return;
      bytes_.erase(0, taken_);
      taken_ = 0;
    }

   private:
    std::string bytes_;
    std::size_t taken_ = 0;
  };

  struct Candidate {
    int family;
    std::vector<unsigned char> address;
  };

  void resolve(const Address& address);
  void connect_next();
  void close() noexcept;
  bool is_connected();
  void seal();
  bool send_some();
  bool receive_some();
  void check_login();
  std::vector<Candidate> candidates_;  // not tried yet, last one first
  int socket_ = -1;
  Stage stage_ = Stage::connecting;
  std::optional<TlsSession> tls_;
  bool awaits_login_ = false;
  Outgoing plain_;    // queued, not handed to TLS or to the socket yet
  Outgoing network_;  // with TLS: sealed, not handed to the socket yet
  std::uint64_t queued_ = 0;
  std::uint64_t left_ = 0;
  ReplyReader reader_;
};

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_CONNECTION_H_
