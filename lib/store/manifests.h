// The manifests of files, for lib/store/files: records in a space apart from the keys. What is in
// one: the pieces of a file in their order (docs/STORE.md, 6.3). Nothing in it is trusted: its
// length must fit n, and the lengths add up to the file's bytes. The library of files is built on
// the store's, so this is exported, and no part of the interface.
#ifndef NESTLINE_LIB_STORE_MANIFESTS_H_
#define NESTLINE_LIB_STORE_MANIFESTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nestline/store.h"

namespace nestline { inline namespace v0_3 {

using PieceDigest = std::array<char, 32>;  // SHA-256 of a piece

class NESTLINE_EXPORT ManifestWriter {
 public:
  ManifestWriter();

  // Throws std::invalid_argument when a manifest cannot name so many pieces: it is one value.
  void add(const PieceDigest& digest, std::size_t length);
  [[nodiscard]] std::uint64_t total() const { return total_; }  // bytes of all pieces so far
  std::string_view finish();  // the whole manifest, which lives as long as the writer

 private:
  std::span<std::byte> writable() { return std::as_writable_bytes(std::span(bytes_)); }

  std::string bytes_;
  std::uint64_t total_ = 0;
  std::uint64_t pieces_ = 0;
};

// A manifest that was stored under `name`. Its bytes must outlive it.
class NESTLINE_EXPORT Manifest {
 public:
  // Throws StoreError when it is not one, or is one of a later version.
  Manifest(std::string_view name, std::string_view bytes);
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] std::uint64_t pieces() const;
  [[nodiscard]] std::size_t length(std::uint64_t i) const;
  [[nodiscard]] std::string_view digest(std::uint64_t i) const;
  [[noreturn]] void fail(std::uint64_t i, const std::string& what) const;  // throws StoreError

 private:
  void require(bool good) const;

  std::string name_;
  std::span<const std::byte> bytes_;
};

namespace internal {

struct NESTLINE_EXPORT Manifests {
  static bool get(const Store& store, std::string_view name, std::string& bytes);
  static void put(Store& store, std::string_view name, std::string_view bytes);
  static bool erase(Store& store, std::string_view name);
  using With = std::function<void(std::string_view name, std::string_view bytes)>;
  static void for_each(const Store& store, const With& with);
  // Pieces that are being put or read: while this lives, none of them is dropped (pieces.cc).
  using Pins = std::shared_ptr<std::vector<std::uint64_t>>;
  static void pin(const Store& store, Pins& pins, std::string_view digest);
};

}
}}  // namespace nestline::internal

#endif  // NESTLINE_LIB_STORE_MANIFESTS_H_
