// A server that says what a test wants, on a port of the loopback, in its own thread.
//
//   FakeServer server([](const Command& command) { return command[0] == "GET" ? "$1\r\nx\r\n" :
//   kHang; });
//   ... server.address() ... server.seen("GET") ...
#ifndef NESTLINE_TESTS_FACES_CLUSTER_FAKE_SERVER_H_
#define NESTLINE_TESTS_FACES_CLUSTER_FAKE_SERVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/faces/cluster/address.h"

namespace nestline::cluster {

using Command = std::vector<std::string>;

/// Instead of bytes: no answer; the connection ends. After bytes: these, then the connection ends.
inline const std::string kHang = "\1hang";
inline const std::string kEnd = "\1end";

/// A port of the loopback that no other program gets. Nobody listens at it until listen().
class OwnPort {
 public:
  OwnPort();
  ~OwnPort();
  OwnPort(const OwnPort&) = delete;
  OwnPort& operator=(const OwnPort&) = delete;
  void listen();
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] Address address() const { return {"127.0.0.1", number_}; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

class FakeServer {
 public:
  /// Returns the bytes that answer a command. Called in the server's thread, one at a time.
  using Answer = std::function<std::string(const Command& command)>;

  explicit FakeServer(Answer answer);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  [[nodiscard]] Address address() const { return port_.address(); }
  [[nodiscard]] std::string url() const { return to_text(address()); }
  /// How many commands of this name have come, of all connections.
  [[nodiscard]] std::size_t seen(const std::string& name) const;
  /// The names of all commands in the order in which they came.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t ended() const { return ended_; }  ///< how many of them have ended

 private:
  void serve();
  bool answer_all(int socket, std::string& bytes);

  Answer answer_;
  OwnPort port_;
  int stop_[2] = {-1, -1};
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
  std::size_t connections_ = 0;
  std::atomic<std::size_t> ended_ = 0;
  std::thread thread_;
};

/// Replies as bytes.
std::string bulk(const std::string& text);
std::string array(const std::vector<std::string>& replies);
/// The reply to CLUSTER SLOTS of a cluster in which these servers share the slots evenly.
std::string slots_reply(const std::vector<Address>& nodes);
/// What a server says to CLUSTER SLOTS that is in no cluster.
inline const std::string kNoCluster = "-ERR This instance has cluster support disabled\r\n";

}  // namespace nestline::cluster

#endif  // NESTLINE_TESTS_FACES_CLUSTER_FAKE_SERVER_H_
