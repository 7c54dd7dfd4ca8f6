// Many keys of Python as batches of the library. Arrays of 64 and 32 bits that lie together are
// used where they are. Other arrays are converted a piece at a time without the interpreter's lock,
// so there is never a copy of the whole. A list or tuple is read at once with the lock held, into 8
// bytes for each key: then other threads may change it, and a list with an error has no effect.
#ifndef NESTLINE_LIB_FACES_PYTHON_KEY_BATCH_H_
#define NESTLINE_LIB_FACES_PYTHON_KEY_BATCH_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/faces/python/buffer.h"
#include "lib/faces/python/busy.h"
#include "nestline/keys.h"

namespace nestline { inline namespace v0_3 { namespace python {

// The class StringArray: string i is data[offsets[i]] .. data[offsets[i + 1]], as in Apache Arrow.
class StringArray : public Zeroed {
 public:
  // Offsets of 32 or 64 bits, ascending and inside `data`. Throws TypeError and ValueError.
  StringArray(py::handle offsets, py::handle data);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::array<std::string_view, 2> memory() const {
    return {offsets_.text(), data_.text()};
  }

  // The buffers may change after the check, so each string is checked again, without the lock.
  [[nodiscard]] std::string_view string(std::size_t i) const {
    const std::uint64_t begin = offset(i), end = offset(i + 1);
    if (begin > end || end > data_.bytes()) {
      throw std::invalid_argument("the offsets of a StringArray were changed while it was in use");
    }
    return {data_.data() + begin, static_cast<std::size_t>(end - begin)};
  }

 private:
  // A negative offset becomes a large one, which is outside.
  [[nodiscard]] std::uint64_t offset(std::size_t i) const {
    return wide_ ? static_cast<std::uint64_t>(loaded<std::int64_t>(i))
                 : static_cast<std::uint64_t>(std::int64_t{loaded<std::int32_t>(i)});
  }
  template <typename T>
  [[nodiscard]] T loaded(std::size_t i) const {
    T value;
    std::memcpy(&value, offsets_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  Buffer offsets_, data_;
  bool wide_ = false;
  std::size_t size_ = 0;
};

// Keys that have to be converted. Needs no interpreter's lock.
class KeySource {
 public:
  KeySource& operator=(KeySource&&) = delete;
  virtual ~KeySource() = default;
  virtual void convert(std::size_t first, std::span<std::uint64_t> to) const = 0;
  // The keys at these positions, which must be inside.
  virtual void gather(std::span<const std::uint32_t> positions, std::uint64_t* to) const = 0;
};

// What is read: keys, or only one kind of integers, and what one of them is called.
struct Wanted {
  enum class Kind { keys, hashes, numbers };
  Kind kind = Kind::keys;
  std::uint64_t seed = 0;
  std::string noun = "key";
  std::optional<std::uint64_t> none = std::nullopt;  // the number of None, if it is one
  [[nodiscard]] bool only_integers() const { return kind != Kind::keys; }
  [[nodiscard]] std::string rule() const;
  [[nodiscard]] std::string plural() const { return noun + (noun == "hash" ? "es" : "s"); }
};

class KeyBatch {
 public:
  static constexpr std::size_t kPiece = 4096;  // keys that are converted
  static constexpr std::size_t kDirectPiece = 65536;
  // `seed` is the filter's. Throws TypeError, with the position of a wrong key, and OverflowError.
  // With a noun only integers are taken, and None if there is a number for it. Made and destroyed
  // with the interpreter's lock held.
  KeyBatch(py::handle keys, std::uint64_t seed, const char* noun = nullptr,
           std::optional<std::uint64_t> none = std::nullopt);
  [[nodiscard]] std::size_t size() const { return size_; }
  // Whether it reads any of this memory.
  [[nodiscard]] bool overlaps(const void* memory, std::size_t bytes) const;

  // Calls with(KeySpan, first) for one piece after another; `first` is the number of its first key.
  // Handlers of signals run between two pieces, and what they throw leaves this.
  template <typename With>
  void each_piece(const Released& released, With&& with) const {
    if (source_ == nullptr) {
      for_pieces(size_, kDirectPiece, released, [&](std::size_t first, std::size_t size) {
        with(direct_.subspan(first, size), first);
      });
      return;
    }
    std::array<std::uint64_t, kPiece> piece;
    for_pieces(size_, kPiece, released, [&](std::size_t first, std::size_t size) {
      const std::span<std::uint64_t> numbers(piece.data(), size);
      source_->convert(first, numbers);
      with(span_of(numbers), first);
    });
  }

  // The same for the keys at these positions, which must be inside; `first` counts positions.
  template <typename With>
  void each_piece(const Released& released, std::span<const std::uint32_t> positions,
                  With&& with) const {
    std::array<std::uint64_t, kPiece> piece;
    for_pieces(positions.size(), kPiece, released, [&](std::size_t first, std::size_t size) {
      gather(positions.subspan(first, size), piece.data());
      with(span_of({piece.data(), size}), first);
    });
  }

  // All keys as one batch. Converts them, into 8 bytes for each, if they need it.
  KeySpan whole(const Released& released);
  // The same in pieces large enough for the servers of a cluster.
  template <typename With>
  void each_request(const Released& released, With&& with) {
    const KeySpan all = whole(released);
    for_pieces(size_, std::size_t{1} << 18, released,
               [&](std::size_t first, std::size_t size) { with(all.subspan(first, size), first); });
  }

 private:
  template <typename Work>
  static void for_pieces(std::size_t all, std::size_t piece, const Released& released,
                         Work&& work) {
    for (std::size_t first = 0; first < all; first += piece) {
      if (first != 0) released.let_signals_in();
      work(first, std::min(piece, all - first));
    }
  }
  void read_array(const Wanted& wanted);
  void read_list(py::handle keys, const Wanted& wanted);
  void use_strings(const StringArray& strings, std::uint64_t seed);
  void gather(std::span<const std::uint32_t> positions, std::uint64_t* to) const;
  [[nodiscard]] KeySpan span_of(std::span<const std::uint64_t> numbers) const;
  std::size_t size_ = 0;
  bool hashes_ = false;                 // whether numbers are hashes
  py::object keep_;                     // what owns the memory, where buffer_ does not
  std::optional<Buffer> buffer_;        // the array
  std::vector<std::string_view> read_;  // all memory of others that is read
  std::vector<std::uint64_t> numbers_;  // of a list, or made by whole()
  std::unique_ptr<KeySource> source_;   // if keys have to be converted
  KeySpan direct_ = std::span<const std::uint64_t>();  // all keys, unless there is a source
};

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_KEY_BATCH_H_
