// The ways in which programs make a key in a local variable. Each class makes key number `i` when
// it is constructed and gives it by key(), so that what uses it reads as a user's function does:
//
//   const Struct made(i);
//   filter.insert(made.key());
#ifndef NESTLINE_TESTS_PACKAGING_CONSUMERS_FORMS_H_
#define NESTLINE_TESTS_PACKAGING_CONSUMERS_FORMS_H_

#include <nestline/keys.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace consumers {

struct Integer {
  explicit Integer(std::uint32_t i) : number(i * 0x9e3779b9u) {}
  const std::uint32_t& key() const { return number; }
  std::uint32_t number;
};

struct Struct {
  explicit Struct(std::uint32_t i) : flow{i, ~i, 80, 6} {}
  auto key() const { return std::as_bytes(std::span(&flow, 1)); }
  struct {
    std::uint32_t from, to, port, protocol;
  } flow;
};

struct TwoIntegers {
  explicit TwoIntegers(std::uint32_t i) : numbers{i, ~std::uint64_t{i}} {}
  auto key() const { return std::as_bytes(std::span(numbers)); }
  std::uint64_t numbers[2];
};

struct ArrayOfBytes {
  explicit ArrayOfBytes(std::uint32_t i) {
    std::memcpy(bytes.data(), &i, sizeof(i));
    std::memset(bytes.data() + sizeof(i), 7, bytes.size() - sizeof(i));
  }
  const auto& key() const { return bytes; }
  std::array<std::byte, 16> bytes;
};

struct ViewOfBuffer {
  explicit ViewOfBuffer(std::uint32_t i) {
    std::memcpy(buffer, &i, sizeof(i));
    std::memcpy(buffer + sizeof(i), "and so on", 10);
  }
  std::string_view key() const { return {buffer, sizeof(buffer)}; }
  char buffer[14];
};

// Text that ends with a NUL, in an array of 24 characters.
struct Characters {
  explicit Characters(std::uint32_t i) {
    for (char& each : text) each = static_cast<char>('a' + (i & 15)), i >>= 4;
    text[23] = 0;
  }
  const auto& key() const { return text; }
  char text[24];
};

struct Printed {
  explicit Printed(std::uint32_t i) { std::snprintf(text, sizeof(text), "user:%u", i); }
  const auto& key() const { return text; }
  char text[24];
};

struct ToChars {
  explicit ToChars(std::uint32_t i) : end(std::to_chars(digits, digits + sizeof(digits), i).ptr) {}
  std::string_view key() const { return {digits, static_cast<std::size_t>(end - digits)}; }
  char digits[16];
  const char* end;
};

struct VectorOfBytes {
  explicit VectorOfBytes(std::uint32_t i) : bytes(16) { std::memcpy(bytes.data(), &i, sizeof(i)); }
  const auto& key() const { return bytes; }
  std::vector<std::byte> bytes;
};

struct String {
  explicit String(std::uint32_t i) : text("user:" + std::to_string(i)) {}
  const auto& key() const { return text; }
  std::string text;
};

// A view behind a number in a class of the user's, of bytes in another local variable.
struct Row {
  explicit Row(std::uint32_t i) : bytes{i, ~std::uint64_t{i}} {
    columns = {i, {reinterpret_cast<const char*>(bytes), sizeof(bytes)}};
  }
  Row(const Row&) = delete;
  const std::string_view& key() const { return columns.name; }
  std::uint64_t bytes[2];
  struct {
    std::uint64_t id;
    std::string_view name;
  } columns;
};

// A class of the user's that converts.
struct Named {
  explicit Named(std::uint32_t i) : name{i, ~i} {}
  const Named& key() const { return *this; }
  operator std::string_view() const { return {reinterpret_cast<const char*>(name), sizeof(name)}; }
  std::uint32_t name[2];
};

template <class... Form>
struct FormList {};
using Forms = FormList<Struct, ViewOfBuffer, Characters, TwoIntegers, ArrayOfBytes, Printed,
                       ToChars, VectorOfBytes, String, Row, Named, Integer>;
// What every class is tried with; hash_key, Filter and Reader are tried with all.
using FewForms = FormList<Struct, ViewOfBuffer>;
constexpr const char* kNames[] = {"Struct",       "ViewOfBuffer", "Characters", "TwoIntegers",
                                  "ArrayOfBytes", "Printed",      "ToChars",    "VectorOfBytes",
                                  "String",       "Row",          "Named",      "Integer"};

// The hash of key `i` of the form at this place in the list. It is in a source of its own, so
// nothing here points to what it reads.
nestline::Hash expected_hash(std::size_t form, std::uint32_t i, std::uint64_t seed);

}  // namespace consumers

#endif  // NESTLINE_TESTS_PACKAGING_CONSUMERS_FORMS_H_
