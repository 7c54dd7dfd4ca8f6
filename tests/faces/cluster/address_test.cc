// Addresses and URLs of servers.
#include "lib/faces/cluster/address.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "tests/support/errors.h"

namespace nestline::cluster { namespace {

TEST(Address, IsHostAndPort) {
  EXPECT_EQ(parse_server("10.0.0.1:7000").address, (Address{"10.0.0.1", 7000}));
  EXPECT_EQ(parse_server("server.example").address, (Address{"server.example", kStandardPort}));
  EXPECT_EQ(parse_server("[::1]:7000").address, (Address{"::1", 7000}));
  EXPECT_EQ(parse_server("[::1]").address, (Address{"::1", kStandardPort}));
  EXPECT_FALSE(parse_server("[::1]").tls);
  EXPECT_EQ(to_text({"10.0.0.1", 1}), "10.0.0.1:1");
  EXPECT_EQ(to_text({"::1", 65535}), "[::1]:65535");
}

TEST(Address, UrlHasLoginAndTls) {
  for (const char* const text : {"redis://host:1", "redis://host:1/", "redis://host:1/0",
                                 "REDIS://host:1/0", "valkey://host:1/0", "host:1/0"}) {
    const ServerUrl plain = parse_server(text);
    EXPECT_EQ(plain.address, (Address{"host", 1})) << text;
    EXPECT_FALSE(plain.tls || plain.user || plain.password) << text;
  }
  EXPECT_EQ(parse_server("redis://host/0").address, (Address{"host", kStandardPort}));
  for (const char* const text : {"rediss://a:b/c%3F@[::1]/0", "valkeys://a:b/c?@[::1]:6379"}) {
    const ServerUrl secret = parse_server(text);
    EXPECT_TRUE(secret.tls && secret.user == "a" && secret.password == "b/c?") << text;
    EXPECT_EQ(secret.address, (Address{"::1", kStandardPort})) << text;
  }
  const ServerUrl whole = parse_server("rediss://me%40here:p%3aw@[fe80::1]:7");
  EXPECT_TRUE(whole.tls);
  EXPECT_EQ(whole.user, "me@here");
  EXPECT_EQ(whole.password, "p:w");
  EXPECT_EQ(whole.address, (Address{"fe80::1", 7}));
  const ServerUrl password = parse_server("redis://:a:b@c@host");
  EXPECT_EQ(password.user, std::nullopt);
  EXPECT_EQ(password.password, "a:b@c");
  const ServerUrl user = parse_server("redis://someone@host");
  EXPECT_EQ(user.user, "someone");
  EXPECT_EQ(user.password, std::nullopt);
}

void expect_refused(auto... texts) {
  for (const char* const text : {texts...}) {
    SCOPED_TRACE(text);
    const auto message = test::message_of<std::invalid_argument>([&] { parse_server(text); });
    EXPECT_EQ(message.find("sec"), std::string::npos) << message;
  }
}

TEST(Address, RefusesOthersWithoutTheirPassword) {
  expect_refused("", ":1", "host:", "host:0", "host:65536", "host:12x", "host:-1", "::1", "[::1",
                 "[]:1", "[::1]x", "a b:1", "a/b:1", "http://:secret@host", "redis://:secret@",
                 "redis://:secret%4@host", "redis://:secret%zz@host", "redis://:secret@ho st",
                 "me:secret@host:1", ":secret@host", "secret@host", "me:sec@ret@host",
                 "redis://host:1/1", "redis://host/00", "redis://host:1/0/",
                 "redis://host:1?password=secret", "redis://host:1/0?db=0&password=secret",
                 "redis://:secret@host/0#secret", "unix:///tmp/secret", "redis://host:/0",
                 "redis:///0", "rediss://:secret@host:99999");
}

TEST(Address, RedirectionsNameHostAndPort) {
  const Address asked{"asked", 5};
  EXPECT_EQ(parse_redirection("127.0.0.1:6381", asked), (Address{"127.0.0.1", 6381}));
  EXPECT_EQ(parse_redirection("fe80::1:6381", asked), (Address{"fe80::1", 6381}));
  EXPECT_EQ(parse_redirection(":6381", asked), (Address{"asked", 6381}));
  EXPECT_EQ(parse_redirection("?:6381", asked), (Address{"asked", 6381}));
  for (const char* const text : {"", "host", "host:", "host:x", "host:0", "host:70000"}) {
    EXPECT_EQ(parse_redirection(text, asked), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nestline::cluster
