#include "lib/store/manifests.h"

#include <limits>
#include <stdexcept>

#include "lib/engine/place/little_endian.h"

namespace nestline { inline namespace v0_3 {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHead = 24;
constexpr std::size_t kDigest = sizeof(PieceDigest);
constexpr std::size_t kEntry = kDigest + 4;
constexpr std::uint64_t kMaxPieces = (std::numeric_limits<std::uint32_t>::max() - kHead) / kEntry;

std::size_t place_of(std::uint64_t i) { return kHead + static_cast<std::size_t>(i) * kEntry; }

std::string hexadecimal(std::string_view digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : digest) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace

ManifestWriter::ManifestWriter() : bytes_(kHead, '\0') {}

void ManifestWriter::add(const PieceDigest& digest, std::size_t length) {
  if (pieces_ == kMaxPieces) {
    throw std::invalid_argument("the file has more than " + std::to_string(kMaxPieces) +
                                " pieces, which its manifest cannot name; cut it into larger ones");
  }
  const std::size_t at = bytes_.size();
  bytes_.append(digest.data(), kDigest).append(4, '\0');
  put(writable(), at + kDigest, static_cast<std::uint32_t>(length));
  total_ += length;
  ++pieces_;
}

std::string_view ManifestWriter::finish() {
  put(writable(), 0, kVersion);
  put(writable(), 8, total_);
  put(writable(), 16, pieces_);
  return bytes_;
}

Manifest::Manifest(std::string_view name, std::string_view bytes)
    : name_(name), bytes_(std::as_bytes(std::span(bytes))) {
  require(bytes_.size() >= kHead);
  if (get<std::uint32_t>(bytes_, 0) > kVersion) {
    throw StoreError("the file '" + name_ +
                     "' was stored by a later version of nestline; read it with that version");
  }
  require(get<std::uint32_t>(bytes_, 0) == kVersion && get<std::uint32_t>(bytes_, 4) == 0);
  const std::size_t entries = bytes_.size() - kHead;
  require(entries % kEntry == 0 && pieces() == entries / kEntry);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < pieces(); ++i) sum += length(i);
  require(sum == total());
}

std::uint64_t Manifest::total() const { return get<std::uint64_t>(bytes_, 8); }
std::uint64_t Manifest::pieces() const { return get<std::uint64_t>(bytes_, 16); }

std::size_t Manifest::length(std::uint64_t i) const {
  return get<std::uint32_t>(bytes_, place_of(i) + kDigest);
}

std::string_view Manifest::digest(std::uint64_t i) const {
  return {reinterpret_cast<const char*>(bytes_.data()) + place_of(i), kDigest};
}

void Manifest::fail(std::uint64_t i, const std::string& what) const {
  throw StoreError("the file '" + name_ + "': piece " + std::to_string(i + 1) + " of " +
                   std::to_string(pieces()) + ", whose SHA-256 digest is " +
                   hexadecimal(digest(i)) + ", " + what + "; store the file again");
}

void Manifest::require(bool good) const {
  if (good) return;
  throw StoreError("the file '" + name_ + "': its manifest is damaged; store the file again");
}

}}  // namespace nestline
