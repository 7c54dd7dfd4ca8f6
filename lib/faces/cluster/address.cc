#include "lib/faces/cluster/address.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <stdexcept>

#include "lib/faces/cluster/reply.h"

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_number<std::uint16_t>(text);
  return port == std::uint16_t{0} ? std::nullopt : port;
}

// Names the address without what may be a user and a password.
[[noreturn]] void refuse(std::string_view address, const std::string& why) {
  const std::string_view shown = address.substr(address.rfind('@') + 1);
  throw std::invalid_argument("the server '" + std::string(shown) + "' " + why +
                              "; write HOST:PORT, redis://[USER[:PASSWORD]@]HOST[:PORT][/0] or "
                              "the same with rediss:// for TLS");
}

// Nothing when a % is not followed by two digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned char letter = 0;
    const char* const end = text.data() + std::min(text.size(), i + 3);
    const auto digits = std::from_chars(text.data() + i + 1, end, letter, 16);
    if (digits.ptr != text.data() + i + 3) return std::nullopt;
    decoded += static_cast<char>(letter);
    i += 2;
  }
  return decoded;
}

Address parse_address(std::string_view text) {
  Address address;
  std::string_view port;
  const bool bracket = text.starts_with('[');
  const std::size_t end = bracket ? text.find(']') : text.find(':');
  if (bracket) {
    if (end == std::string_view::npos) refuse(text, "has no closing bracket");
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    address.host = text.substr(0, end);
    port = end == std::string_view::npos ? std::string_view() : text.substr(end);
  }
  if (address.host.empty()) refuse(text, "has no host");
  if (!bracket && std::ranges::count(text, ':') > 1) {
    refuse(text, "has more than one colon: put an IPv6 address in brackets");
  }
  const auto unfit = [](char letter) { return letter <= ' ' || letter == '/' || letter == '@'; };
  if (std::ranges::any_of(address.host, unfit)) {
    refuse(text, "has a character that is not part of a host");
  }
  if (port.empty()) return address;
  const auto number = port.starts_with(':') ? parse_port(port.substr(1)) : std::nullopt;
  if (!number) refuse(text, "has no port from 1 to 65535 after its colon");
  address.port = *number;
  return address;
}

}  // namespace

std::string to_text(const Address& address) {
  const bool bracket = address.host.find(':') != std::string::npos;
  return (bracket ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

ServerUrl parse_server(std::string_view text) {
  ServerUrl url;
  const std::size_t scheme = text.find("://");
  std::string_view rest = text;
  if (scheme != std::string_view::npos) {
    std::string name(text.substr(0, scheme));
    for (char& letter : name) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    url.tls = name == "rediss" || name == "valkeys";
    if (!url.tls && name != "redis" && name != "valkey") {
      refuse(text.substr(0, scheme), "begins with another scheme than redis:// and rediss://");
    }
    rest = text.substr(scheme + 3);
    // A password may have an @ in it that its writer has not encoded; a host has none.
    const std::size_t at = rest.rfind('@');
    if (at != std::string_view::npos) {
      const std::string_view login = rest.substr(0, at);
      rest = rest.substr(at + 1);
      const std::size_t colon = login.find(':');
      url.user = percent_decoded(login.substr(0, colon));
      url.password = colon == std::string_view::npos ? std::string()
                                                     : percent_decoded(login.substr(colon + 1));
      if (!url.user || !url.password) refuse(rest, "has a wrong % in its user or password");
      if (url.user->empty()) url.user.reset();
      if (colon == std::string_view::npos) url.password.reset();
    }
  } else if (text.find('@') != std::string_view::npos) {
    refuse(text, "has a user or a password before it, but no redis:// or rediss:// before those");
  }
  const std::string_view address = rest.substr(0, rest.find_first_of("/?#"));
  const std::string_view behind = rest.substr(address.size());
  if (!behind.empty() && behind != "/" && behind != "/0") {
    refuse(address, "has more behind it than the database /0, in which logical filters are");
  }
  url.address = parse_address(address);
  return url;
}

std::optional<Address> parse_redirection(std::string_view text, const Address& from) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  return Address{host.empty() || host == "?" ? from.host : std::string(host), *port};
}

}}}  // namespace nestline::cluster
