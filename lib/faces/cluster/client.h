// Requests to the nodes of a cluster, or to one server: all nodes at once, a pipeline each.
//
//   const std::vector<Answer> answers = client.run(requests);   // in the order of the requests
//
// A request goes to the primary of its slot. MOVED and ASK are followed. What a server puts off
// (TRYAGAIN, CLUSTERDOWN, LOADING, MASTERDOWN, READONLY) or a lost connection leaves open is
// repeated, with growing pauses, until `timeout`; a change only if it was surely not carried out.
//
// A node that moves no byte for half of `timeout` while it owes a reply may have lost its slots to
// a replica: the map is requested from another, and what may be sent again goes to the new primary.
// After `timeout` it ends the call. So does whatever cannot get better, as a wrong password.
#ifndef NESTLINE_LIB_FACES_CLUSTER_CLIENT_H_
#define NESTLINE_LIB_FACES_CLUSTER_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/cluster/connection.h"
#include "lib/faces/cluster/slot_map.h"
#include "nestline/cluster.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

using Clock = std::chrono::steady_clock;

/// The error that stands for the reply to a request whose connection (`only_on`) is gone.
inline constexpr std::string_view kOtherConnection = "ANOTHERCONNECTION";

struct Request {
  std::string_view label;  ///< For errors: which part or key this is about. Must outlive it.
  unsigned slot = 0;
  std::string commands;  ///< One or several (encode_command), for one key or for keys of a slot.
  std::string_view payload;     ///< Last argument of the last command (encode_command_before).
  unsigned replies = 1;         ///< As many as there are commands.
  bool changes = false;         ///< Must not be carried out twice.
  bool aside = false;           ///< What it changes is no part of what the call is to change.
  bool asking = false;          ///< Behind ASKING, to a node that is taking the slot over.
  std::optional<Address> node;  ///< Goes there, wherever the slot is.
  std::optional<std::uint64_t> only_on;  ///< Must go through this connection, or not at all.
};

struct Answer {
  Reply reply;                   ///< Of the last command, or the first error of any.
  Address node;                  ///< Which answered.
  std::uint64_t connection = 0;  ///< Through which it came: for Request::only_on.
  bool asking = false;           ///< Its request went behind ASKING.
};

class Client {
 public:
  /// Connects to no node yet. Throws std::invalid_argument, std::bad_alloc.
  explicit Client(const ClusterOptions& options);
  /// Throws ClusterError, std::bad_alloc. The error's effect is that of the time since forget().
  std::vector<Answer> run(std::span<const Request> requests);
  Answer run(const Request& request) { return std::move(run(std::span(&request, 1)).front()); }
  void forget() noexcept { changed_ = false; }  ///< a call begins: nothing is changed in it yet
  /// Something may be changed from here on, though no request is marked so.
  void may_change() noexcept { changed_ = true; }
  [[nodiscard]] bool has_changed() const noexcept { return changed_; }
  void disconnect(std::uint64_t connection) noexcept;  ///< ends it, if it is still there
  /// The primaries, as far as they are known. Not empty after a run.
  [[nodiscard]] const std::vector<Address>& primaries() const { return map_.nodes(); }
  /// The primary of a slot as far as it is known; null if it is not.
  [[nodiscard]] const Address* primary_of(unsigned slot) const { return map_.node_of(slot); }
  [[nodiscard]] std::chrono::milliseconds timeout() const noexcept { return timeout_; }

 private:
  // A request on its way. The last task of a run is the request for the map of slots.
  struct Task {
    unsigned replies_left = 0;
    std::optional<Reply> error;       // the first of its replies that was one
    std::optional<Address> redirect;  // goes there once, with ASKING
    bool was_asking = false;          // the last time that it was sent
    Clock::time_point not_before;
    std::optional<Clock::time_point> trouble_since;
    unsigned attempts = 0;
    std::string why;  // the last trouble, with its node
  };
  struct Flight {
    std::size_t task;
    std::uint64_t position;  // in the connection's stream
    std::size_t bytes;
    bool asks_each;  // ASKING stands before each command
    bool asking;     // the reply to ASKING comes next
  };
  struct Node {
    Address address;
    std::unique_ptr<Connection> connection;
    std::uint64_t serial = 0;
    std::deque<std::size_t> queue;  // tasks that are to be sent
    std::deque<Flight> flights;
    std::size_t bytes_in_flight = 0;
    Clock::time_point progress;    // the last, or when waiting began
    Clock::time_point doubted;     // the progress after which its silence made the map old
    Clock::time_point not_before;  // to connect again
    unsigned failures = 0;
  };

  Node& node_at(const Address& address);
  void abandon() noexcept;
  void place_tasks();
  bool place(std::size_t number);
  // run.cc
  void request_map();
  void delay(std::size_t number, const std::string& why, bool at_once);
  void put_off(std::size_t number, const Node& node, const std::string& why, bool at_once);
  void deliver(std::size_t number, const Node& node, Reply reply);
  void pump(Node& node);
  [[nodiscard]] std::size_t first_task(const Node& node) const;
  void send(Node& node);
  void take_replies(Node& node);
  void finish(std::size_t number, const Node& node, Reply reply);
  void redirect(std::size_t number, const Node& node, const Reply& reply);
  void take_map(const Node& node, const Reply& reply);
  void lose(Node& node, const std::string& why);
  void check_for_hangs();
  void doubt(Node& node);
  [[nodiscard]] bool is_silent(const Node& node) const;
  [[nodiscard]] Clock::duration patience_with(const Node& node) const;
  void wait();
  [[noreturn]] void fail(std::size_t number, const std::string& what);
  [[noreturn]] void fail_at(const Node& node, std::size_t number, const std::string& why);
  [[nodiscard]] bool is_map_task(std::size_t number) const { return number == requests_.size(); }
  [[nodiscard]] const Request& request_of(std::size_t number) const {
    return is_map_task(number) ? map_request_ : requests_[number];
  }
  [[nodiscard]] bool wants_map() const { return (!has_map_ || map_is_old_) && !map_is_requested_; }
  std::chrono::milliseconds timeout_;
  Login login_;
  std::unique_ptr<TlsContext> tls_;
  std::vector<Address> seeds_;
  std::map<Address, Node> nodes_;
  SlotMap map_;
  bool has_map_ = false;
  bool map_is_old_ = false;
  std::size_t next_map_source_ = 0;  // of the seeds and the known nodes
  std::uint64_t serials_ = 0;
  bool changed_ = false;
  // Of the present run.
  Request map_request_;
  std::span<const Request> requests_;
  std::vector<Answer> answers_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> waiting_;  // tasks that belong to no node now
  std::size_t open_ = 0;              // requests without an answer
  bool map_is_requested_ = false;
  Clock::time_point now_;
};

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_CLIENT_H_
