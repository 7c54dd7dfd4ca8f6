#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lib/faces/cluster/transfer.h"

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

constexpr std::size_t kHashesAtOnce = 65536;  // in one command: about a millisecond of its server

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

std::vector<Request> make_requests(Session& session, const KeySplit& split,
                                   const BatchCommand& command, std::span<const Piece> pieces) {
  std::vector<Request> requests{session.epoch_request()};
  for (const Piece& piece : pieces) {
    const auto hashes = split.hashes_of(piece.part).subspan(piece.first, piece.count);
    const auto bytes = std::as_bytes(hashes);
    requests.push_back(session.about_part(
        piece.part,
        encode_command_before({command.name, session.key_of(piece.part)}, bytes.size())));
    requests.back().payload = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    requests.back().changes = command.changes;
  }
  return requests;
}

// Until the answers are those of the content.
std::uint64_t run_split(Session& session, const KeySplit& split, const BatchCommand& command,
                        std::span<std::uint8_t> out) {
  std::vector<Piece> pieces;
  for (std::uint32_t part = 0; part < session.descriptor().parts; ++part) {
    const std::size_t count = split.hashes_of(part).size();
    for (std::size_t first = 0; first < count; first += kHashesAtOnce) {
      pieces.push_back({part, first, std::min(kHashesAtOnce, count - first)});
    }
  }
  for (;;) {
    const std::vector<Request> requests = make_requests(session, split, command, pieces);
    const std::vector<Answer> answers = session.client().run(requests);
    if (!session.is_current(answers.front())) {
      // On other content it is repeated. On the same again, the changes may have been made.
      if (!session.read_again() && command.changes) {
        session.fail(session.label(),
                     "the content was exchanged and exchanged back during the call");
      }
      continue;
    }
    const bool is_part_missing =
        std::ranges::any_of(answers, [](const Answer& each) { return each.reply.is_missing(); });
    // Perhaps an upload has taken the part away after the epoch was read.
    if (is_part_missing && session.read_again()) continue;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (answers[i + 1].reply.is_bulk()) continue;
      session.refuse(session.label_of(pieces[i].part), answers[i + 1]);
    }
    session.wait_for_replicas(requests, answers);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      const auto positions = split.positions_of(piece.part).subspan(piece.first, piece.count);
      const auto spread = command.gives_bytes ? spread_bytes : spread_bits;
      const auto count = spread(answers[i + 1].reply.text, positions, out);
      if (!count) session.refuse(session.label_of(piece.part), answers[i + 1]);
      sum += *count;
    }
    return sum;
  }
}

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
  if (!out.empty()) require_answers(keys, out);
  session.client().forget();
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < keys.size(); at += kKeysAtOnce) {
    const std::size_t some = std::min(kKeysAtOnce, keys.size() - at);
    split.assign(keys.subspan(at, some), session.descriptor().seed, session.descriptor().parts);
    split.make_bytes();
    sum += run_split(session, split, command, out.empty() ? out : out.subspan(at, some));
  }
  return sum;
}

}}}  // namespace nestline::cluster
