#include "lib/faces/cluster/slot_map.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nestline { inline namespace v0_3 { namespace cluster {

unsigned slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  const std::size_t close = open == key.npos ? key.npos : key.find('}', open);
  if (close != key.npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
  unsigned crc = 0;  // bits above the lowest 16 do not count
  for (const char letter : key) {
    crc ^= unsigned{static_cast<unsigned char>(letter)} << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
  }
  return crc % kSlots;
}

SlotMap::SlotMap() { owner_.fill(kNobody); }
SlotMap::SlotMap(const Address& server) : nodes_{server} { owner_.fill(0); }

std::optional<SlotMap> SlotMap::parse(const Reply& reply, const Address& from) {
  if (!reply.is_array() || reply.elements.empty()) return std::nullopt;
  SlotMap map;
  for (const Reply& range : reply.elements) {
    // First slot, last slot, primary, replicas. A node is its host, its port, and more.
    if (!range.is_array() || range.elements.size() < 3) return std::nullopt;
    const Reply &first = range.elements[0], &last = range.elements[1], &node = range.elements[2];
    if (!first.is_integer() || !last.is_integer() || first.integer < 0 ||
        last.integer < first.integer || last.integer >= kSlots || !node.is_array() ||
        node.elements.size() < 2) {
      return std::nullopt;
    }
    const Reply &host = node.elements[0], &port = node.elements[1];
    if (!port.is_integer() || port.integer < 1 || port.integer > 65535) return std::nullopt;
    // A node that does not know its own address, or may not give it, leaves it empty, nil or "?".
    const bool is_unknown = !host.is_bulk() || host.text.empty() || host.text == "?";
    const Address address{is_unknown ? from.host : host.text,
                          static_cast<std::uint16_t>(port.integer)};
    const std::uint16_t number = map.number_of(address);
    for (std::int64_t slot = first.integer; slot <= last.integer; ++slot) {
      std::uint16_t& owner = map.owner_[static_cast<std::size_t>(slot)];
      if (owner != kNobody) return std::nullopt;
      owner = number;
    }
  }
  return map;
}

const Address* SlotMap::node_of(unsigned slot) const {
  const std::uint16_t owner = owner_[slot];
  return owner == kNobody ? nullptr : &nodes_[owner];
}

void SlotMap::set(unsigned slot, const Address& node) { owner_[slot] = number_of(node); }

// There are at most as many nodes as slots: each takes one when it comes in.
std::uint16_t SlotMap::number_of(const Address& node) {
  const auto known = std::ranges::find(nodes_, node);
  const auto number = static_cast<std::uint16_t>(known - nodes_.begin());
  if (known == nodes_.end()) nodes_.push_back(node);
  return number;
}

}}}  // namespace nestline::cluster
