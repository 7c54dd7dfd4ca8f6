// Uploads. The parts are built up under a new epoch, beside those that are the content, and then
//
//   replace   one change of the descriptor makes them the content, and the old ones are removed;
//   merge     each is added to its part of the content and removed, in one step a part.
//
// A client killed before the change of the descriptor leaves the old content, and parts that a
// field left:EPOCH names. The next upload removes them when the field has not been renewed for ten
// minutes; it first sets it to 0. An upload changes the descriptor only if its field is as it wrote
// it: one taken for dead by mistake fails, and never makes parts the content that are being
// removed. One that fails treats its own so: a change whose answer was lost was made, or never is.
//
// A lost connection ends an upload: pieces that come late could overwrite what others have put into
// the new content. A failover may lose acknowledged pieces: so the items are counted before.
// Downloads. A part must not change while its pieces are fetched: its server first copies it, in
// the same slot. If this client is killed, the copy goes away after ten minutes. Some parts are
// fetched at once, a piece of each in turn.
#include "lib/faces/cluster/transfer.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

constexpr std::uint64_t kLeftFor = 600'000;  // ms
constexpr std::chrono::seconds kRenewAfter{60};
constexpr std::size_t kBytesAtOnce = std::size_t{32} << 20;  // pieces that wait here to be sent

// Milliseconds since 1970 by the clock of the descriptor's server.
std::uint64_t server_time(Session& session) {
  const Answer answer = session.run({"TIME"});
  const std::vector<Reply>& time = answer.reply.elements;  // seconds, microseconds
  if (time.size() == 2) {
    const auto seconds = parse_number<std::uint64_t>(time[0].text);
    const auto micros = parse_number<std::uint64_t>(time[1].text);
    if (seconds && micros) return *seconds * 1000 + *micros / 1000;
  }
  session.refuse(session.label(), answer);
}

class Uploading {
 public:
  Uploading(Session& session, const PartSet& parts)
      : session_(session), parts_(parts), epoch_(draw() | 1) {
    for (std::uint32_t part = 0; part < parts.descriptor().parts; ++part) {
      keys_.push_back(part_key(session.name(), part, epoch_));
    }
  }

  void send() {
    renew("");
    send_pieces(true);
    send_pieces(false);
    check_items();
  }

  // Makes them the content. The old parts are left for the next upload when no replica is known to
  // have the change: if one without it is promoted, they are the content again.
  void exchange() {
    const std::string ours = std::to_string(epoch_);
    const std::string now = std::to_string(server_time(session_));
    const std::uint64_t old = session_.descriptor().epoch;
    const auto answer = session_.change_if(
        {"epoch", left_field(epoch_)},
        [&](const std::vector<Reply>& values) -> Session::Commands {
          // Done by an attempt whose answer was lost: once more, for an answer to wait for.
          if (!values[0].is_bulk() || values[0].text != ours) check_alive(values[0], values[1]);
          return {{"HSET", session_.name(), "epoch", ours, left_field(old), now},
                  {"HDEL", session_.name(), left_field(epoch_)}};
        },
        true);
    is_content_ = true;
    if (!answer) return;
    const unsigned replicas = std::max(session_.wait_replicas(), has_replicas(*answer) ? 1U : 0U);
    const bool is_safe = replicas == 0 || session_.replicates(*answer, replicas);
    if (!is_safe && session_.wait_replicas() != 0) {
      throw ClusterError(session_.label() + ": the new content is there, but not enough replicas " +
                             "of the node " + to_text(answer->node) +
                             " know it; look at the replicas",
                         ClusterError::Effect::unknown);
    }
    if (!is_safe) return;
    unlink_parts(session_, old);
    session_.run({"HDEL", session_.name(), left_field(old)});
  }
  [[nodiscard]] bool is_content() const noexcept { return is_content_; }

  void merge() {
    std::vector<std::uint32_t> with_items;
    for (std::uint32_t part = 0; part < keys_.size(); ++part) {
      if (parts_.value(part).items() != 0) with_items.push_back(part);
    }
    merge_parts(session_, with_items, [&](std::uint32_t part) { return keys_[part]; });
  }

  // Removes the parts that were sent, and what announced them, unless they are the content.
  void clear_away() {
    bool is_content = false;
    session_.change_if({"epoch", left_field(epoch_)},
                       [&](const std::vector<Reply>& values) -> Session::Commands {
                         is_content = values[0].text == std::to_string(epoch_);
                         if (values[1].text != written_) return {};
                         return {{"HSET", session_.name(), left_field(epoch_), "0"}};
                       });
    if (is_content) return;
    unlink_parts(session_, epoch_);
    session_.run({"HDEL", session_.name(), left_field(epoch_)});
  }

 private:
  // The field left:EPOCH must be as written last; `written` is empty when it has not been written.
  void renew(const std::string& before) {
    written_ = std::to_string(server_time(session_));
    renewed_ = Clock::now();
    session_.change_if({"epoch", left_field(epoch_)},
                       [&](const std::vector<Reply>& values) -> Session::Commands {
                         const std::string now = values[1].text;
                         if (now == written_) return {};
                         if (!values[0].is_bulk() || now != before) give_up();
                         return {{"HSET", session_.name(), left_field(epoch_), written_}};
                       });
  }

  bool has_replicas(const Answer& answer) {
    Request role = session_.about_all(encode_command({"ROLE"}));
    role.node = answer.node;
    const Reply reply = session_.client().run(role).reply;
    return reply.elements.size() == 3 && !reply.elements[2].elements.empty();
  }

  void check_alive(const Reply& epoch, const Reply& left) {
    if (!epoch.is_bulk() || left.text != written_) give_up();
    if (epoch.text != std::to_string(session_.descriptor().epoch)) {
      session_.fail(session_.label(), "another client has replaced the content meanwhile");
    }
  }

  [[noreturn]] void give_up() {
    session_.fail(session_.label(),
                  "it was removed meanwhile, or this upload stood still for so long that another "
                  "client took it for dead");
  }

  // Sends the heads of all parts, or all other pieces.
  void send_pieces(bool heads) {
    std::vector<redis::Chunk> chunks;
    std::vector<std::uint32_t> parts_of;
    std::size_t bytes = 0;
    const auto flush = [&] {
      std::vector<Request> requests;
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        const std::vector<std::byte>& piece = chunks[i].bytes;
        const std::string iterator = std::to_string(chunks[i].next);
        requests.push_back(session_.about_part(
            parts_of[i],
            encode_command_before({"CF.LOADCHUNK", keys_[parts_of[i]], iterator}, piece.size())));
        requests.back().payload = {reinterpret_cast<const char*>(piece.data()), piece.size()};
        requests.back().changes = true;
        requests.back().aside = true;
      }
      const std::vector<Answer> answers = session_.run(requests, Reply::Kind::status);
      session_.wait_for_replicas(requests, answers);
      chunks.clear();
      parts_of.clear();
      bytes = 0;
      if (Clock::now() - renewed_ > kRenewAfter) renew(written_);
    };
    for (std::uint32_t part = 0; part < keys_.size(); ++part) {
      const auto send = [&](redis::Chunk chunk) {
        bytes += chunk.bytes.size();
        chunks.push_back(std::move(chunk));
        parts_of.push_back(part);
        if (bytes >= kBytesAtOnce) flush();
      };
      const redis::CuckooValue& value = parts_.value(part);
      if (heads) {
        send(value.dump_chunk(0));
      } else if (value.items() != 0) {
        value.for_each_chunk(send, 1);
      }
    }
    flush();
  }

  void check_items() {
    const std::vector<Request> requests = session_.about_parts([&](std::uint32_t part) {
      return encode_command({"CF.INFO", keys_[part]});
    });
    const std::vector<Answer> answers = session_.client().run(requests);
    for (std::uint32_t part = 0; part < keys_.size(); ++part) {
      const Reply* const items = answers[part].reply.field("Number of items inserted");
      if (items == nullptr) session_.refuse(requests[part].label, answers[part]);
      if (items->integer != static_cast<std::int64_t>(parts_.value(part).items())) {
        session_.fail(requests[part].label,
                      "pieces that the node " + to_text(answers[part].node) +
                          " had acknowledged are not there, as after a failover; upload again");
      }
    }
  }

  Session& session_;
  const PartSet& parts_;
  std::uint64_t epoch_;
  std::vector<std::string> keys_;
  std::string written_;
  Clock::time_point renewed_;
  bool is_content_ = false;
};

// Removes the parts of uploads that were killed or silent for ten minutes: never to be the content.
void remove_left(Session& session) {
  const FoundDescriptor found = session.look();
  if (found.left.empty()) return;
  const std::uint64_t now = server_time(session);
  for (const auto& [epoch, written] : found.left) {
    if (written + kLeftFor > now || epoch == found.descriptor.epoch) continue;
    const std::string field = left_field(epoch);
    const std::string since = std::to_string(written);
    bool is_ours = false;
    session.change_if({field}, [&](const std::vector<Reply>& values) -> Session::Commands {
      is_ours = values[0].text == since || values[0].text == "0";
      if (!is_ours || values[0].text == "0") return {};
      return {{"HSET", session.name(), field, "0"}};
    });
    if (!is_ours) continue;
    unlink_parts(session, epoch);
    session.run({"HDEL", session.name(), field});
  }
}

constexpr std::uint32_t kPartsAtOnce = 16;
constexpr std::string_view kCopyLivesFor = "600000";  // ms

class Downloading {
 public:
  explicit Downloading(Session& session) : session_(session), made_(session.descriptor()) {}

  // False: the content was replaced meanwhile.
  bool run() {
    const std::uint32_t parts = session_.descriptor().parts;
    for (std::uint32_t first = 0; first < parts; first += kPartsAtOnce) {
      first_ = first;
      count_ = std::min(kPartsAtOnce, parts - first);
      if (!make_copies()) return false;
      fetch();
      remove_copies();
    }
    return true;
  }

  PartSet take() { return std::move(made_); }

 private:
  std::string copy_of(std::uint32_t part) const { return session_.key_of(part) + suffix_; }

  bool make_copies() {
    const auto copy_part = [&](std::uint32_t part) {
      return encode_command({"MULTI"}) +
             encode_command({"COPY", session_.key_of(part), copy_of(part), "REPLACE"}) +
             encode_command({"PEXPIRE", copy_of(part), kCopyLivesFor}) + encode_command({"EXEC"});
    };
    const std::vector<Answer> copies =
        session_.client().run(session_.about_parts(copy_part, first_, count_, 4));
    if (!session_.is_current()) {
      remove_copies();
      return false;
    }
    for (std::uint32_t i = 0; i < count_; ++i) {
      const Reply& reply = copies[i].reply;
      const std::string& label = session_.label_of(first_ + i);
      if (!reply.is_array() || reply.elements.size() != 2) session_.refuse(label, copies[i]);
      const Reply& copied = reply.elements[0];
      if (copied.is_error()) session_.refuse(label, {copied, copies[i].node, 0});
      if (copied.integer != 1) {
        session_.refuse(label, {{Reply::Kind::error, 0, "ERR not found", {}}, copies[i].node, 0});
      }
    }
    return true;
  }

  void fetch() {
    std::vector<redis::ImageReader> readers(count_);
    std::vector<std::uint64_t> iterators(count_, 0);
    std::vector<std::uint32_t> open(count_);
    for (std::uint32_t i = 0; i < count_; ++i) open[i] = i;
    while (!open.empty()) {
      std::vector<Request> requests;
      for (const std::uint32_t i : open) {
        requests.push_back(session_.about_part(
            first_ + i,
            encode_command({"CF.SCANDUMP", copy_of(first_ + i), std::to_string(iterators[i])})));
      }
      const std::vector<Answer> answers = session_.client().run(requests);
      std::vector<std::uint32_t> still;
      for (std::size_t at = 0; at < open.size(); ++at) {
        const std::uint32_t i = open[at];
        if (take_piece(first_ + i, answers[at], readers[i], iterators[i])) still.push_back(i);
      }
      open = std::move(still);
    }
  }

  // Whether more is to come. `iterator` is that of the request.
  bool take_piece(std::uint32_t part, const Answer& answer, redis::ImageReader& reader,
                  std::uint64_t& iterator) {
    const std::vector<Reply>& pair = answer.reply.elements;
    if (pair.size() != 2 || !pair[0].is_integer()) {
      session_.refuse(session_.label_of(part), answer);
    }
    std::unique_ptr<redis::CuckooValue>& value = made_.values()[part];
    if (pair[0].integer == 0) {
      // A filter without items has no pieces.
      const Descriptor& all = session_.descriptor();
      value = iterator == 0 ? redis::CuckooValue::create(part_settings(all, all.capacity))
                            : reader.finish();
      if (!value) damaged(part, answer);
      if (!value->is_complete()) {
        session_.fail(session_.label_of(part), "the filter on the node " + to_text(answer.node) +
                                                   " is incomplete; upload it again");
      }
      return false;
    }
    iterator = static_cast<std::uint64_t>(pair[0].integer);
    const std::string& bytes = pair[1].text;
    if (!reader.add(std::as_bytes(std::span(bytes.data(), bytes.size())))) damaged(part, answer);
    return true;
  }

  [[noreturn]] void damaged(std::uint32_t part, const Answer& answer) {
    session_.fail(session_.label_of(part),
                  "what the node " + to_text(answer.node) +
                      " sends is not a whole filter; check its module with CF.INFO");
  }

  void remove_copies() {
    session_.client().run(session_.about_parts(
        [&](std::uint32_t part) {
          return encode_command({"UNLINK", copy_of(part)});
        },
        first_, count_));
  }

  Session& session_;
  PartSet made_;
  std::string suffix_ = ":copy:" + std::to_string(static_cast<std::uint32_t>(draw()));
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace

void unlink_parts(Session& session, std::uint64_t epoch) {
  const std::vector<Request> requests = session.about_parts([&](std::uint32_t part) {
    return encode_command({"UNLINK", part_key(session.name(), part, epoch)});
  });
  session.run(requests, Reply::Kind::integer);
}

void upload(Session& session, const PartSet& parts, Upload how) {
  session.client().forget();
  session.read_again();
  remove_left(session);
  Uploading uploading(session, parts);
  try {
    uploading.send();
    if (how == Upload::replace) {
      uploading.exchange();
    } else {
      uploading.merge();
      uploading.clear_away();
    }
  } catch (const ClusterError& error) {
    if (uploading.is_content()) throw;
    const ClusterError reported = error;
    try {
      uploading.clear_away();
    } catch (const ClusterError&) {  // the next upload will do it
    }
    throw reported;
  }
  if (how == Upload::replace) session.read_again();
}

PartSet download(Session& session) {
  session.client().forget();
  session.read_again();
  for (;;) {
    Downloading downloading(session);
    if (downloading.run()) return downloading.take();
    session.read_again();
  }
}

}}}  // namespace nestline::cluster
