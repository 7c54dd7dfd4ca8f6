// The client against servers that move slots, put off, hang, break off and lie. A test that expects
// an answer gives the client minutes; one that expects it to give up, little.
#include "lib/faces/cluster/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/faces/cluster/fake_server.h"
#include "tests/support/errors.h"

namespace nestline::cluster { namespace {

constexpr std::chrono::milliseconds kLong{120'000};
constexpr std::chrono::milliseconds kShort{300};
constexpr unsigned kLowSlot = 1, kHighSlot = 16000;
const std::string kOk = "+OK\r\n";

ClusterOptions options_for(const FakeServer& server, std::chrono::milliseconds timeout = kLong) {
  return {.servers = {server.url()}, .timeout = timeout};
}

Request request_of(std::string name, unsigned slot = kLowSlot) {
  Request request;
  request.label = "the test";
  request.slot = slot;
  request.commands = encode_command({name, "key"});
  return request;
}

Request change_of(std::string name) {
  Request request = request_of(std::move(name));
  request.changes = true;
  return request;
}

Answer ask(Client& client, const Request& request) {
  return std::move(client.run({&request, 1}).front());
}

// One server, in no cluster, that answers GET and SET by `answer`.
FakeServer::Answer alone(FakeServer::Answer answer) {
  return [answer = std::move(answer)](const Command& command) {
    return command[0] == "CLUSTER" ? kNoCluster : answer(command);
  };
}

ClusterError error_of(Client& client, const Request& request) {
  return test::error_of<ClusterError>([&] { ask(client, request); }).value();
}

// The request fails with these words, and nothing was changed.
std::string expect_harmless_error(Client& client, const Request& request,
                                  const std::string& words) {
  const ClusterError error = error_of(client, request);
  EXPECT_EQ(error.effect(), ClusterError::Effect::none);
  EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  return error.what();
}

TEST(Client, AnswersComeInTheOrderOfTheRequests) {
  FakeServer server(alone([](const Command& command) { return bulk(command[0]); }));
  Client client(options_for(server));
  std::vector<Request> requests;
  for (int i = 0; i < 1000; ++i) requests.push_back(request_of("N" + std::to_string(i)));
  const auto answers = client.run(requests);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].reply.text, "N" + std::to_string(i));
  }
  EXPECT_EQ(server.connections(), 1U);
}

TEST(Client, SendsPayloadsThatAreLongerThanTheBuffersOfTheSystem) {
  FakeServer server(alone([](const Command& command) { return bulk(command[1]); }));
  Client client(options_for(server));
  const std::string payload(20'000'000, 'x');
  Request request;
  request.label = "the test";
  request.commands = encode_command_before({"ECHO"}, payload.size());
  request.payload = payload;
  EXPECT_EQ(ask(client, request).reply.text, payload);
}

TEST(Client, FollowsMovedAndRemembersIt) {
  FakeServer second([](const Command&) { return bulk("second"); });
  std::atomic<bool> has_moved = false;
  std::unique_ptr<FakeServer> first;
  first = std::make_unique<FakeServer>([&](const Command& command) -> std::string {
    if (command[0] == "CLUSTER") {
      // The node that has given the slot away knows it at once.
      return slots_reply(has_moved ? std::vector{second.address(), second.address()}
                                   : std::vector{first->address()});
    }
    has_moved = true;
    return "-MOVED 1 " + second.url() + "\r\n";
  });
  Client client(options_for(*first));
  EXPECT_EQ(ask(client, change_of("SET")).reply.text, "second");
  EXPECT_EQ(ask(client, change_of("SET")).reply.text, "second");
  EXPECT_EQ(first->seen("SET"), 1U);
  EXPECT_EQ(second.seen("SET"), 2U);
}

TEST(Client, FollowsAskOnceWithAsking) {
  FakeServer second(
      [](const Command& command) { return command[0] == "ASKING" ? kOk : bulk("2"); });
  std::atomic<int> asked = 0;
  FakeServer first(alone([&](const Command&) {
    return asked++ == 0 ? "-ASK 1 " + second.url() + "\r\n" : bulk("1");
  }));
  Client client(options_for(first));
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "2");
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "1");
  EXPECT_EQ(second.names(), (std::vector<std::string>{"ASKING", "GET"}));
}

TEST(Client, SlotsGoToTheirNodes) {
  std::unique_ptr<FakeServer> first, second;
  const auto answer = [&](const std::string& name) {
    return [&, name](const Command& command) {
      return command[0] == "CLUSTER" ? slots_reply({first->address(), second->address()})
                                     : bulk(name);
    };
  };
  second = std::make_unique<FakeServer>(answer("second"));
  first = std::make_unique<FakeServer>(answer("first"));
  Client client(options_for(*first));
  const std::vector<Request> requests{request_of("GET", kHighSlot), request_of("GET", kLowSlot)};
  const auto answers = client.run(requests);
  EXPECT_EQ(answers[0].reply.text, "second");
  EXPECT_EQ(answers[1].reply.text, "first");
}

class PutOff : public testing::TestWithParam<const char*> {};

TEST_P(PutOff, IsRepeatedUntilItIsCarriedOut) {
  std::atomic<int> asked = 0;
  FakeServer server(alone([&](const Command&) {
    return ++asked < 4 ? "-" + std::string(GetParam()) + " not now\r\n" : kOk;
  }));
  Client client(options_for(server));
  EXPECT_EQ(ask(client, change_of("SET")).reply.text, "OK");
  EXPECT_EQ(server.seen("SET"), 4U);
}

// Where the last of the tries has not been answered in time, as on a busy machine, a call says
// that: then all of them are made again with more time.
TEST_P(PutOff, EndsAfterTheTimeoutWithNothingChanged) {
  FakeServer server(
      alone([&](const Command&) { return "-" + std::string(GetParam()) + " not now\r\n"; }));
  std::vector<ClusterError> errors;
  const auto were_answered = [&] {
    return std::ranges::none_of(errors, [](const ClusterError& error) {
      return std::string(error.what()).find("has not answered") != std::string::npos;
    });
  };
  auto timeout = kShort;
  do {
    ASSERT_LT(timeout, std::chrono::minutes(1));
    Client client(options_for(server, timeout));
    errors.clear();
    for (int i = 0; i < 3; ++i) errors.push_back(error_of(client, change_of("SET")));
    timeout *= 2;
  } while (!were_answered());
  for (const ClusterError& error : errors) {
    EXPECT_EQ(error.effect(), ClusterError::Effect::none);
    for (const std::string& part :
         {std::string("the test"), server.url(), std::string(GetParam())}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PutOff,
                         testing::Values("TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN",
                                         "READONLY", "BUSY"));

TEST(Client, AHangingServerEndsTheCallAndItsLateAnswerIsNotTaken) {
  std::atomic<int> asked = 0;
  FakeServer server(
      alone([&](const Command& command) { return asked++ == 0 ? kHang : bulk(command[0]); }));
  Client client(options_for(server, kShort));
  expect_harmless_error(client, request_of("GET"), "has not answered");
  EXPECT_EQ(client.run(std::vector{request_of("OTHER")}).front().reply.text, "OTHER");
  EXPECT_EQ(server.connections(), 2U);
}

TEST(Client, AChangeWithoutAnswerHasAnUnknownEffect) {
  for (const std::string& answer : {kHang, kEnd, "+O" + kEnd, std::string("?what\r\n")}) {
    FakeServer server(alone([&](const Command&) { return answer; }));
    Client client(options_for(server, kShort));
    EXPECT_EQ(error_of(client, change_of("SET")).effect(), ClusterError::Effect::unknown) << answer;
    EXPECT_EQ(server.seen("SET"), 1U);
    EXPECT_TRUE(client.has_changed());
    client.forget();
    EXPECT_FALSE(client.has_changed());
  }
}

TEST(Client, AnErrorAfterAChangeOfTheSameCallHasAnUnknownEffect) {
  FakeServer server(alone(
      [](const Command& command) { return command[0] == "SET" ? kOk : "-TRYAGAIN later\r\n"; }));
  Client client(options_for(server, kShort));
  const std::vector<Request> requests{change_of("SET"), change_of("OTHER")};
  const auto error = test::error_of<ClusterError>([&] { client.run(requests); });
  EXPECT_EQ(error.value().effect(), ClusterError::Effect::unknown);
}

TEST(Client, AQuestionIsRepeatedAfterALostConnection) {
  for (const std::string& first :
       {kEnd, "$5\r\nha" + kEnd, std::string("?garbage\r\n"), ":1x\r\n" + kEnd}) {
    std::atomic<int> asked = 0;
    FakeServer server(alone([&](const Command&) { return asked++ < 3 ? first : bulk("all"); }));
    Client client(options_for(server));
    EXPECT_EQ(ask(client, request_of("GET")).reply.text, "all");
    EXPECT_EQ(server.seen("GET"), 4U);
  }
}

TEST(Client, AnIdleConnectionThatWasEndedDoesNotHarmAChange) {
  std::atomic<bool> ends = true;
  FakeServer server(alone([&](const Command&) { return ends ? bulk("x") + kEnd : kOk; }));
  Client client(options_for(server));
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "x");
  ends = false;
  while (server.ended() == 0) std::this_thread::yield();
  EXPECT_EQ(ask(client, change_of("SET")).reply.text, "OK");
}

TEST(Client, NobodyListensAtTheAddress) {
  const OwnPort gone;
  const std::string address = to_text(gone.address());
  Client client({.servers = {address}, .timeout = kShort});
  expect_harmless_error(client, change_of("SET"), address);
}

TEST(Client, OneOfTheNamedServersIsEnough) {
  const OwnPort gone;
  FakeServer hangs([](const Command&) { return kHang; });
  FakeServer server(alone([](const Command&) { return bulk("here"); }));
  Client client({.servers = {to_text(gone.address()), hangs.url(), server.url()},
                 .timeout = std::chrono::milliseconds(12'000)});
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "here");
}

TEST(Client, PasswordsComeFirst) {
  FakeServer server([](const Command& command) -> std::string {
    if (command[0] == "AUTH") {
      return command == Command{"AUTH", "me", "secret"} ? kOk : "-WRONGPASS no such user\r\n";
    }
    return command[0] == "CLUSTER" ? kNoCluster : bulk("in");
  });
  Client right({.servers = {"redis://me:secret@" + server.url()}, .timeout = kLong});
  EXPECT_EQ(ask(right, request_of("GET")).reply.text, "in");
  Client wrong({.servers = {server.url()}, .password = "guess", .timeout = kLong});
  const std::string text = expect_harmless_error(wrong, change_of("SET"), "WRONGPASS");
  EXPECT_EQ(text.find("guess"), std::string::npos);
  EXPECT_EQ(server.seen("SET"), 0U);
}

TEST(Client, AServerThatWantsAPasswordIsNamed) {
  FakeServer server([](const Command&) { return "-NOAUTH Authentication required.\r\n"; });
  Client client(options_for(server));
  expect_harmless_error(
      client, request_of("GET"),
      "wants a password; nestline cluster takes it from NESTLINE_CLUSTER_PASSWORD");
}

TEST(Client, OtherErrorsAreAnswers) {
  FakeServer server(alone([](const Command&) { return "-ERR not found\r\n"; }));
  Client client(options_for(server));
  EXPECT_TRUE(ask(client, change_of("SET")).reply.is_error("ERR"));
  EXPECT_FALSE(client.has_changed());
}

// The server may run out of memory in the middle of a batch: then some of it was done.
TEST(Client, AnErrorInTheMiddleOfAChangeHasAnUnknownEffect) {
  FakeServer server(alone([](const Command&) { return "-ERR Insufficient memory\r\n"; }));
  Client client(options_for(server));
  EXPECT_TRUE(ask(client, change_of("CF.MDELH")).reply.is_error("ERR"));
  EXPECT_TRUE(client.has_changed());
  client.forget();
  Request aside = change_of("CF.LOADCHUNK");
  aside.aside = true;
  EXPECT_TRUE(ask(client, aside).reply.is_error("ERR"));
  EXPECT_FALSE(client.has_changed());
}

TEST(Client, ABlockedQuestionIsRepeatedWhenItsServerBecomesAReplica) {
  std::atomic<int> asked = 0;
  const std::string unblocked = "-UNBLOCKED force unblock from blocking operation\r\n";
  FakeServer server(alone([&](const Command&) { return asked++ == 0 ? unblocked : bulk("x"); }));
  Client client(options_for(server));
  EXPECT_EQ(ask(client, request_of("CF.MEXISTSH")).reply.text, "x");
  asked = 0;
  EXPECT_TRUE(ask(client, change_of("WAIT")).reply.is_error("UNBLOCKED"));
  EXPECT_TRUE(client.has_changed());
}

// A replica has taken the place of a primary whose machine stands still: the others know it.
TEST(Client, FollowsAFailoverAwayFromANodeThatStandsStill) {
  std::unique_ptr<FakeServer> frozen, promoted;
  std::atomic<bool> stands_still = false;
  promoted = std::make_unique<FakeServer>([&](const Command& command) {
    if (command[0] != "CLUSTER") return bulk("promoted");
    return slots_reply(stands_still ? std::vector{promoted->address(), promoted->address()}
                                    : std::vector{frozen->address(), promoted->address()});
  });
  frozen = std::make_unique<FakeServer>([&](const Command& command) {
    if (stands_still) return kHang;
    return command[0] == "CLUSTER" ? slots_reply({frozen->address(), promoted->address()})
                                   : bulk("frozen");
  });
  Client client(options_for(*frozen, std::chrono::milliseconds(6000)));
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "frozen");
  stands_still = true;
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "promoted");
  EXPECT_EQ(ask(client, change_of("SET")).reply.text, "promoted");
  EXPECT_EQ(frozen->seen("SET"), 0U);
}

TEST(Client, AChangeThatANodeHasTakenBeforeItStoodStillHasAnUnknownEffect) {
  std::unique_ptr<FakeServer> frozen, promoted;
  std::atomic<bool> stands_still = false;
  promoted = std::make_unique<FakeServer>([&](const Command& command) {
    if (command[0] != "CLUSTER") return bulk("promoted");
    return slots_reply({promoted->address()});
  });
  frozen = std::make_unique<FakeServer>([&](const Command& command) {
    if (command[0] == "SET") stands_still = true;
    if (stands_still) return kHang;
    return slots_reply({frozen->address(), promoted->address()});
  });
  Client client(options_for(*frozen, std::chrono::milliseconds(4000)));
  EXPECT_EQ(error_of(client, change_of("SET")).effect(), ClusterError::Effect::unknown);
  EXPECT_EQ(ask(client, change_of("SET")).reply.text, "promoted");
}

TEST(Client, EachCommandOfARequestIsAskingButATransactionOnce) {
  FakeServer second([](const Command& command) {
    return command[0] == "ASKING" || command[0] == "WATCH" ? kOk : bulk("2");
  });
  FakeServer first(alone([&](const Command&) { return "-ASK 1 " + second.url() + "\r\n"; }));
  Client client(options_for(first));
  Request look = request_of("WATCH");
  look.commands += encode_command({"HMGET", "key", "field"});
  look.replies = 2;
  const Answer found = ask(client, look);
  EXPECT_EQ(found.reply.text, "2");
  EXPECT_TRUE(found.asking);
  Request change = request_of("MULTI");
  change.commands = encode_command({"MULTI"}) + encode_command({"SET"}) + encode_command({"EXEC"});
  change.replies = 3;
  change.only_on = found.connection;
  change.node = found.node;
  change.asking = found.asking;
  EXPECT_EQ(ask(client, change).reply.text, "2");
  EXPECT_EQ(second.names(), (std::vector<std::string>{"ASKING", "WATCH", "ASKING", "HMGET",
                                                      "ASKING", "MULTI", "SET", "EXEC"}));
}

TEST(Client, AServerThatEndsALoginIsNamedOrTriedAgain) {
  for (const std::string& password : {std::string(), std::string("secret")}) {
    std::atomic<int> refused = 0;
    FakeServer server([&](const Command& command) -> std::string {
      if (refused++ < 3) return "-ERR max number of clients reached\r\n" + kEnd;
      if (command[0] == "AUTH") return kOk;
      return command[0] == "CLUSTER" ? kNoCluster : bulk("in");
    });
    Client client({.servers = {server.url()}, .password = password, .timeout = kLong});
    EXPECT_EQ(ask(client, change_of("SET")).reply.text, "in");
    FakeServer protects(
        [&](const Command&) { return "-DENIED Redis is running in protected mode\r\n" + kEnd; });
    Client stranger({.servers = {protects.url()}, .password = password, .timeout = kLong});
    const std::string text = expect_harmless_error(stranger, change_of("SET"), "DENIED");
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  }
}

TEST(Client, ATransactionFailsWithItsFirstError) {
  FakeServer server(alone([](const Command& command) -> std::string {
    if (command[0] == "MULTI") return kOk;
    return command[0] == "EXEC" ? "-EXECABORT discarded\r\n" : "-ERR wrong\r\n";
  }));
  Client client(options_for(server));
  Request request = request_of("MULTI");
  request.commands = encode_command({"MULTI"}) + encode_command({"BAD"}) + encode_command({"EXEC"});
  request.replies = 3;
  EXPECT_EQ(ask(client, request).reply.text, "ERR wrong");
}

TEST(Client, ARequestForOneConnectionDoesNotTakeAnother) {
  std::atomic<bool> ends = false;
  FakeServer server(alone([&](const Command&) { return ends ? kEnd : bulk("x"); }));
  Client client(options_for(server));
  Request second = request_of("SECOND");
  second.only_on = ask(client, request_of("FIRST")).connection;
  EXPECT_EQ(ask(client, second).reply.text, "x");
  ends = true;
  EXPECT_EQ(ask(client, second).reply.text, kOtherConnection);
  ends = false;
  EXPECT_EQ(ask(client, second).reply.text, kOtherConnection);
  EXPECT_EQ(server.seen("SECOND"), 2U);
}

TEST(Client, RepliesThatNobodyAskedForEndTheConnection) {
  std::atomic<int> asked = 0;
  FakeServer server(alone([&](const Command&) {
    return asked++ == 0 ? bulk("mine") + bulk("and more") : bulk("next");
  }));
  Client client(options_for(server));
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "mine");
  EXPECT_EQ(ask(client, request_of("GET")).reply.text, "next");
}

TEST(Client, RefusesOptionsThatCannotWork) {
  EXPECT_THROW(Client(ClusterOptions{}), std::invalid_argument);
  EXPECT_THROW(Client({.servers = {"host:x"}}), std::invalid_argument);
  EXPECT_THROW(Client({.servers = {"host"}, .timeout = std::chrono::milliseconds(0)}),
               std::invalid_argument);
  EXPECT_THROW(Client({.servers = {"host"}, .user = "me"}), std::invalid_argument);
  EXPECT_THROW(Client({.servers = {"rediss://host"}, .ca_file = "/nowhere/ca.pem"}),
               std::invalid_argument);
  // A file for TLS means TLS.
  EXPECT_THROW(Client({.servers = {"host"}, .ca_file = "/nowhere/ca.pem"}), std::invalid_argument);
}

}  // namespace
}  // namespace nestline::cluster
