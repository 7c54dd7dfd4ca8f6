// ClusterFilter against a fake server with one part. With the module: tests/faces/cluster/system.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/cluster/descriptor.h"
#include "nestline/cluster.h"
#include "tests/faces/cluster/fake_server.h"
#include "tests/support/errors.h"

namespace nestline::cluster { namespace {

const Descriptor kDescriptor = describe({.capacity = 1000, .seed = 5}, 1);

// What a filter called "seen" says of itself; the rest by `answer`.
class OneFilter {
 public:
  explicit OneFilter(FakeServer::Answer answer)
      : answer_(std::move(answer)),
        server_([this](const Command& command) { return reply(command); }) {}

  ClusterFilter open(unsigned wait_replicas = 0) const {
    return ClusterFilter::open({.servers = {server_.url()},
                                .timeout = std::chrono::milliseconds(120'000),
                                .wait_replicas = wait_replicas},
                               "seen");
  }
  const FakeServer& server() const { return server_; }

  std::atomic<std::uint64_t> epoch = 0;
  std::atomic<std::uint64_t> id = kDescriptor.id;
  std::atomic<bool> is_there = true;

 private:
  std::string reply(const Command& command) {
    if (command[0] == "CLUSTER") return kNoCluster;
    if (command[0] == "HMGET") {
      if (!is_there) return array({"$-1\r\n", "$-1\r\n"});
      return array({bulk(std::to_string(epoch)), bulk(std::to_string(id))});
    }
    if (command[0] != "HGETALL") return answer_(command);
    if (!is_there) return array({});
    Descriptor now = kDescriptor;
    now.epoch = epoch;
    now.id = id;
    auto fields = encode_fields("seen", now);
    fields.erase(fields.begin(), fields.begin() + 2);
    fields.insert(fields.end(), {"format", "1", "state", "ready"});
    std::vector<std::string> replies;
    for (const std::string& field : fields) replies.push_back(bulk(field));
    return array(replies);
  }

  FakeServer::Answer answer_;
  FakeServer server_;
};

const std::vector<std::uint64_t> kKeys{1, 2, 3};

template <typename Call>
ClusterError cluster_error_of(Call&& call) {
  return test::error_of<ClusterError>(call).value();
}

TEST(ClusterFilter, SendsHashesAndReadsBits) {
  OneFilter filter([](const Command& command) {
    return command == Command{"CF.MEXISTSH", "seen:{p0}", command[2]} && command[2].size() == 24
               ? bulk("\x05")
               : "-ERR\r\n";
  });
  ClusterFilter seen = filter.open();
  std::vector<std::uint8_t> out(3);
  EXPECT_EQ(seen.may_contain(kKeys, out), 2U);
  EXPECT_EQ(out, (std::vector<std::uint8_t>{1, 0, 1}));
  EXPECT_EQ(seen.seed(), 5U);
  EXPECT_EQ(seen.part_of("x"), 0U);
  EXPECT_THROW(seen.may_contain(kKeys, std::span(out).first(2)), std::invalid_argument);
}

TEST(ClusterFilter, AnswersOfAnotherShapeAndLostPartsAreErrorsAndNeverANo) {
  const std::string lost = "-ERR not found\r\n";
  for (const std::string& answer :
       {bulk(""), bulk("ab"), bulk("\x08"), std::string("$-1\r\n"), std::string(":1\r\n"),
        array({bulk("a")}), std::string("+OK\r\n"), lost}) {
    OneFilter filter([&](const Command&) { return answer; });
    ClusterFilter seen = filter.open();
    std::vector<std::uint8_t> out(3);
    const auto text = test::message_of<ClusterError>([&] { seen.may_contain(kKeys, out); });
    EXPECT_NE(text.find("part 0 of 'seen'"), std::string::npos) << text;
    EXPECT_NE(text.find(filter.server().url()), std::string::npos) << text;
    EXPECT_EQ(text.find("does not have it") != std::string::npos, answer == lost) << text;
  }
}

TEST(ClusterFilter, GoesOnWithTheNewContentWhenItIsReplaced) {
  OneFilter filter([&](const Command& command) {
    return bulk(command[1] == "seen:{p0}:9" ? "\x07" : std::string(1, '\0'));
  });
  ClusterFilter seen = filter.open();
  filter.epoch = 9;
  std::vector<std::uint8_t> out(3);
  EXPECT_EQ(seen.may_contain(kKeys, out), 3U);
  EXPECT_EQ(seen.insert(kKeys), 3U);
}

// As after a failover that loses an upload: a repeated change would be a second one.
TEST(ClusterFilter, DoesNotRepeatAChangeWhenTheContentIsPutBack) {
  std::atomic<std::uint64_t>* epoch = nullptr;
  std::atomic<int> changes = 0;
  OneFilter filter([&](const Command& command) -> std::string {
    // The epoch that the batch asks for comes before this command, the next one after it.
    *epoch = 0;
    if (command[0] != "CF.MEXISTSH") ++changes;
    return bulk("\x07");
  });
  epoch = &filter.epoch;
  ClusterFilter seen = filter.open();
  filter.epoch = 9;
  std::vector<std::uint8_t> out(3);
  EXPECT_EQ(seen.may_contain(kKeys, out), 3U);
  filter.epoch = 9;
  const ClusterError error = cluster_error_of([&] { seen.erase(kKeys); });
  EXPECT_EQ(error.effect(), ClusterError::Effect::unknown) << error.what();
  EXPECT_EQ(changes, 1);
}

// The epoch was read before the exchange, the part was asked after it.
TEST(ClusterFilter, LooksForTheNewContentWhenAPartIsGone) {
  std::atomic<std::uint64_t>* epoch = nullptr;
  OneFilter filter([&](const Command& command) -> std::string {
    if (command[1] == "seen:{p0}:9") return bulk("\x07");
    *epoch = 9;
    return "-ERR not found\r\n";
  });
  epoch = &filter.epoch;
  ClusterFilter seen = filter.open();
  EXPECT_EQ(seen.erase(kKeys), 3U);
}

TEST(ClusterFilter, AFilterOfTheSameNameIsNotTheSame) {
  OneFilter filter([](const Command&) { return bulk("\x07"); });
  ClusterFilter seen = filter.open();
  filter.id = kDescriptor.id + 1;
  std::vector<std::uint8_t> out(3);
  test::expect_error<ClusterError>([&] { seen.may_contain(kKeys, out); }, "made anew");
  filter.is_there = false;
  test::expect_error<ClusterError>([&] { seen.may_contain(kKeys, out); }, "removed");
  test::expect_error<ClusterError>([&] { filter.open(); }, "there is none");
}

TEST(ClusterFilter, SaysWhatIsWrongWithTheModule) {
  const std::string unknown = "-ERR unknown command 'CF.MEXISTSH', with args beginning with: \r\n";
  const std::string known = array({bulk("x")}), nil = "*-1\r\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {array({nil, nil}), "has not loaded"},
      {array({known, nil}), "has another module"},
      {array({known, known}), "has an older version"}};
  for (const auto& [information, words] : cases) {
    OneFilter filter([&, information = information](const Command& command) {
      return command[0] == "COMMAND" ? information : unknown;
    });
    ClusterFilter seen = filter.open();
    test::expect_error<ClusterError>([&] { (void)seen.insert(kKeys); }, words);
  }
}

// A removal that ran out of memory, repeated, would remove copies that other keys need.
TEST(ClusterFilter, MemoryThatIsFullIsNamedAndARemovalMayBeHalfDone) {
  OneFilter filter([](const Command& command) {
    return command[0] == "CF.MDELH"
               ? "-ERR Insufficient memory\r\n"
               : "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  });
  ClusterFilter seen = filter.open();
  const ClusterError error = cluster_error_of([&] { (void)seen.insert(kKeys); });
  EXPECT_EQ(error.effect(), ClusterError::Effect::none);
  EXPECT_NE(std::string(error.what()).find("maxmemory"), std::string::npos) << error.what();
  EXPECT_EQ(cluster_error_of([&] { seen.erase(kKeys); }).effect(), ClusterError::Effect::unknown);
}

TEST(ClusterFilter, WaitsForReplicasAfterChangesOnly) {
  std::atomic<int> replicas = 2;
  OneFilter filter([&](const Command& command) {
    if (command[0] == "WAIT") return ":" + std::to_string(replicas) + "\r\n";
    return bulk("\x07");
  });
  ClusterFilter seen = filter.open(2);
  std::vector<std::uint8_t> out(3);
  EXPECT_EQ(seen.may_contain(kKeys, out), 3U);
  EXPECT_EQ(filter.server().seen("WAIT"), 0U);
  EXPECT_EQ(seen.insert(kKeys), 3U);
  EXPECT_EQ(filter.server().seen("WAIT"), 1U);
  replicas = 1;
  const ClusterError error = cluster_error_of([&] { (void)seen.insert(kKeys); });
  EXPECT_EQ(error.effect(), ClusterError::Effect::unknown);
  EXPECT_NE(std::string(error.what()).find("only 1 of 2"), std::string::npos) << error.what();
}

TEST(ClusterFilter, AMergeDoesNotMakeAPartThatIsMissing) {
  OneFilter filter([](const Command& command) -> std::string {
    if (command[0] == "EXISTS") return ":0\r\n";
    if (command[0] == "EXEC") return array({":0\r\n", "+OK\r\n"});
    return "+OK\r\n";
  });
  ClusterFilter seen = filter.open(), other = filter.open();
  test::expect_error<ClusterError>([&] { seen.merge(other); }, "does not have it");
  EXPECT_EQ(filter.server().seen("CF.MERGE"), 0U);
}

TEST(ClusterFilter, AFitWaitsForReplicasAndNamesThePartThatFails) {
  std::string reply = "+OK\r\n";
  OneFilter filter([&](const Command& command) -> std::string {
    if (command[0] == "WAIT") return ":2\r\n";
    return command[0] == "CF.COMPACT" ? reply : bulk("\x07");
  });
  ClusterFilter seen = filter.open(2);
  seen.fit();
  EXPECT_EQ(filter.server().seen("CF.COMPACT"), 1U);
  EXPECT_EQ(filter.server().seen("WAIT"), 1U);
  reply = "-OOM no memory\r\n";
  test::expect_error<ClusterError>([&] { seen.fit(); }, "OOM no memory");
  test::expect_error<ClusterError>([&] { seen.fit(); }, "part 0 of 'seen'");
}

// A server that carries out what an upload of one empty part sends, and loses the answer to one
// EXEC that it has carried out. What it does after that is the test's choice.
class LosesAnswers {
 public:
  LosesAnswers(unsigned lost, bool goes_down) : lost_(lost), goes_down_(goes_down) {
    const auto fields = encode_fields("seen", kDescriptor);
    for (std::size_t i = 2; i < fields.size(); i += 2) hash_[fields[i]] = fields[i + 1];
    hash_["format"] = "1";
    hash_["state"] = "ready";
  }

  void upload(std::chrono::milliseconds timeout) {
    ClusterFilter seen = ClusterFilter::open(
        {.servers = {server_.url()}, .timeout = timeout, .wait_replicas = 1}, "seen");
    seen.upload(std::vector<std::uint64_t>{});
  }
  unsigned execs() const { return execs_; }
  bool has_new_content() const { return has_new_content_; }
  bool waited_for_content() const { return waited_for_content_; }

 private:
  std::string field(const std::string& name) {
    return hash_.contains(name) ? bulk(hash_[name]) : "$-1\r\n";
  }

  std::string change(const Command& command) {
    for (std::size_t i = 2; i < command.size(); i += 2) {
      if (command[0] == "HDEL") hash_.erase(command[i]);
      if (command[0] == "HSET") hash_[command[i]] = command[i + 1];
      if (command[0] == "HSET" && command[i] == "epoch") has_new_content_ = wrote_epoch_ = true;
    }
    return ":1\r\n";
  }

  std::string exec() {
    std::vector<std::string> replies;
    for (const Command& each : std::exchange(queued_, {})) replies.push_back(change(each));
    in_multi_ = false;
    if (++execs_ != lost_) return array(replies);
    is_down_ = goes_down_;
    wrote_epoch_ = false;  // by a connection that is gone
    return kEnd;
  }

  std::string reply(const Command& command) {
    const std::string& name = command[0];
    if (name == "CLUSTER") return kNoCluster;
    if (is_down_) return "-CLUSTERDOWN not now\r\n";
    if (name == "EXEC") return exec();
    if (in_multi_) queued_.push_back(command);
    if (in_multi_) return "+QUEUED\r\n";
    in_multi_ = name == "MULTI";
    if (name == "HSET" || name == "HDEL") return change(command);
    if (name == "TIME") return array({bulk("1000"), bulk("0")});
    if (name == "UNLINK") return ":1\r\n";
    if (name == "CF.INFO") return array({bulk("Number of items inserted"), ":0\r\n"});
    if (name == "ROLE") return array({bulk("master"), ":1\r\n", array({bulk("replica")})});
    if (name == "WAIT" && wrote_epoch_) waited_for_content_ = true;
    if (name == "WAIT") return ":1\r\n";
    std::vector<std::string> replies;
    if (name == "HMGET") {
      for (std::size_t i = 2; i < command.size(); ++i) replies.push_back(field(command[i]));
      return array(replies);
    }
    if (name != "HGETALL") return "+OK\r\n";
    for (const auto& [key, value] : hash_) {
      replies.push_back(bulk(key));
      replies.push_back(bulk(value));
    }
    return array(replies);
  }

  const unsigned lost_;
  const bool goes_down_;
  std::map<std::string, std::string> hash_;
  std::vector<Command> queued_;
  bool in_multi_ = false, is_down_ = false, wrote_epoch_ = false;
  std::atomic<unsigned> execs_ = 0;
  std::atomic<bool> has_new_content_ = false, waited_for_content_ = false;
  FakeServer server_{[this](const Command& command) { return reply(command); }};
};

TEST(ClusterFilter, AnUploadEndsWellThoughTheAnswerToAnyExecIsLost) {
  LosesAnswers undisturbed(0, false);
  undisturbed.upload(std::chrono::milliseconds(120'000));
  ASSERT_GE(undisturbed.execs(), 2U);
  EXPECT_TRUE(undisturbed.waited_for_content());
  for (unsigned lost = 1; lost <= undisturbed.execs(); ++lost) {
    LosesAnswers server(lost, false);
    server.upload(std::chrono::milliseconds(120'000));
    EXPECT_TRUE(server.has_new_content()) << lost;
    EXPECT_TRUE(server.waited_for_content()) << lost;
  }
}

TEST(ClusterFilter, AnUploadEndsWithWhatItsKeysThrow) {
  OneFilter filter([](const Command&) { return std::string("+OK\r\n"); });
  ClusterFilter seen = filter.open();
  int calls = 0;
  const auto next = [&]() -> KeySpan {
    if (++calls == 3) throw std::runtime_error("no more");
    return kKeys;
  };
  EXPECT_EQ(test::message_of<std::runtime_error>([&] { seen.upload(next); }), "no more");
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(filter.server().seen("CF.LOADCHUNK"), 0U);
  EXPECT_EQ(filter.server().seen("MULTI"), 0U);
}

TEST(ClusterFilter, AnUploadThatMayBeTheContentHasAnUnknownEffect) {
  for (unsigned lost = 1; lost <= 2; ++lost) {
    LosesAnswers server(lost, true);
    SCOPED_TRACE(lost);
    const ClusterError error =
        cluster_error_of([&] { server.upload(std::chrono::milliseconds(200)); });
    EXPECT_EQ(error.effect() == ClusterError::Effect::unknown, server.has_new_content())
        << error.what();
  }
}

TEST(ClusterFilter, TooFewPartsForACluster) {
  std::unique_ptr<FakeServer> server;
  server = std::make_unique<FakeServer>([&](const Command& command) -> std::string {
    if (command == Command{"CLUSTER", "SLOTS"}) {
      return slots_reply({server->address(), {"127.0.0.1", 1}});
    }
    return array({});
  });
  const ClusterOptions options{.servers = {server->url()},
                               .timeout = std::chrono::milliseconds(120'000)};
  EXPECT_THROW(ClusterFilter::create(options, "seen", {.capacity = 10}, 7), std::invalid_argument);
  EXPECT_THROW(ClusterFilter::create(options, "seen", {.capacity = 10}, 16385),
               std::invalid_argument);
  EXPECT_EQ(server->seen("HSETNX"), 0U);
  // With enough of them it goes on and takes the name.
  EXPECT_THROW(ClusterFilter::create(options, "seen", {.capacity = 10}, 8), ClusterError);
  EXPECT_EQ(server->seen("HSETNX"), 1U);
}

TEST(ClusterFilter, AskingForNothingIsNothing) {
  OneFilter filter([](const Command&) { return "-ERR not asked\r\n"; });
  ClusterFilter seen = filter.open();
  EXPECT_EQ(seen.may_contain(std::vector<std::uint64_t>{}, {}), 0U);
  EXPECT_EQ(seen.insert(std::vector<std::string>{}), 0U);
}

}  // namespace
}  // namespace nestline::cluster
