// Batches of keys.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/cluster/transfer.h"

namespace nestline::cluster {
namespace {

// Hashes in one command: its server is busy with it for about a millisecond.
constexpr std::size_t kHashesAtOnce = 65536;

// The commands for one part of one batch.
struct Piece {
  std::uint32_t part;
  std::size_t first;  // of the part's hashes
  std::size_t count;
};

std::optional<std::uint64_t> spread_bytes(std::string_view bytes,
                                          std::span<const std::uint32_t> positions,
                                          std::span<std::uint8_t> out) {
  if (bytes.size() != positions.size()) return std::nullopt;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto count = static_cast<std::uint8_t>(bytes[i]);
    sum += count;
    if (!out.empty()) out[positions[i]] = count;
  }
  return sum;
}

class Batch {
 public:
  Batch(Session& session, const KeySplit& split, const BatchCommand& command)
      : session_(session), split_(split), command_(command) {
    for (std::uint32_t part = 0; part < session.descriptor().parts; ++part) {
      const std::size_t count = split.hashes_of(part).size();
      for (std::size_t first = 0; first < count; first += kHashesAtOnce) {
        pieces_.push_back({part, first, std::min(kHashesAtOnce, count - first)});
      }
    }
  }

  // Until the answers are those of the content.
  std::uint64_t run(std::span<std::uint8_t> out) {
    for (;;) {
      const std::vector<Request> requests = make_requests();
      const std::vector<Answer> answers = session_.client().run(requests);
      if (!session_.is_current(answers.front())) {
        // On other content it is repeated. If the content is again what it was, the changes may
        // have been made in it.
        if (!session_.read_again() && command_.changes) {
          session_.fail(session_.label(),
                        "the content was exchanged and exchanged back during the call");
        }
        continue;
      }
      const bool is_part_missing =
          std::any_of(answers.begin(), answers.end(),
                      [](const Answer& each) { return is_missing(each.reply); });
      // Perhaps an upload has taken the part away after the epoch was read.
      if (is_part_missing && session_.read_again()) continue;
      for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (answers[i + 1].reply.is_bulk()) continue;
        session_.refuse(session_.label_of(pieces_[i].part), answers[i + 1]);
      }
      session_.wait_for_replicas(requests, answers);
      return spread(answers, out);
    }
  }

 private:
  [[nodiscard]] std::vector<Request> make_requests() const {
    std::vector<Request> requests;
    requests.reserve(pieces_.size() + 1);
    requests.push_back(session_.epoch_request());
    for (const Piece& piece : pieces_) {
      const auto hashes = split_.hashes_of(piece.part).subspan(piece.first, piece.count);
      const auto bytes = std::as_bytes(hashes);
      Request request = session_.about_part(
          piece.part,
          encode_command_before({command_.name, session_.key_of(piece.part)}, bytes.size()));
      request.payload = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      request.changes = command_.changes;
      requests.push_back(std::move(request));
    }
    return requests;
  }

  std::uint64_t spread(const std::vector<Answer>& answers, std::span<std::uint8_t> out) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      const auto positions = split_.positions_of(piece.part).subspan(piece.first, piece.count);
      const auto spread_out = command_.gives_bytes ? spread_bytes : spread_bits;
      const auto count = spread_out(answers[i + 1].reply.text, positions, out);
      if (!count) session_.refuse(session_.label_of(piece.part), answers[i + 1]);
      sum += *count;
    }
    return sum;
  }

  Session& session_;
  const KeySplit& split_;
  const BatchCommand& command_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::optional<std::uint64_t> spread_bits(std::string_view bits,
                                         std::span<const std::uint32_t> positions,
                                         std::span<std::uint8_t> out) {
  const std::size_t count = positions.size();
  const auto in_last = static_cast<unsigned>(count % 8);
  if (bits.size() != (count + 7) / 8 ||
      (in_last != 0 && static_cast<std::uint8_t>(bits.back()) >> in_last != 0)) {
    return std::nullopt;
  }
  std::uint64_t sum = 0;
  for (const char byte : bits) {
    sum += static_cast<std::uint64_t>(std::popcount(static_cast<std::uint8_t>(byte)));
  }
  if (out.empty()) return sum;
  for (std::size_t i = 0; i < count; ++i) {
    out[positions[i]] = static_cast<std::uint8_t>(bits[i / 8]) >> (i % 8) & 1;
  }
  return sum;
}

std::uint64_t run_batch(Session& session, KeySplit& split, const BatchCommand& command,
                        KeySpan keys, std::span<std::uint8_t> out) {
  if (!out.empty() && out.size() != keys.size()) {
    throw std::invalid_argument("there are " + std::to_string(keys.size()) +
                                " keys, but room for " + std::to_string(out.size()) + " answers");
  }
  session.client().forget();
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < keys.size(); at += kKeysAtOnce) {
    const std::size_t some = std::min(kKeysAtOnce, keys.size() - at);
    split.assign(keys.subspan(at, some), session.descriptor().seed, session.descriptor().parts);
    split.make_bytes();
    sum += Batch(session, split, command).run(out.empty() ? out : out.subspan(at, some));
  }
  return sum;
}

}  // namespace nestline::cluster
