// A logical filter as one client sees it: connections, descriptor, names and slots of its parts.
// Which parts are the content may change at any moment: an upload exchanges all of them by one
// change of `epoch` in the descriptor. So calls read the epoch beside the parts (epoch_request).
// The same as before: the parts were the content when it was read. Another one, or a missing part:
// read() the descriptor and repeat; what was done to other parts does not count.
#ifndef NESTLINE_LIB_FACES_CLUSTER_SESSION_H_
#define NESTLINE_LIB_FACES_CLUSTER_SESSION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/cluster/client.h"
#include "lib/faces/cluster/descriptor.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

class Session {
 public:
  using Commands = std::vector<std::vector<std::string>>;
  using Decide = std::function<Commands(const std::vector<Reply>& values)>;

  /// Connects to no node yet. Throws std::invalid_argument, std::bad_alloc.
  Session(const ClusterOptions& options, std::string_view name);
  Client& client() noexcept { return client_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return descriptor_; }
  FoundDescriptor look();  ///< what the servers have under this name. Throws ClusterError.
  void read();  ///< reads the descriptor, which must be whole and ready. Throws ClusterError.
  /// The same in a call: is the epoch another one? ClusterError also for another filter so named.
  bool read_again();
  void set(const Descriptor& descriptor);  ///< takes a descriptor that is going to be written
  [[nodiscard]] const std::string& label() const noexcept { return label_; }
  [[nodiscard]] const std::string& label_of(std::uint32_t part) const { return labels_[part]; }
  [[nodiscard]] const std::string& key_of(std::uint32_t part) const { return keys_[part]; }
  /// A request about the descriptor, and one about a part.
  [[nodiscard]] Request about_all(std::string commands, unsigned replies = 1) const;
  [[nodiscard]] Request about_part(std::uint32_t part, std::string commands,
                                   unsigned replies = 1) const;
  /// One about each part from `first` on, of `count` parts or all, with the commands(part).
  template <typename Commands>
  [[nodiscard]] std::vector<Request> about_parts(const Commands& commands, std::uint32_t first = 0,
                                                 std::uint32_t count = kMaxParts,
                                                 unsigned replies = 1) const {
    std::vector<Request> requests;
    for (std::uint32_t part = first; part < std::min(first + count, descriptor_.parts); ++part) {
      requests.push_back(about_part(part, commands(part), replies));
    }
    return requests;
  }
  /// One about a part or the descriptor that must follow an answer on its connection.
  [[nodiscard]] static Request behind(const Answer& answer, Request request);
  [[nodiscard]] Request epoch_request() const;
  /// Whether it names the epoch of descriptor(). Throws ClusterError if the filter was removed.
  [[nodiscard]] bool is_current(const Answer& epoch);
  [[nodiscard]] bool is_current() { return is_current(run(epoch_request())); }
  [[noreturn]] void refuse(std::string_view label, const Answer& answer);   ///< for an error reply
  [[noreturn]] void fail(std::string_view label, const std::string& what);  ///< with these words
  Answer run(const Request& request);  ///< the only answer; throws ClusterError for an error
  /// All answers, which are of this kind; throws ClusterError for another.
  std::vector<Answer> run(std::span<const Request> requests, Reply::Kind kind);
  /// That to one command about the descriptor.
  Answer run(std::initializer_list<std::string_view> command) {
    return run(about_all(encode_command(command)));
  }

  /// Changes the descriptor if it is as it should be: `decide` gets the values of the fields, nil
  /// where there is none, and returns the commands to carry out in one step, or nothing. Returns
  /// the answer to them, or nothing. When an answer is lost, it is called again, and must find out
  /// what was done. `counts`: an error afterwards has an unknown effect. Throws ClusterError.
  std::optional<Answer> change_if(const std::vector<std::string>& fields, const Decide& decide,
                                  bool counts = false);

  /// Whether so many replicas have what an answer's connection changed. Waits. Throws ClusterError.
  bool replicates(const Answer& answer, unsigned replicas);
  [[nodiscard]] unsigned wait_replicas() const noexcept { return wait_replicas_; }
  /// Waits until the replicas of the options have what the requests changed. Throws ClusterError.
  void wait_for_replicas(std::span<const Request> requests, std::span<const Answer> answers);

 private:
  Client client_;
  unsigned wait_replicas_;
  std::string name_;
  std::string label_;
  Descriptor descriptor_;
  std::vector<std::string> keys_;
  std::vector<std::string> labels_;
};

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_SESSION_H_
