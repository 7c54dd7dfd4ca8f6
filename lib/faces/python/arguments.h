// Arguments of Python that are not keys: numbers, texts that name a choice, paths, the options of
// filters, and out=. pybind11 hands over objects as they are; these functions turn them into what
// the library takes, so that each error names the argument. A bool is never taken for a number.
#ifndef NESTLINE_LIB_FACES_PYTHON_ARGUMENTS_H_
#define NESTLINE_LIB_FACES_PYTHON_ARGUMENTS_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/faces/python/key_batch.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 { namespace python {

// An int from 0 to 2**64 - 1. Throws TypeError, also for a bool, and OverflowError with the name.
std::uint64_t number_of(py::handle object, const char* name);
// The same, where the library takes an int: what does not fit becomes a number that it refuses.
int small_of(py::handle object, const char* name);
// An int or a float. Throws TypeError.
double real_of(py::handle object, const char* name);
// The same as seconds, from a millisecond to 1e6 of them. Throws std::invalid_argument too.
std::chrono::milliseconds duration_of(py::handle object, const char* name);
// A copy, since another thread could change the array after the check; negative ones become large.
// `noun` is one of them, and `none`, if given, the number of None. Throws TypeError and
// OverflowError that name the position.
std::vector<std::uint64_t> numbers_of(py::handle object, const char* noun,
                                      std::optional<std::uint64_t> none = std::nullopt);

// What the text names. Throws std::invalid_argument that lists all names.
template <typename Choice>
Choice named(const char* argument, const std::string& text,
             std::initializer_list<std::pair<const char*, Choice>> choices) {
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (text == name) return choice;
    names += std::string(names.empty() ? "'" : ", '") + name + "'";
  }
  throw std::invalid_argument(argument + (" is one of " + names) + ", not '" + text + "'");
}

// The capacity, or room for these keys if it is None.
py::object room_of(const py::object& capacity, const KeyBatch& keys);
std::filesystem::path path_of(py::handle object);
py::object path_as_text(std::string_view path);
Options options_of(py::handle capacity, const py::object& fpr, py::handle bits,
                   py::handle max_capacity, py::handle seed, py::handle load,
                   bool turns_over = false, bool may_fold = false,
                   const py::object& shrink_below = py::none());

// The end of a repr: "5 keys, load 0.50, 8 bits, false-positive rate 0.01".
template <typename Filter>
std::string figures_of(const Filter& filter) {
  return py::str("{} keys, load {:.3f}, {} bits, false-positive rate {:.2g}")
      .format(filter.size(), filter.load_factor(), filter.bits(), filter.expected_fpr())
      .template cast<std::string>();
}

// Answers, one byte for each key or one set of 64 bits, in `out` or a new array. Made and destroyed
// with the lock.
class Answers {
 public:
  enum class Kind { yes_or_no, numbers, outcomes, sets };

  // `out` is None, or a writable array apart from the keys; throws TypeError and ValueError.
  Answers(const KeyBatch& keys, const py::object& out, Kind kind);
  [[nodiscard]] std::span<std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::uint64_t> sets() const {
    return {reinterpret_cast<std::uint64_t*>(bytes_.data()), bytes_.size() / sizeof(std::uint64_t)};
  }
  // What the function of Python returns for many keys, and for one.
  [[nodiscard]] py::object array() const { return array_; }
  static py::object one(Kind kind, std::uint8_t answer);

  static std::span<Outcome> as_outcomes(std::span<std::uint8_t> bytes) {
    return {reinterpret_cast<Outcome*>(bytes.data()), bytes.size()};
  }

 private:
  py::object array_;
  std::optional<Buffer> buffer_;
  std::span<std::uint8_t> bytes_;
};

void bind_outcome(py::module_& module);

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_ARGUMENTS_H_
