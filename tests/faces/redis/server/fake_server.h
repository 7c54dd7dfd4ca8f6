// What the module needs of a server, in this process: a keyspace, strings, blocked clients and an
// event loop, behind the table of functions that a server's module interface fills. So commands and
// worker threads run without a server, and tools such as the thread sanitizer see all of it.
//
//   FakeServer server({"cf-threads", "2", "cf-thread-items", "64"});
//   Client client;
//   server.run(client, insert, {"CF.INSERT", "key", "ITEMS", "x"});
//   server.serve_until([&] { return client.waiting == 0; });   // client.replies has it
//
// One thread plays the server's: it makes all calls. There is one FakeServer in a process.
#ifndef NESTLINE_TESTS_FACES_REDIS_SERVER_FAKE_SERVER_H_
#define NESTLINE_TESTS_FACES_REDIS_SERVER_FAKE_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/faces/redis/server/commands.h"

namespace nestline::redis {

// Who sends commands.
struct Client {
  std::vector<std::string> replies;  // what strings they had; arrays as "01..", errors as they are
  int waiting = 0;                   // commands that are not answered yet
  bool is_gone = false;
};

class FakeServer {
 public:
  explicit FakeServer(const std::vector<std::string>& configuration);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  // Runs a command. Its reply is there at once, or after serve(). `flags` as of GetContextFlags.
  void run(const std::shared_ptr<Client>& client, int (*command)(const Call&),
           const std::vector<std::string>& words, int flags = 0);
  // Does what the event loop does: calls that were asked for, and clients that need not wait.
  void serve();
  // serve() until the condition holds. False after some minutes.
  bool serve_until(const std::function<bool()>& condition);
  void remove(const std::string& key);
  void rename(const std::string& from, const std::string& to);
  // The bytes of a saved value, as a child process that was forked now would write them.
  std::vector<std::string> saved(const std::string& key);
  // The most calls that the event loop was asked for and had not made.
  static std::size_t most_one_shots();
  static long allocations();  // allocations of the server's memory that are not freed
};

}  // namespace nestline::redis

#endif  // NESTLINE_TESTS_FACES_REDIS_SERVER_FAKE_SERVER_H_
