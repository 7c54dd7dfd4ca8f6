// Files in a store: pieces under their digests, and a manifest that names them in their order.
//
// A piece is an ordinary record: its key is the SHA-256 digest of its content (OpenSSL's libcrypto
// computes it), 32 bytes. It is inserted, so equal pieces of all files are stored once. The
// manifest comes last. As the log survives a crash up to some point, a manifest that is there has
// all its pieces, and one that is not leaves the old file whole.
//
// Each piece that is read must have its length and its digest. A key of the caller's can be a
// digest too; so a piece that was there before is compared with the new one.
#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/store/manifest.h"
#include "lib/store/manifests.h"
#include "nestline/store.h"

namespace nestline {
namespace {

// The source is asked for so much at a time, or for a piece if that is more.
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// get_file asks for so many pieces together, of so many bytes unless one alone has more.
constexpr std::size_t kBatchPieces = 64;
constexpr std::size_t kBatchBytes = std::size_t{1} << 22;

std::string_view text_of(const PieceDigest& digest) { return {digest.data(), digest.size()}; }

class Sha256 {
 public:
  Sha256() : kind_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    if (kind_ == nullptr)
      throw std::runtime_error("OpenSSL on this machine does not allow SHA-256");
    if (context_ == nullptr) throw std::bad_alloc();
  }

  PieceDigest operator()(std::string_view bytes) {
    PieceDigest digest;
    const bool good =
        EVP_DigestInit_ex2(context_.get(), kind_.get(), nullptr) == 1 &&
        EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1 &&
        EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                           nullptr) == 1;
    if (!good) throw std::runtime_error("OpenSSL could not compute a SHA-256 digest");
    return digest;
  }

 private:
  struct Free {
    void operator()(EVP_MD* kind) const { EVP_MD_free(kind); }
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD, Free> kind_;
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

// Cuts what a source gives into pieces.
class Cutter {
 public:
  Cutter(const Store::Source& source, const Store::Pieces& pieces)
      : source_(source), most_(static_cast<std::size_t>(pieces.bytes)), lines_(pieces.lines) {}

  // The next piece, valid until the next call; empty at the end.
  std::string_view next() {
    std::size_t searched = 0;
    while (true) {
      const std::size_t held = end_ - begin_;
      const std::string_view seen(buffer_.data() + begin_, std::min(held, most_));
      if (lines_) {
        const std::size_t line_end = seen.find('\n', searched);
        if (line_end != std::string_view::npos) return take(line_end + 1);
        searched = seen.size();
      }
      if (seen.size() == most_) return take(most_);
      if (!fill()) return take(held);
    }
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view piece(buffer_.data() + begin_, size);
    begin_ += size;
    return piece;
  }

  // Reads once; false at the end of the source.
  bool fill() {
    if (begin_ > 0) {
      std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    // A long piece gets its memory as its bytes come in.
    if (end_ == buffer_.size()) buffer_.resize(std::max(kReadBytes, 2 * end_));
    const std::span room = std::span(buffer_).subspan(end_);
    const std::size_t got = source_(room);
    if (got > room.size()) {
      throw std::invalid_argument("the source of a file gave more bytes than it was asked for");
    }
    end_ += got;
    return got > 0;
  }

  const Store::Source& source_;
  std::size_t most_;
  bool lines_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// Pieces that are asked for together.
class PieceBatch {
 public:
  // Reads pieces from `first` on, and returns the position after the last of them.
  std::uint64_t read(const Store& store, const Manifest& manifest, std::uint64_t first) {
    std::uint64_t last = first;
    std::size_t room = 0;
    pieces_.clear();
    while (last < manifest.pieces() && pieces_.size() < kBatchPieces) {
      const std::size_t length = manifest.length(last);
      if (last > first && room + length > kBatchBytes) break;
      pieces_.push_back({manifest.digest(last), room, length, State::missing});
      room += length;
      ++last;
    }
    bytes_.resize(std::max(room, bytes_.size()));
    std::vector<std::string_view> keys;
    for (const Piece& piece : pieces_) keys.push_back(text_of(piece.digest));
    store.get(std::span<const std::string_view>(keys), [&](std::size_t i, std::string_view value) {
      Piece& piece = pieces_[i];
      piece.state = value.size() == piece.length ? State::there : State::other;
      if (piece.state == State::there) value.copy(bytes_.data() + piece.begin, value.size());
    });
    check(manifest, first);
    return last;
  }

  [[nodiscard]] std::string_view bytes() const {
    return {bytes_.data(), pieces_.back().begin + pieces_.back().length};
  }

 private:
  enum class State : std::uint8_t { missing, other, there };
  struct Piece {
    PieceDigest digest;
    std::size_t begin;  // in bytes_
    std::size_t length;
    State state;
  };

  void check(const Manifest& manifest, std::uint64_t first) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      if (piece.state == State::missing) manifest.fail(first + i, "is missing");
      if (piece.state == State::other ||
          digest_({bytes_.data() + piece.begin, piece.length}) != piece.digest) {
        manifest.fail(first + i, "has another content");
      }
    }
  }

  Sha256 digest_;
  std::vector<Piece> pieces_;
  std::vector<char> bytes_;
};

void check_pieces(const Store::Pieces& pieces) {
  if (pieces.bytes == 0 || pieces.bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("a piece has 1 to 4294967295 bytes, not " +
                                std::to_string(pieces.bytes));
  }
}

}  // namespace

std::uint64_t Store::put_file(std::string_view name, const Source& source, const Pieces& pieces) {
  check_pieces(pieces);
  Sha256 digest;
  Cutter cutter(source, pieces);
  ManifestWriter manifest;
  for (std::string_view piece = cutter.next(); !piece.empty(); piece = cutter.next()) {
    const PieceDigest key = digest(piece);
    manifest.add(key, piece.size());
    if (insert(text_of(key), piece)) continue;
    bool equal = false;
    get(text_of(key), [&](std::string_view value) { equal = value == piece; });
    if (!equal) put(text_of(key), piece);
  }
  put_manifest(*state_, name, manifest.finish());
  return manifest.total();
}

bool Store::get_file(std::string_view name, const Sink& sink) const {
  std::string bytes;
  if (!get_manifest(*state_, name, bytes)) return false;
  const Manifest manifest(name, bytes);
  PieceBatch batch;
  for (std::uint64_t at = 0; at < manifest.pieces();) {
    at = batch.read(*this, manifest, at);
    sink(batch.bytes());
  }
  return true;
}

bool Store::erase_file(std::string_view name) { return erase_manifest(*state_, name); }

std::vector<Store::FileInfo> Store::files() const {
  std::vector<FileInfo> files;
  for_each_manifest(*state_, [&](std::string_view name, std::string_view bytes) {
    const Manifest manifest(name, bytes);
    files.push_back({std::string(name), manifest.total(), manifest.pieces()});
  });
  std::sort(files.begin(), files.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return files;
}

}  // namespace nestline
