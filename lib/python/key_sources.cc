// Sources: one class for each kind of array, and the choice among them.
#include "lib/python/key_sources.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "lib/python/utf8.h"

namespace nestline::python {
namespace {

// The loops of a source, over number(i) of the class itself.
template <typename Own>
class SourceOf : public KeySource {
 public:
  void convert(std::size_t first, std::span<std::uint64_t> to) const final {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = own().number(first + i);
  }
  void gather(std::span<const std::uint32_t> positions, std::uint64_t* to) const final {
    for (const std::uint32_t position : positions) *to++ = own().number(position);
  }

 private:
  [[nodiscard]] const Own& own() const { return static_cast<const Own&>(*this); }
};

// The bytes at `from` as a T, perhaps in the other order.
template <typename T>
T loaded(const char* from, bool swapped) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

template <typename T, bool swapped>
class IntegerSource final : public SourceOf<IntegerSource<T, swapped>> {
 public:
  IntegerSource(Items items, bool hashes) : items_(items), hashes_(hashes) {}
  [[nodiscard]] bool are_hashes() const override { return hashes_; }
  [[nodiscard]] std::uint64_t number(std::size_t i) const {
    return static_cast<std::uint64_t>(loaded<T>(items_.at(i), swapped));
  }

 private:
  Items items_;
  bool hashes_;
};

// What hashes strings: string(i) of the class itself.
template <typename Own>
class StringSource : public SourceOf<Own> {
 public:
  explicit StringSource(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] bool are_hashes() const final { return true; }
  [[nodiscard]] std::uint64_t number(std::size_t i) const {
    return hash_key(static_cast<const Own&>(*this).string(i), seed_).value;
  }

 private:
  std::uint64_t seed_;
};

// NumPy's 'S': so many bytes each, filled up with NUL.
class FixedBytes final : public StringSource<FixedBytes> {
 public:
  FixedBytes(Items items, std::size_t width, std::uint64_t seed)
      : StringSource(seed), items_(items), width_(width) {}
  [[nodiscard]] std::string_view string(std::size_t i) const {
    const std::string_view all(items_.at(i), width_);
    return all.substr(0, all.find_last_not_of('\0') + 1);
  }

 private:
  Items items_;
  std::size_t width_;
};

// NumPy's 'U': so many code points each, filled up with NUL.
class FixedText final : public StringSource<FixedText> {
 public:
  FixedText(Items items, std::size_t bytes, bool swapped, std::uint64_t seed)
      : StringSource(seed),
        items_(items),
        width_(bytes / sizeof(std::uint32_t)),
        swapped_(swapped),
        utf8_(width_ * kMostUtf8, '\0') {}

  // The string is good until the next call. One thread uses a source.
  [[nodiscard]] std::string_view string(std::size_t i) const {
    std::size_t length = width_;
    while (length != 0 && point(i, length - 1) == 0) --length;
    char* end = utf8_.data();
    for (std::size_t at = 0; at < length; ++at) end = put_utf8(point(i, at), end);
    return {utf8_.data(), static_cast<std::size_t>(end - utf8_.data())};
  }

  // Throws std::invalid_argument for the first string that UTF-8 does not have.
  void check(std::size_t size) const {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t at = 0; at < width_; ++at) {
        if (!is_scalar(point(i, at))) {
          throw std::invalid_argument("key " + std::to_string(i) +
                                      " has a code point that UTF-8 does not have");
        }
      }
    }
  }

 private:
  [[nodiscard]] std::uint32_t point(std::size_t i, std::size_t at) const {
    return loaded<std::uint32_t>(items_.at(i) + at * sizeof(std::uint32_t), swapped_);
  }

  Items items_;
  std::size_t width_;
  bool swapped_;
  mutable std::string utf8_;
};

class ArrowStrings final : public StringSource<ArrowStrings> {
 public:
  ArrowStrings(const StringArray& strings, std::uint64_t seed)
      : StringSource(seed), strings_(strings) {}
  [[nodiscard]] std::string_view string(std::size_t i) const { return strings_.string(i); }

 private:
  const StringArray& strings_;
};

template <typename T>
std::unique_ptr<KeySource> integers(Items items, bool swapped, bool hashes) {
  if (swapped) return std::make_unique<IntegerSource<T, true>>(items, hashes);
  return std::make_unique<IntegerSource<T, false>>(items, hashes);
}

}  // namespace

std::unique_ptr<KeySource> integer_source(std::size_t width, bool is_signed, Items items,
                                          bool swapped, bool hashes) {
  switch (width) {
    case 1:
      return is_signed ? integers<std::int8_t>(items, false, hashes)
                       : integers<std::uint8_t>(items, false, hashes);
    case 2:
      return is_signed ? integers<std::int16_t>(items, swapped, hashes)
                       : integers<std::uint16_t>(items, swapped, hashes);
    case 4:
      return is_signed ? integers<std::int32_t>(items, swapped, hashes)
                       : integers<std::uint32_t>(items, swapped, hashes);
    case 8:
      return integers<std::uint64_t>(items, swapped, hashes);
    default:
      throw py::type_error("integer keys have 8, 16, 32 or 64 bits");
  }
}

std::unique_ptr<KeySource> bytes_source(Items items, std::size_t width, std::uint64_t seed) {
  return std::make_unique<FixedBytes>(items, width, seed);
}

std::unique_ptr<KeySource> text_source(Items items, std::size_t size, std::size_t width,
                                       bool swapped, std::uint64_t seed) {
  auto text = std::make_unique<FixedText>(items, width, swapped, seed);
  text->check(size);
  return text;
}

std::unique_ptr<KeySource> strings_source(const StringArray& strings, std::uint64_t seed) {
  return std::make_unique<ArrowStrings>(strings, seed);
}

}  // namespace nestline::python
