// Downloads. A part must not change while its pieces are fetched, so its server first makes a copy
// of it, in the same slot. The copy goes away by itself after ten minutes, if this client is
// killed.
//
// Some parts are fetched at once, a piece of each in turn.
#include <algorithm>
#include <utility>

#include "lib/cluster/transfer.h"
#include "lib/redis/value/image_reader.h"

namespace nestline::cluster {
namespace {

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

PartSet download(Session& session) {
  session.client().forget();
  session.read_again();
  for (;;) {
    Downloading downloading(session);
    if (downloading.run()) return downloading.take();
    session.read_again();
  }
}

}  // namespace nestline::cluster
