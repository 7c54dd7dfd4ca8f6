// What a logical filter is: the fields of its descriptor, the names of its parts, their settings.
// The descriptor is the hash key NAME on the servers:
//
//   format        1, or 2 of a filter that turns over: clients of format 1 refuse it
//   parts         1 to 16384
//   seed          of all parts
//   fpr           the wanted rate, as the shortest decimal fraction that is the same double
//   capacity      of all parts together
//   max_capacity  as given to create(): 0, or above `capacity`: parts grow; else they do not
//   turns_over    1, in format 2 only
//   state         "creating" until all parts are there, then "ready"
//   created_by    a program and its version, for people
//   id            drawn when it is made: another filter of the same name has another one
//   epoch         which parts are the content
//   left:EPOCH    parts of that epoch may be there, and are not the content. Milliseconds since
//                 1970 by the server's clock, renewed by an upload. 0: can be removed at once.
//
// The parts of epoch 0 are NAME:{p0}, NAME:{p1}, ...; those of epoch e NAME:{p0}:e, ... Names have
// no braces, so part 17 of all filters has one slot: CF.MERGE and COPY work part by part.
#ifndef NESTLINE_LIB_FACES_CLUSTER_DESCRIPTOR_H_
#define NESTLINE_LIB_FACES_CLUSTER_DESCRIPTOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/cluster/reply.h"
#include "lib/faces/embed/value/sub_filter_plan.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

inline constexpr std::uint32_t kMaxParts = 16384;
inline constexpr std::string_view kFormat = "1";
inline constexpr std::string_view kTurningFormat = "2";
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kLeftPrefix = "left:";

struct Descriptor {
  std::uint32_t parts = 0;
  std::uint64_t seed = 0;
  double fpr = 0;
  std::uint64_t capacity = 0;
  std::uint64_t max_capacity = 0;
  std::uint64_t id = 0;
  std::uint64_t epoch = 0;
  bool turns_over = false;
  /// Its field of this name.
  [[nodiscard]] std::string_view format() const { return turns_over ? kTurningFormat : kFormat; }
  /// Whether its parts grow.
  [[nodiscard]] bool grows() const { return max_capacity == 0 || max_capacity > capacity; }
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// What the key on the server has, also when it is not whole.
struct FoundDescriptor {
  bool exists = false;
  bool has_format = false;  ///< It is a descriptor of a known format, or was about to become one.
  std::string format;
  bool is_ready = false;   ///< `descriptor` is whole and all parts were made.
  bool has_parts = false;  ///< `descriptor.parts` is known.
  Descriptor descriptor;
  std::map<std::uint64_t, std::uint64_t> left;  ///< Epochs of the fields left:EPOCH; their values.
};

/// From ClusterFilter::create's options; draws id and seed. Throws std::invalid_argument.
Descriptor describe(const Options& options, unsigned parts);

/// What two must have in common to be united, for an error.
inline std::string common_of(const Descriptor& descriptor) {
  return std::to_string(descriptor.parts) + " parts and seed " + std::to_string(descriptor.seed) +
         (descriptor.turns_over ? ", and turns over" : "");
}
inline bool can_unite(const Descriptor& a, const Descriptor& b) {
  return a.parts == b.parts && a.seed == b.seed && a.turns_over == b.turns_over;
}

std::uint64_t draw();  ///< 64 bits from the system's source of chance
/// Throws std::invalid_argument when it cannot be the name of a logical filter.
void check_name(std::string_view name);
std::string part_key(std::string_view name, std::uint32_t part, std::uint64_t epoch);
std::string left_field(std::uint64_t epoch);
/// All arguments of the HSET that writes it, without those of a state.
std::vector<std::string> encode_fields(std::string_view name, const Descriptor& descriptor);
FoundDescriptor decode_fields(const Reply& reply);  ///< HGETALL's; leaves out fields that are bad
/// Settings of one part when all together have room for `items`: its share, and as much more that
/// no part of a million filters is without room although the filter has room.
redis::Settings part_settings(const Descriptor& descriptor, std::uint64_t items);
std::string text_of(double number);  ///< the shortest decimal fraction that reads back as it

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_DESCRIPTOR_H_
