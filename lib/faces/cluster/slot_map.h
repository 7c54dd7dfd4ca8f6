// Which key is in which slot, and which node has which slot, by CLUSTER SLOTS.
#ifndef NESTLINE_LIB_FACES_CLUSTER_SLOT_MAP_H_
#define NESTLINE_LIB_FACES_CLUSTER_SLOT_MAP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/faces/cluster/address.h"
#include "lib/faces/cluster/reply.h"

namespace nestline { inline namespace v0_3 { namespace cluster {

inline constexpr unsigned kSlots = 16384;
/// CRC-16/XMODEM, as the specification has it, of what the first braces enclose, or of all.
unsigned slot_of(std::string_view key);

class SlotMap {
 public:
  SlotMap();
  explicit SlotMap(const Address& server);  ///< one server that has all slots
  /// The reply to CLUSTER SLOTS from the node `from`. Nothing when it is not such a reply: no
  /// slots, slots outside the range or twice, no primary, a port that is none.
  static std::optional<SlotMap> parse(const Reply& reply, const Address& from);
  /// The primary of a slot; null when no node serves it. `slot` must be below kSlots.
  [[nodiscard]] const Address* node_of(unsigned slot) const;
  void set(unsigned slot, const Address& node);  ///< A node has replied that this slot has moved.
  [[nodiscard]] const std::vector<Address>& nodes() const { return nodes_; }

 private:
  static constexpr std::uint16_t kNobody = 0xffff;
  std::uint16_t number_of(const Address& node);
  std::vector<Address> nodes_;
  std::array<std::uint16_t, kSlots> owner_;
};

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_SLOT_MAP_H_
