// Files in a store: pieces under their digests, and a manifest that names them in their order. A
// piece is a record under the SHA-256 digest of its content; the manifest comes last. As the log
// survives a crash up to some point, a manifest has all its pieces, or the old file is whole. Each
// piece that is read must have its length and its digest. A key of the caller's can be a digest
// too; so a piece that was there before is compared with the new one.
#include "nestline/store_files.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/manifests.h"

namespace nestline { inline namespace v0_3 {

using internal::Manifests;

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;  // at a time, or a piece if that is more

// get_file reads so many pieces together, of so many bytes unless one alone has more.
constexpr std::size_t kBatchPieces = 64;
constexpr std::size_t kBatchBytes = std::size_t{1} << 22;

std::string_view text_of(const PieceDigest& digest) { return {digest.data(), digest.size()}; }

PieceDigest sha256(std::string_view bytes) {
  static EVP_MD* const kind = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (kind == nullptr) throw std::runtime_error("OpenSSL on this machine does not allow SHA-256");
  PieceDigest digest;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 nullptr, kind, nullptr) != 1) {
    throw std::runtime_error("OpenSSL could not compute a SHA-256 digest");
  }
  return digest;
}

class Cutter {
 public:
  Cutter(const FileSource& source, const FilePieces& pieces)
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

  const FileSource& source_;
  std::size_t most_;
  bool lines_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// Reads pieces from `first` on into `bytes`, and returns the position after the last of them.
std::uint64_t read_pieces(const Store& store, const Manifest& manifest, std::uint64_t first,
                          std::string& bytes) {
  std::vector<std::string_view> keys;
  std::vector<std::size_t> ends = {0};
  for (std::uint64_t i = first; i < manifest.pieces() && keys.size() < kBatchPieces; ++i) {
    const std::size_t end = ends.back() + manifest.length(i);
    if (i > first && end > kBatchBytes) break;
    keys.push_back(manifest.digest(i));
    ends.push_back(end);
  }
  bytes.resize(ends.back());
  const auto piece = [&](std::size_t i) {
    return std::span(bytes).subspan(ends[i], ends[i + 1] - ends[i]);
  };
  std::vector<bool> is_found(keys.size());
  std::vector<bool> has_length(keys.size());
  store.get(std::span<const std::string_view>(keys), [&](std::size_t i, std::string_view value) {
    is_found[i] = true;
    has_length[i] = value.size() == piece(i).size();
    if (has_length[i]) value.copy(piece(i).data(), value.size());
  });
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!is_found[i]) manifest.fail(first + i, "is missing");
    if (!has_length[i] || text_of(sha256({piece(i).data(), piece(i).size()})) != keys[i]) {
      manifest.fail(first + i, "has another content");
    }
  }
  return first + keys.size();
}

}  // namespace

std::uint64_t put_file(Store& store, std::string_view name, const FileSource& source,
                       const FilePieces& pieces) {
  if (pieces.bytes == 0 || pieces.bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("a piece has 1 to 4294967295 bytes, not " +
                                std::to_string(pieces.bytes));
  }
  Cutter cutter(source, pieces);
  ManifestWriter manifest;
  Manifests::Pins pins;
  for (std::string_view piece = cutter.next(); !piece.empty(); piece = cutter.next()) {
    const PieceDigest key = sha256(piece);
    manifest.add(key, piece.size());
    Manifests::pin(store, pins, text_of(key));
    if (store.insert_unique(text_of(key), piece)) continue;
    bool equal = false;
    store.get(text_of(key), [&](std::string_view value) { equal = value == piece; });
    if (!equal) store.put(text_of(key), piece);
  }
  Manifests::put(store, name, manifest.finish());
  return manifest.total();
}

bool get_file(const Store& store, std::string_view name, const FileSink& sink) {
  std::string bytes;
  if (!Manifests::get(store, name, bytes)) return false;
  Manifests::Pins pins;
  for (std::string pinned; pinned != bytes; bytes.swap(pinned)) {
    // The file may have been deleted before its pieces were pinned.
    const Manifest manifest(name, bytes);
    for (std::uint64_t i = 0; i < manifest.pieces(); ++i)
      Manifests::pin(store, pins, manifest.digest(i));
    if (!Manifests::get(store, name, pinned)) return false;
  }
  const Manifest manifest(name, bytes);
  std::string content;
  for (std::uint64_t at = 0; at < manifest.pieces();) {
    at = read_pieces(store, manifest, at, content);
    sink(content);
  }
  return true;
}

bool erase_file(Store& store, std::string_view name) { return Manifests::erase(store, name); }

std::vector<StoredFile> list_files(const Store& store) {
  std::vector<StoredFile> files;
  Manifests::for_each(store, [&](std::string_view name, std::string_view bytes) {
    const Manifest manifest(name, bytes);
    files.push_back({std::string(name), manifest.total(), manifest.pieces()});
  });
  std::ranges::sort(files, {}, &StoredFile::name);
  return files;
}

}}  // namespace nestline
