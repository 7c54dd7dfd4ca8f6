// One Client::run: who gets which request when, and what an answer means for it.
#ifndef NESTLINE_LIB_CLUSTER_RUN_H_
#define NESTLINE_LIB_CLUSTER_RUN_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/cluster/client.h"

namespace nestline::cluster {

class Run {
 public:
  Run(Client& client, std::span<const Request> requests, std::span<Answer> answers);

  /// Until every request has its answer. Throws ClusterError, std::bad_alloc.
  void go();

 private:
  using Node = Client::Node;
  using Flight = Client::Flight;

  // A request on its way. The last task is the question for the map of slots.
  struct Task {
    const Request* request = nullptr;
    Answer* answer = nullptr;
    unsigned replies_left = 0;
    bool is_refused = false;  // one of the replies was an error: `cause`
    Reply cause;
    std::optional<Address> ask;  // goes there once, with ASKING
    bool was_asking = false;     // the last time that it was sent
    Clock::time_point not_before;
    std::optional<Clock::time_point> trouble_since;
    unsigned attempts = 0;
    std::string why;  // the last trouble, with its node
  };

  void place_tasks();
  void ask_for_map();
  bool place(std::size_t number);
  void put_off(std::size_t number, const Node& node, const std::string& why, bool at_once);
  void deliver(std::size_t number, Node& node, Reply reply);

  void pump(Node& node);
  [[nodiscard]] const Task& first_task(const Node& node) const;
  void send(Node& node);
  void take_replies(Node& node);
  void finish(std::size_t number, Node& node, Reply reply);
  void redirect(std::size_t number, Node& node, const Reply& reply);
  void take_map(Node& node, const Reply& reply);
  void lose(Node& node, const std::string& why);
  void check_for_hangs();
  void doubt(Node& node);
  [[nodiscard]] bool is_silent(const Node& node) const;
  void wait();

  [[nodiscard]] bool is_map_task(std::size_t number) const { return number == requests_.size(); }
  [[nodiscard]] Clock::duration patience_with(const Node& node) const;
  [[noreturn]] void fail(const Task& task, const std::string& what) const;
  [[noreturn]] void fail_at(const Node& node, const Task& task, const std::string& why) const;

  Client& client_;
  std::span<const Request> requests_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> waiting_;  // tasks that belong to no node now
  Request map_request_;
  Answer map_answer_;
  bool asks_for_map_ = false;
  std::size_t open_;
  Clock::time_point now_;
};

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_RUN_H_
