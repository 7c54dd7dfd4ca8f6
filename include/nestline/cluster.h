// A logical filter on a Redis Cluster or one Redis server: many CF.* keys that act as one filter.
//
// It has P parts, each an ordinary CF.* key of the nestline module, which the cluster spreads,
// replicates and moves. This client hashes, and sends 8 bytes a key to all nodes at once.
//
//   const nestline::ClusterOptions cluster{.servers = {"10.0.0.1:6379", "10.0.0.2:6379"}};
//   auto seen = nestline::ClusterFilter::create(cluster, "seen", {.capacity = 1'000'000'000});
//   if (seen.insert(keys) != keys.size()) { ... some parts are full ... }
//   std::vector<std::uint8_t> found(keys.size());
//   seen.may_contain(keys, found);
//
// The filter NAME is the hash key NAME and the parts NAME:{p0}, NAME:{p1}, ... (docs/CLUSTER.md).
// Link nestline::cluster.
#ifndef NESTLINE_CLUSTER_H_
#define NESTLINE_CLUSTER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "nestline/export.h"
#include "nestline/filter.h"
#include "nestline/internal/owned_state.h"
#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 {

/// Where the servers are and how to talk to them.
struct ClusterOptions {
  /// At least one server that answers; it names the others. "HOST:PORT", "HOST" (port 6379),
  /// "[IPV6]:PORT", "redis://[USER[:PASSWORD]@]HOST[:PORT][/0]", "rediss://..." for TLS, or
  /// valkey(s)://. A URL's user and password are percent-decoded, and come first.
  std::vector<std::string> servers{};
  std::string user{};  ///< For AUTH. No password: no AUTH. No user: "default".
  std::string password{};
  bool tls = false;       ///< TLS to every node, as "rediss://" asks for.
  std::string ca_file{};  ///< TLS: certificates to trust (PEM); empty: those of the system.
  /// TLS: certificate and key of this client (PEM), where the servers ask for one; else empty.
  std::string cert_file{};
  std::string key_file{};
  bool verify = true;  ///< TLS: false accepts any certificate. Only for tests.
  /// The longest wait for one server without progress, reconnects and redirections included; then
  /// ClusterError. The name service takes its own time.
  std::chrono::milliseconds timeout{2000};
  /// An addition or removal returns when so many replicas of each part have it (WAIT). If not
  /// within `timeout`, ClusterError; the change was made nevertheless.
  unsigned wait_replicas = 0;
};

/// A failure of a call on a logical filter. what() names the part, the node and what to do.
class NESTLINE_EXPORT ClusterError : public std::runtime_error {
 public:
  /// What has become of the change that was requested.
  enum class Effect : std::uint8_t {
    none,     ///< Nothing was changed.
    unknown,  ///< Some or all of it may have been done: the connection was lost before the answer.
  };

  NESTLINE_HERE explicit ClusterError(const std::string& what, Effect effect = Effect::none)
      : std::runtime_error(what), effect_(effect) {}
  /// unknown: repeat an insert by insert_unique(), which does not add a second copy.
  [[nodiscard]] NESTLINE_HERE Effect effect() const noexcept { return effect_; }

 private:
  Effect effect_;
};

/// One part, for ClusterStats.
struct ClusterPart {
  unsigned number = 0;
  std::string key;             ///< Its name on the server.
  std::string node;            ///< HOST:PORT of the primary that has it.
  std::uint64_t size = 0;      ///< Keys.
  std::uint64_t capacity = 0;  ///< What its filters are promised to hold now.
  double load = 0;             ///< size / slots; 0 while that is not known.
  double expected_fpr = 0;     ///< Of this part, now.
  std::uint64_t memory_bytes = 0;
};

/// The figures of one moment, or nearly: one request for each part.
struct ClusterStats {
  std::uint64_t size = 0;  ///< Keys.
  std::uint64_t memory_bytes = 0;
  double expected_fpr = 0;  ///< For a key that was not inserted: the mean of the parts.
  std::vector<ClusterPart> parts;
};

/// How upload() treats what is in the filter.
enum class Upload : std::uint8_t {
  replace,  ///< The new content takes its place at one instant.
  merge,    ///< The new content is added to it, part by part (CF.MERGE).
};

/// A logical filter.
///
/// Thread safety: an object is for one thread at a time; it has its own connections. Any number of
/// objects and processes may use one logical filter at once: a server does one command at a time.
///
/// Errors: ClusterError, std::bad_alloc, and std::invalid_argument for what a caller got wrong. A
/// lookup in a part that cannot be reached is an error, never a "no". MOVED, ASK, TRYAGAIN,
/// CLUSTERDOWN, LOADING, MASTERDOWN and lost connections are retried with growing pauses until the
/// timeout. A change is sent a second time only if its server said that it did not carry it out.
///
/// Batches: `keys` as for Filter. Results are in the order of the keys. A batch of n keys costs
/// O(n) here and on the servers, and one round trip for some 64,000 keys a part.
class NESTLINE_EXPORT ClusterFilter {
 public:
  /// Makes a new logical filter. `options` are for all parts together:
  ///   capacity      as for a Filter
  ///   fpr or bits   as for a Filter, one of them; 9 and 10 bits only where the parts do not grow
  ///   max_capacity  0, or above `capacity`: the parts grow as long as the servers let them, and
  ///                 keep the rate; else they take no more than `capacity` keys, about
  ///   seed          0: drawn
  ///   turns_over    as for a Filter. Servers and programs before 0.3 refuse such a logical filter
  /// The others have no effect. `parts`: 1 to 16384; at least four a primary in a cluster of
  /// several, for an even load. A name is not empty and has no braces. ClusterError if it is taken.
  static ClusterFilter create(const ClusterOptions& cluster, std::string_view name,
                              const Options& options, unsigned parts = 64);
  /// Opens one that exists. Throws ClusterError when there is none.
  [[nodiscard]] static ClusterFilter open(const ClusterOptions& cluster, std::string_view name);
  /// Removes descriptor and parts, also of a killed create() or upload(). False: there were none.
  /// Where the descriptor was lost it looks for parts among all keys, with SCAN.
  static bool remove(const ClusterOptions& cluster, std::string_view name);
  ClusterFilter(ClusterFilter&& other) noexcept;
  ClusterFilter& operator=(ClusterFilter&& other) noexcept;
  ~ClusterFilter();
  /// Adds one copy of each key. Returns how many were added. With `outcomes`, the keys that were
  /// not are looked up: `too_many_copies` for those found, `full` for the others, whose parts have
  /// no room. After an error with Effect::unknown some may have been added: insert_unique is safe
  /// to repeat.
  [[nodiscard]] std::size_t insert(KeySpan keys, std::span<Outcome> outcomes = {});
  /// Adds each key unless it seems to be there. The same with `present` in place of
  /// `too_many_copies`.
  [[nodiscard]] std::size_t insert_unique(KeySpan keys, std::span<Outcome> outcomes = {});
  /// out[i] is 1 if keys[i] may be in it, 0 if it certainly is not. Returns how many may be.
  std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out);
  /// Removes one copy of each key; only keys that were inserted. Returns how many were found.
  std::size_t erase(KeySpan keys, std::span<std::uint8_t> erased = {});
  /// out[i] is the number of copies of keys[i], at most 255.
  void count(KeySpan keys, std::span<std::uint8_t> out);

  /// Builds the parts here, on all threads of the caller's oneTBB arena, and sends them whole
  /// (CF.LOADCHUNK), with room for the descriptor's capacity or these keys, whichever is more. With
  /// Upload::replace other clients, also after this one is killed, see the old content or the new;
  /// what they insert during the call may be lost. With Upload::merge a killed client leaves some
  /// parts merged. Takes 8 bytes a key here, 12 more for parts being built, and the parts.
  void upload(KeySpan keys, Upload how = Upload::replace);
  /// The same for keys that come batch by batch: next() returns the next batch, valid until its
  /// next call, and at the end an empty one. What it throws ends the call before anything is sent.
  void upload(const std::function<KeySpan()>& next, Upload how = Upload::replace);
  /// Sends a download()'s parts, of any cluster; std::invalid_argument for another number or seed,
  /// or if only one turns over.
  void upload(const class ClusterCopy& copy, Upload how = Upload::replace);
  [[nodiscard]] ClusterCopy download();  ///< The content of all parts, each of one moment.
  /// Adds the content of `source`, on the servers, part by part: both need the same number of
  /// parts, the same seed, and to turn over or not alike, else std::invalid_argument. Between
  /// clusters: download() and upload().
  void merge(ClusterFilter& source);
  /// Makes each part as small as CF.COMPACT can (docs/REDIS.md), one after another on each server,
  /// which does nothing else meanwhile: O(memory of the part). Every key stays; parts that may grow
  /// do so again. After an error some parts are smaller; it is safe to repeat.
  void fit();
  [[nodiscard]] ClusterStats stats();
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] unsigned parts() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;  ///< As given to create().
  [[nodiscard]] double fpr() const noexcept;              ///< The rate that create() was given.
  /// The part of a key, from 0 to parts() - 1. O(1), for strings O(length).
  [[nodiscard]] unsigned part_of(Key key) const noexcept;

 private:
  struct State;
  explicit ClusterFilter(internal::OwnedState<State> state) noexcept;
  internal::OwnedState<State> state_;
};

/// All parts of a logical filter in memory: answers without a server, and is a file.
///
/// Thread safety: const members may run together; nothing else.
class NESTLINE_EXPORT ClusterCopy {
 public:
  ClusterCopy(ClusterCopy&& other) noexcept;
  ClusterCopy& operator=(ClusterCopy&& other) noexcept;
  ~ClusterCopy();
  /// Throws FormatError (nestline/format_error.h) when the file is not one of save's or is damaged,
  /// std::system_error, std::bad_alloc.
  [[nodiscard]] static ClusterCopy load(const std::string& path);
  /// As ClusterFilter's, without a server.
  std::size_t may_contain(KeySpan keys, std::span<std::uint8_t> out) const;
  [[nodiscard]] std::uint64_t size() const noexcept;  ///< Keys of all parts.
  [[nodiscard]] unsigned parts() const noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  [[nodiscard]] double fpr() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  friend class ClusterFilter;
  friend NESTLINE_EXPORT void save(const ClusterCopy& copy, const std::string& path);
  struct State;
  explicit ClusterCopy(internal::OwnedState<State> state) noexcept;
  internal::OwnedState<State> state_;
};

/// Replaces the file atomically. Throws std::system_error, std::bad_alloc.
NESTLINE_EXPORT void save(const ClusterCopy& copy, const std::string& path);

}}  // namespace nestline

#endif  // NESTLINE_CLUSTER_H_
