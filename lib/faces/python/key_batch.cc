// Finds out what an object of Python is, and how its keys are read. A source converts keys from
// memory that it does not own, and needs no interpreter's lock.
#include "lib/faces/python/key_batch.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lib/faces/python/one_key.h"
#include "lib/faces/python/utf8.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

// An array's items: `bytes` apart, which may be negative.
struct Items {
  const char* begin;
  std::ptrdiff_t apart;

  [[nodiscard]] const char* at(std::size_t i) const {
    return begin + static_cast<std::ptrdiff_t>(i) * apart;
  }
};

template <typename T>
T loaded(const char* from, bool swapped) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (swapped) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

// A source of what number(i) returns for key i.
template <typename Number>
class SourceOf final : public KeySource {
 public:
  explicit SourceOf(Number number) : number_(std::move(number)) {}
  void convert(std::size_t first, std::span<std::uint64_t> to) const final {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = number_(first + i);
  }
  void gather(std::span<const std::uint32_t> positions, std::uint64_t* to) const final {
    for (const std::uint32_t position : positions) *to++ = number_(position);
  }

 private:
  Number number_;
};

template <typename Number>
std::unique_ptr<KeySource> source_of(Number number) {
  return std::make_unique<SourceOf<Number>>(std::move(number));
}

template <typename String>
std::unique_ptr<KeySource> string_source(std::uint64_t seed, String string) {
  return source_of([=](std::size_t i) { return hash_key(string(i), seed).value; });
}

// NumPy's 'S': so many bytes each, filled up with NUL.
std::unique_ptr<KeySource> fixed_bytes(Items items, std::size_t width, std::uint64_t seed) {
  return string_source(seed, [=](std::size_t i) {
    const std::string_view all(items.at(i), width);
    return all.substr(0, all.find_last_not_of('\0') + 1);
  });
}

// NumPy's 'U': so many code points each, filled up with NUL.
class FixedText {
 public:
  // Throws std::invalid_argument for the first string that UTF-8 does not have.
  FixedText(Items items, std::size_t size, std::size_t bytes, bool swapped)
      : items_(items),
        width_(bytes / sizeof(std::uint32_t)),
        swapped_(swapped),
        utf8_(width_ * kMaxUtf8, '\0') {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t at = 0; at < width_; ++at) {
        if (!is_scalar(point(i, at))) {
          throw std::invalid_argument("key " + std::to_string(i) +
                                      " has a code point that UTF-8 does not have");
        }
      }
    }
  }

  // The string is good until the next call. One thread uses a source.
  std::string_view operator()(std::size_t i) const {
    std::size_t length = width_;
    while (length != 0 && point(i, length - 1) == 0) --length;
    char* end = utf8_.data();
    for (std::size_t at = 0; at < length; ++at) end = put_utf8(point(i, at), end);
    return {utf8_.data(), static_cast<std::size_t>(end - utf8_.data())};
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

template <typename Signed, typename Unsigned>
std::unique_ptr<KeySource> integers(bool is_signed, Items items, bool swapped) {
  const auto read = [=]<typename T, bool other>(T, std::bool_constant<other>) {
    return source_of(
        [=](std::size_t i) { return static_cast<std::uint64_t>(loaded<T>(items.at(i), other)); });
  };
  const auto in_order = [&](auto type) {
    return swapped ? read(type, std::true_type()) : read(type, std::false_type());
  };
  return is_signed ? in_order(Signed()) : in_order(Unsigned());
}

// Integers of so many bytes. Throws TypeError for widths that no key has.
std::unique_ptr<KeySource> integer_source(std::size_t width, bool is_signed, Items items,
                                          bool swapped) {
  switch (width) {
    case 1:
      return integers<std::int8_t, std::uint8_t>(is_signed, items, false);
    case 2:
      return integers<std::int16_t, std::uint16_t>(is_signed, items, swapped);
    case 4:
      return integers<std::int32_t, std::uint32_t>(is_signed, items, swapped);
    case 8:
      return integers<std::uint64_t, std::uint64_t>(false, items, swapped);
    default:
      throw py::type_error("integer keys have 8, 16, 32 or 64 bits");
  }
}

template <typename T>
std::span<const T> items_in(const char* begin, std::size_t size) {
  return {reinterpret_cast<const T*>(begin), size};
}

// An array as it is in memory, where the library takes it so.
std::optional<KeySpan> as_it_is(const char* begin, std::size_t size, std::size_t width,
                                bool is_signed, bool hashes) {
  if (reinterpret_cast<std::uintptr_t>(begin) % width != 0) return std::nullopt;
  if (hashes) {
    if (width != sizeof(Hash)) return std::nullopt;
    return items_in<Hash>(begin, size);
  }
  if (width == 8) return items_in<std::uint64_t>(begin, size);
  if (width != 4) return std::nullopt;
  if (is_signed) return items_in<std::int32_t>(begin, size);
  return items_in<std::uint32_t>(begin, size);
}

class ListReader {
 public:
  explicit ListReader(const Wanted& wanted) : wanted_(wanted) {}

  std::uint64_t number(PyObject* item, std::size_t position) {
    if (item == Py_None && wanted_.none) return *wanted_.none;
    if (PyBytes_Check(item)) {
      expect(Kind::bytes, item, position);
      return hash({PyBytes_AS_STRING(item), static_cast<std::size_t>(PyBytes_GET_SIZE(item))});
    }
    if (PyUnicode_Check(item)) {
      expect(Kind::text, item, position);
      return hash(text_of(item));
    }
    if (!PyLong_Check(item)) {
      if (!is_one_key(item)) refuse(item, position);
      if (py::isinstance<Hashes>(item)) {
        expect(Kind::hashes, item, position);
        return integer_of(hashes_in(item));
      }
      if (!PyIndex_Check(item)) {
        expect(Kind::bytes, item, position);
        return hash(Buffer(item, PyBUF_SIMPLE).text());
      }
    }
    if (PyBool_Check(item)) refuse(item, position);
    expect(Kind::integers, item, position);
    try {
      return integer_of(item);
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_OverflowError)) throw;
      PyErr_Format(PyExc_OverflowError, "%s %zu: an integer is from -2**63 to 2**64 - 1",
                   wanted_.noun.c_str(), position);
      throw py::error_already_set();
    }
  }

  [[nodiscard]] bool are_hashes() const {
    return wanted_.kind == Wanted::Kind::hashes ||
           (kind_ != Kind::integers && !wanted_.only_integers());
  }

 private:
  enum class Kind { none, integers, text, bytes, hashes };

  [[nodiscard]] std::uint64_t hash(std::string_view string) const {
    return hash_key(string, wanted_.seed).value;
  }

  // Not by the interpreter's own function, which would keep the UTF-8 in the object for ever.
  std::string_view text_of(PyObject* item) {
    if (PyUnicode_READY(item) != 0) throw py::error_already_set();
    const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(item));
    const void* const data = PyUnicode_DATA(item);
    if (PyUnicode_IS_ASCII(item)) return {static_cast<const char*>(data), length};
    const auto kind = PyUnicode_KIND(item);
    if (utf8_.size() < length * kMaxUtf8) utf8_.resize(length * kMaxUtf8);
    char* end = utf8_.data();
    for (std::size_t i = 0; i < length; ++i) {
      const std::uint32_t point = PyUnicode_READ(kind, data, i);
      if (!is_scalar(point)) return utf8_of(item);  // throws
      end = put_utf8(point, end);
    }
    return {utf8_.data(), static_cast<std::size_t>(end - utf8_.data())};
  }

  void expect(Kind kind, PyObject* item, std::size_t position) {
    if (kind_ == Kind::none) {
      if (wanted_.only_integers() && kind != Kind::integers) refuse(item, position);
      kind_ = kind;
    }
    if (kind != kind_) {
      if (wanted_.only_integers()) refuse(item, position);
      throw py::type_error("key " + std::to_string(position) + " is " + Py_TYPE(item)->tp_name +
                           ", and keys before it are of another kind: a list has keys of one kind");
    }
  }

  [[noreturn]] void refuse(PyObject* item, std::size_t position) const {
    throw py::type_error(wanted_.noun + " " + std::to_string(position) + " is " +
                         Py_TYPE(item)->tp_name + ": " + wanted_.rule());
  }

  const Wanted& wanted_;
  Kind kind_ = Kind::none;
  std::string utf8_;
};

[[noreturn]] void refuse_array(const std::string& type, const Wanted& wanted) {
  throw py::type_error("an array of type '" + type + "' has no " + wanted.plural() + ": " +
                       (wanted.kind == Wanted::Kind::keys
                            ? "keys are integers, or strings of NumPy's types S and U"
                            : wanted.rule()));
}

}  // namespace

std::string Wanted::rule() const {
  switch (kind) {
    case Kind::hashes:
      return "a hash is an integer of 64 bits";
    case Kind::numbers:
      return "a " + noun + " is an integer" + (none ? " or None" : "");
    case Kind::keys:
      break;
  }
  return "a key is an int, a str, bytes or a nestline.Hash";
}

KeyBatch::KeyBatch(py::handle keys, std::uint64_t seed, const char* noun,
                   std::optional<std::uint64_t> none) {
  Wanted wanted{.seed = seed};
  if (noun != nullptr) wanted = {.kind = Wanted::Kind::numbers, .noun = noun, .none = none};
  keep_ = py::reinterpret_borrow<py::object>(keys);
  if (py::isinstance<Hashes>(keep_) && noun == nullptr) {
    keep_ = hashes_in(keep_);
    wanted = {.kind = Wanted::Kind::hashes, .noun = "hash"};
  }
  if (py::isinstance<StringArray>(keep_) && !wanted.only_integers()) {
    use_strings(keep_.cast<const StringArray&>(), seed);
  } else if (PyList_Check(keep_.ptr()) || PyTuple_Check(keep_.ptr())) {
    read_list(keep_, wanted);
  } else if (is_one_key(keep_) ||
             !(PyObject_CheckBuffer(keep_.ptr()) != 0 || attribute_of(keep_, "__array__"))) {
    const PyTypeObject* const type = Py_TYPE(keep_.ptr());
    throw py::type_error(
        wanted.plural() + " are an array, a list or a tuple" +
        (wanted.only_integers() ? "" : ", a nestline.StringArray or a nestline.Hash of an array") +
        ", not " + type->tp_name +
        (type->tp_iter != nullptr ? ": give list(" + wanted.plural() + ")"
         : is_one_key(keep_)      ? ""
                                  : "; " + wanted.rule()));
  } else {
    read_array(wanted);
  }
}

void KeyBatch::use_strings(const StringArray& strings, std::uint64_t seed) {
  size_ = strings.size();
  std::ranges::copy(strings.memory(), std::back_inserter(read_));
  source_ = string_source(seed, [own = &strings](std::size_t i) { return own->string(i); });
  hashes_ = true;
}

void KeyBatch::read_list(py::handle keys, const Wanted& wanted) {
  constexpr std::size_t kAhead = 8;  // the objects lie anywhere in memory
  const bool is_list = PyList_Check(keys.ptr());
  const auto size_now = [&] {
    return static_cast<std::size_t>(is_list ? PyList_GET_SIZE(keys.ptr())
                                            : PyTuple_GET_SIZE(keys.ptr()));
  };
  size_ = size_now();
  numbers_.resize(size_);
  ListReader reader(wanted);
  for (std::size_t i = 0; i < size_; ++i) {
    // __index__ of an item can run anything.
    if (size_now() != size_) throw std::runtime_error("the list was changed while it was read");
    PyObject* const* const items = is_list ? reinterpret_cast<PyListObject*>(keys.ptr())->ob_item
                                           : reinterpret_cast<PyTupleObject*>(keys.ptr())->ob_item;
    __builtin_prefetch(items[std::min(i + kAhead, size_ - 1)]);
    const auto item = py::reinterpret_borrow<py::object>(items[i]);
    numbers_[i] = reader.number(item.ptr(), i);
    if (i % kPiece == kPiece - 1) run_signal_handlers();
  }
  hashes_ = reader.are_hashes();
  direct_ = span_of(numbers_);
}

void KeyBatch::read_array(const Wanted& wanted) {
  if (PyObject_CheckBuffer(keep_.ptr()) == 0) {  // a column of pandas, and the like
    keep_ = object_from([&] { return PyObject_CallMethod(keep_.ptr(), "__array__", nullptr); });
  }
  const std::optional<std::int64_t> dimensions = dimensions_of(keep_);
  if (dimensions == 1 && std::string_view("iuSUO").find(kind_of(keep_)) == std::string_view::npos) {
    // Dates and others have no buffer.
    const auto length = in_python([&] { return PyObject_Size(keep_.ptr()); });
    if (length < 0) throw py::error_already_set();
    if (length != 0) refuse_array(type_of(keep_), wanted);
    return;  // no keys, whatever they would be
  }
  if (dimensions == 0)
    throw py::type_error(wanted.plural() + " are an array of one dimension, or a list");
  if (dimensions.value_or(1) != 1) {
    throw std::invalid_argument(wanted.plural() + " have one dimension: use array.ravel()");
  }
  const Py_buffer& view = buffer_.emplace(keep_, PyBUF_RECORDS_RO).view();
  if (view.ndim != 1)
    throw py::type_error(wanted.plural() + " are an array of one dimension, or a list");
  const ItemType type = ItemType::of(view);
  if (type.code == 'O') {
    const py::list list(keep_);
    buffer_.reset();
    return read_list(list, wanted);
  }
  size_ = static_cast<std::size_t>(view.shape[0]);
  const bool hashes = wanted.kind == Wanted::Kind::hashes;
  const auto width = static_cast<std::size_t>(view.itemsize);
  const Items items{static_cast<const char*>(view.buf),
                    view.strides == nullptr ? view.itemsize : view.strides[0]};
  if (size_ != 0) {
    const std::ptrdiff_t span = static_cast<std::ptrdiff_t>(size_ - 1) * items.apart;
    read_.emplace_back(items.begin + std::min<std::ptrdiff_t>(span, 0),
                       static_cast<std::size_t>(std::abs(span)) + width);
  }
  if (type.is_integer() && (!hashes || width == sizeof(Hash))) {
    hashes_ = hashes;
    const bool together = items.apart == view.itemsize || size_ <= 1;
    if (together && !type.swapped) {
      if (const auto direct = as_it_is(items.begin, size_, width, type.is_signed(), hashes)) {
        direct_ = *direct;
        return;
      }
    }
    source_ = integer_source(width, type.is_signed(), items, type.swapped);
  } else if (type.code == 's' && !wanted.only_integers()) {
    source_ = fixed_bytes(items, width, wanted.seed);
    hashes_ = true;
  } else if (type.code == 'w' && !wanted.only_integers()) {
    source_ = string_source(wanted.seed, FixedText(items, size_, width, type.swapped));
    hashes_ = true;
  } else if (size_ != 0) {
    refuse_array(view.format == nullptr ? "B" : view.format, wanted);
  }
}

KeySpan KeyBatch::span_of(std::span<const std::uint64_t> numbers) const {
  if (!hashes_) return numbers;
  static_assert(sizeof(Hash) == sizeof(std::uint64_t));
  return items_in<Hash>(reinterpret_cast<const char*>(numbers.data()), numbers.size());
}

KeySpan KeyBatch::whole(const Released& released) {
  if (source_ != nullptr) {
    numbers_.resize(size_);
    for_pieces(size_, kPiece, released, [&](std::size_t first, std::size_t size) {
      source_->convert(first, std::span(numbers_).subspan(first, size));
    });
    direct_ = span_of(numbers_);
    source_ = nullptr;
  }
  return direct_;
}

void KeyBatch::gather(std::span<const std::uint32_t> positions, std::uint64_t* to) const {
  if (source_ != nullptr) return source_->gather(positions, to);
  direct_.visit([&](auto keys) {
    using Key = typename decltype(keys)::value_type;
    for (const std::uint32_t position : positions) {
      if constexpr (IntegerKey<Key>) {
        *to++ = static_cast<std::uint64_t>(keys[position]);
      } else if constexpr (std::is_same_v<Key, Hash>) {
        *to++ = keys[position].value;
      }
    }
  });
}

bool KeyBatch::overlaps(const void* memory, std::size_t bytes) const {
  const auto* const begin = static_cast<const char*>(memory);
  const std::less<const char*> before;
  return bytes != 0 && std::ranges::any_of(read_, [&](std::string_view read) {
           return before(read.data(), begin + bytes) && before(begin, read.data() + read.size());
         });
}

}}}  // namespace nestline::python
