// Replies, the map of slots, descriptors, and the bits of an answer: also of hostile servers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/engine/place/layout.h"
#include "lib/faces/cluster/descriptor.h"
#include "lib/faces/cluster/reply.h"
#include "lib/faces/cluster/slot_map.h"
#include "lib/faces/cluster/transfer.h"
#include "lib/faces/embed/value/sub_filter_plan.h"
#include "tests/faces/cluster/fake_server.h"

namespace nestline::cluster { namespace {

Reply reply_of(const std::string& bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  return reader.next().value();
}

TEST(Replies, AreReadHoweverTheirBytesArrive) {
  const std::string bytes =
      "+OK\r\n-ERR no\r\n:-7\r\n$-1\r\n$0\r\n\r\n*2\r\n$3\r\na\r\n\r\n*1\r\n:1\r\n";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    ReplyReader reader;
    std::vector<Reply> replies;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(bytes.substr(at, step));
      while (auto reply = reader.next()) replies.push_back(*reply);
    }
    ASSERT_EQ(replies.size(), 6U);
    EXPECT_EQ(replies[0].text, "OK");
    EXPECT_TRUE(replies[1].is_error("ERR"));
    EXPECT_FALSE(replies[1].is_error("ER"));
    EXPECT_EQ(replies[2].integer, -7);
    EXPECT_EQ(replies[3].kind, Reply::Kind::nil);
    EXPECT_TRUE(replies[4].is_bulk());
    EXPECT_EQ(replies[5].elements[0].text, "a\r\n");
    EXPECT_EQ(replies[5].elements[1].elements[0].integer, 1);
  }
}

TEST(Replies, GarbageIsRefused) {
  for (const std::string text : {"hello\r\n", "?1\r\n", "\x80\x80\r\n", "HTTP/1.1 400 Bad\r\n"}) {
    ReplyReader reader;
    reader.feed(text);
    EXPECT_THROW(reader.next(), BadReply) << text;
  }
}

TEST(Replies, CommandsAreArraysOfStrings) {
  EXPECT_EQ(encode_command({"GET", ""}), "*2\r\n$3\r\nGET\r\n$0\r\n\r\n");
  EXPECT_EQ(encode_command(std::vector<std::string>{"GET", "\r\n"}),
            "*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n");
  EXPECT_EQ(encode_command_before({"SET", "k"}, 12), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$12\r\n");
}

TEST(Slots, AreThoseOfTheSpecification) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3U);
  EXPECT_EQ(slot_of(""), 0U);
  EXPECT_EQ(slot_of("seen:{123456789}:7"), 0x31c3U);
  EXPECT_EQ(slot_of("{123456789}{x}"), 0x31c3U);
  // Braces with nothing between them, or without an end, are letters as any other.
  EXPECT_EQ(slot_of("foo{}{bar}"), 8363U);
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_NE(slot_of("{123456789"), 0x31c3U);
}

TEST(SlotMap, NamesThePrimaries) {
  const Address from{"from", 9}, a{"10.0.0.1", 7000}, b{"10.0.0.2", 7001};
  const auto map = SlotMap::parse(reply_of(slots_reply({a, b})), from);
  ASSERT_TRUE(map);
  EXPECT_EQ(*map->node_of(0), a);
  EXPECT_EQ(*map->node_of(8191), a);
  EXPECT_EQ(*map->node_of(8192), b);
  EXPECT_EQ(*map->node_of(16383), b);
  EXPECT_EQ(map->nodes(), (std::vector<Address>{a, b}));
}

TEST(SlotMap, AnUnknownHostIsThatOfTheReply) {
  const Address from{"from", 9};
  for (const std::string& host : {bulk(""), bulk("?"), std::string("$-1\r\n")}) {
    const auto map = SlotMap::parse(
        reply_of(array({array({":0\r\n", ":5\r\n", array({host, ":7000\r\n"})})})), from);
    ASSERT_TRUE(map) << host;
    EXPECT_EQ(*map->node_of(5), (Address{"from", 7000}));
    EXPECT_EQ(map->node_of(6), nullptr);
  }
}

TEST(SlotMap, MovesSlots) {
  SlotMap map(Address{"a", 1});
  map.set(7, {"b", 2});
  EXPECT_EQ(*map.node_of(7), (Address{"b", 2}));
  EXPECT_EQ(*map.node_of(8), (Address{"a", 1}));
  // As many nodes as slots.
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    map.set(slot, {"n", static_cast<std::uint16_t>(slot + 1)});
  }
  for (unsigned slot = 0; slot < kSlots; ++slot) EXPECT_EQ(map.node_of(slot)->port, slot + 1);
}

TEST(SlotMap, HostileRepliesAreRefused) {
  const std::string node = array({bulk("h"), ":1\r\n"});
  const auto range = [&](const std::string& low, const std::string& high, const std::string& at) {
    return array({":" + low + "\r\n", ":" + high + "\r\n", at});
  };
  for (const std::string& bytes :
       {std::string("+OK\r\n"), std::string("$-1\r\n"), array({}), array({bulk("x")}),
        array({array({})}), array({array({":0\r\n", ":1\r\n"})}), array({range("-1", "1", node)}),
        array({range("0", "16384", node)}), array({range("2", "1", node)}),
        array({range("0", "9", node), range("9", "10", node)}), array({range("0", "1", bulk("h"))}),
        array({range("0", "1", array({bulk("h")}))}),
        array({range("0", "1", array({bulk("h"), bulk("1")}))}),
        array({range("0", "1", array({bulk("h"), ":0\r\n"}))}),
        array({range("0", "1", array({bulk("h"), ":65536\r\n"}))}),
        array({array({bulk("0"), bulk("1"), node})})}) {
    EXPECT_FALSE(SlotMap::parse(reply_of(bytes), {"from", 1})) << bytes;
  }
}

TEST(Bits, AreSpreadToTheirPositions) {
  std::vector<std::uint32_t> positions{3, 0, 9, 4, 8, 7, 6, 5, 2, 1};
  std::vector<std::uint8_t> out(10, 7);
  // Keys 0, 3, 8 of the part.
  EXPECT_EQ(spread_bits("\x09\x01", positions, out), 3U);
  EXPECT_EQ(out, (std::vector<std::uint8_t>{0, 0, 1, 1, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(spread_bits("\x09\x01", positions, {}), 3U);
  EXPECT_EQ(spread_bits("", {}, {}), 0U);
}

TEST(Bits, OfAnotherLengthDoNotFit) {
  std::vector<std::uint32_t> positions(10);
  std::vector<std::uint8_t> out(10);
  for (const std::string bits : {"", "a", "abc", "a\x04"}) {  // the last has a bit too many
    EXPECT_FALSE(spread_bits(bits, positions, out)) << bits;
  }
}

std::vector<std::string> fields_of(const Descriptor& descriptor) {
  std::vector<std::string> fields = encode_fields("name", descriptor);
  fields.erase(fields.begin(), fields.begin() + 2);
  fields.insert(fields.end(), {"format", std::string(descriptor.format()), "state", "ready",
                               "left:5", "77", "unknown", "x"});
  return fields;
}

Reply fields_reply(const std::vector<std::string>& fields) {
  std::vector<std::string> replies;
  for (const std::string& field : fields) replies.push_back(bulk(field));
  return reply_of(array(replies));
}

TEST(Descriptors, AreReadAsTheyWereWritten) {
  const Descriptor made =
      describe({.capacity = 1'000'000, .fpr = 0.1 + 0.2, .seed = 0xffffffffffffffff}, 16384);
  const FoundDescriptor found = decode_fields(fields_reply(fields_of(made)));
  EXPECT_TRUE(found.exists && found.has_format && found.is_ready && found.has_parts);
  EXPECT_EQ(found.descriptor, made);
  EXPECT_EQ(found.left, (std::map<std::uint64_t, std::uint64_t>{{5, 77}}));
  EXPECT_FALSE(decode_fields(reply_of(array({}))).exists);
}

// Clients that do not know the field have to refuse it, by its format.
TEST(Descriptors, OfWhatTurnsOverHaveAFormatOfTheirOwn) {
  const Descriptor plain = describe({.capacity = 1000}, 4);
  const auto has_field = [](const std::vector<std::string>& fields) {
    return std::ranges::find(fields, "turns_over") != fields.end();
  };
  EXPECT_EQ(plain.format(), "1");
  EXPECT_FALSE(has_field(fields_of(plain)));
  EXPECT_FALSE(part_settings(plain, 1000).turns_over);
  const Descriptor turns = describe({.capacity = 1000, .turns_over = true}, 4);
  EXPECT_EQ(turns.format(), "2");
  EXPECT_TRUE(has_field(fields_of(turns)));
  EXPECT_TRUE(part_settings(turns, 1000).turns_over);
  const FoundDescriptor found = decode_fields(fields_reply(fields_of(turns)));
  EXPECT_TRUE(found.has_format && found.is_ready);
  EXPECT_EQ(found.descriptor, turns);
  // In format 1 the field is an unknown one.
  auto fields = fields_of(plain);
  fields.insert(fields.end(), {"turns_over", "1"});
  EXPECT_EQ(decode_fields(fields_reply(fields)).descriptor, plain);
  fields = fields_of(turns);
  *std::ranges::find(fields, "2") = "3";
  EXPECT_FALSE(decode_fields(fields_reply(fields)).has_format);
}

TEST(Descriptors, WithoutAFieldOrWithAWrongOneAreNotReady) {
  for (const bool turns_over : {false, true}) {
    const auto whole = fields_of(describe({.capacity = 1000, .turns_over = turns_over}, 4));
    for (std::size_t i = 0; i + 4 < whole.size(); i += 2) {  // all but the last two are needed
      if (whole[i] == "created_by") continue;
      auto fields = whole;
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i),
                   fields.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      EXPECT_FALSE(decode_fields(fields_reply(fields)).is_ready) << whole[i];
      for (const char* const value : {"", "-1", "x", "1x", "99999999999999999999999"}) {
        fields = whole;
        fields[i + 1] = value;
        EXPECT_FALSE(decode_fields(fields_reply(fields)).is_ready) << whole[i] << " " << value;
      }
    }
  }
}

TEST(Descriptors, OptionsOutOfBoundsAreRefused) {
  for (const Options& options :
       {Options{}, Options{.capacity = 1, .fpr = 1}, Options{.capacity = 1, .fpr = 1e-5},
        Options{.capacity = 1, .bits = 9}, Options{.capacity = 1, .fpr = 0.1, .bits = 8},
        Options{.capacity = std::uint64_t{1} << 31}}) {
    EXPECT_THROW(describe(options, 1), std::invalid_argument);
  }
  EXPECT_THROW(describe({.capacity = 1}, 0), std::invalid_argument);
  EXPECT_THROW(describe({.capacity = 1}, 16385), std::invalid_argument);
  for (const char* const name : {"", "{", "a}b", "{x}y"}) {
    EXPECT_THROW(check_name(name), std::invalid_argument) << name;
  }
  EXPECT_NO_THROW(check_name("a name: of-bytes"));
}

TEST(Descriptors, BitsChooseTheWidthOfThePart) {
  for (const int bits : kFilterWidths) {
    for (const std::uint64_t max_capacity : {std::uint64_t{0}, std::uint64_t{1'000'000}}) {
      Options options = {.capacity = 1'000'000, .bits = bits, .max_capacity = max_capacity};
      if (redis::needs_all_widths(bits) && max_capacity == 0) {
        EXPECT_THROW(describe(options, 8), std::invalid_argument);
        continue;
      }
      for (const bool turns_over : {false, true}) {
        options.turns_over = turns_over;
        const Descriptor made = describe(options, 8);
        const redis::Settings settings = part_settings(made, made.capacity);
        EXPECT_EQ(settings.expansion, max_capacity == 0 ? 1 : 0);
        EXPECT_EQ(redis::plan_generation(settings, 0, settings.capacity).bits, bits);
      }
    }
  }
}

TEST(Descriptors, SeedsAndIdsAreDrawn) {
  const Descriptor one = describe({.capacity = 1}, 1), other = describe({.capacity = 1}, 1);
  EXPECT_NE(one.seed, other.seed);
  EXPECT_NE(one.id, other.id);
  EXPECT_EQ(describe({.capacity = 1, .seed = 5}, 1).seed, 5U);
}

TEST(Descriptors, PartsOfAnEpochHaveItInTheirNames) {
  EXPECT_EQ(part_key("seen", 17, 0), "seen:{p17}");
  EXPECT_EQ(part_key("seen", 17, 9), "seen:{p17}:9");
}

}  // namespace
}  // namespace nestline::cluster
