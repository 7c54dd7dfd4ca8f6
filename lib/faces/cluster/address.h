// Where a server is: what users write, and what servers write when they name each other.
#ifndef NESTLINE_LIB_FACES_CLUSTER_ADDRESS_H_
#define NESTLINE_LIB_FACES_CLUSTER_ADDRESS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nestline { inline namespace v0_3 { namespace cluster {

inline constexpr std::uint16_t kStandardPort = 6379;

struct Address {
  std::string host;
  std::uint16_t port = kStandardPort;

  friend auto operator<=>(const Address&, const Address&) = default;
};

std::string to_text(const Address& address);  ///< "HOST:PORT", with brackets around an IPv6 address

struct ServerUrl {
  Address address;
  bool tls = false;
  std::optional<std::string> user;
  std::optional<std::string> password;
};

ServerUrl parse_server(std::string_view text);  ///< std::invalid_argument, without passwords.
/// "HOST:PORT" as MOVED and ASK have it: the port is after the last colon, and IPv6 addresses have
/// no brackets. An empty host means that of `from`, which sent the reply.
std::optional<Address> parse_redirection(std::string_view text, const Address& from);

}}}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_FACES_CLUSTER_ADDRESS_H_
