// The class Maplet: keys that carry values. It has no batch form of replace and erase, as the
// library has none. A maplet is for many threads, so calls are shared() and never alone().
#include "nestline/maplet.h"

#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/faces/python/bindings.h"
#include "lib/faces/python/members.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

using PyMaplet = Box<Maplet>;

std::uint64_t value_of(py::handle object, const char* name) {
  const std::uint64_t value = number_of(object, name);
  if (value <= Maplet::kMaxValue) return value;
  PyErr_Format(PyExc_OverflowError, "%s is from 0 to 2**40 - 1", name);
  throw py::error_already_set();
}

std::vector<std::uint64_t> values_of(py::handle object, std::size_t keys) {
  std::vector<std::uint64_t> values = numbers_of(object, "value");
  if (values.size() != keys) {
    throw std::invalid_argument("there are " + std::to_string(keys) + " keys and " +
                                std::to_string(values.size()) + " values: give one for each key");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > Maplet::kMaxValue) {
      PyErr_Format(PyExc_OverflowError, "value %zu: a value is from 0 to 2**40 - 1", i);
      throw py::error_already_set();
    }
  }
  return values;
}

py::object insert_pairs(PyMaplet& held, py::handle keys, py::handle values, const py::object& out,
                        bool outcomes) {
  const auto maplet = held.shared();
  if (is_one_key(keys)) {
    if (!out.is_none()) throw py::type_error("out is for many keys");
    const OneKey key(keys);
    const Outcome outcome = maplet->insert(key, value_of(values, "value")).outcome;
    return Answers::one(kind_of(outcomes), shown(outcome, outcomes));
  }
  const KeyBatch batch(keys, maplet->seed());
  const std::vector<std::uint64_t> carried = values_of(values, batch.size());
  const std::span all(carried);
  const Answers answers(batch, out, kind_of(outcomes));
  {
    const Released released(batch.size());
    batch.each_piece(released, [&](KeySpan piece, std::size_t first) {
      const auto to = answers.bytes().subspan(first, piece.size());
      (void)maplet->insert(piece, all.subspan(first, piece.size()), Answers::as_outcomes(to));
      show(to, outcomes);
    });
  }
  return answers.array();
}

py::object candidates(PyMaplet& held, py::handle keys) {
  const auto maplet = held.shared();
  if (is_one_key(keys)) {
    std::array<std::uint64_t, Maplet::kMaxCandidates> values;
    const std::size_t count = maplet->find(OneKey(keys), values);
    py::list list;
    for (const std::uint64_t value : std::span(values).first(count)) list.append(value);
    return list;
  }
  const KeyBatch batch(keys, maplet->seed());
  std::vector<std::uint64_t> first_of{0}, values;
  {
    const Released released(batch.size());
    std::vector<std::uint32_t> piece_first;
    std::vector<std::uint64_t> piece_values;
    first_of.reserve(batch.size() + 1);
    batch.each_piece(released, [&](KeySpan piece, std::size_t) {
      maplet->find(piece, piece_first, piece_values);
      const std::uint64_t before = values.size();
      for (std::size_t i = 1; i < piece_first.size(); ++i) {
        first_of.push_back(before + piece_first[i]);
      }
      values.insert(values.end(), piece_values.begin(), piece_values.end());
    });
  }
  const auto array = [](const std::vector<std::uint64_t>& numbers) {
    return py::array_t<std::uint64_t>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
  };
  return py::make_tuple(array(first_of), array(values));
}

void bind_changes_of_maplet(py::class_<PyMaplet>& type) {
  type.def("insert", &insert_pairs, py::arg("keys"), py::arg("values"), py::arg("out") = py::none(),
           py::kw_only(), py::arg("outcomes") = false,
           R"(Adds the pair of a key and a value, or each pair of an array of keys and an array
of values. True for a pair that was added. False: there is no room.
)");
  type.def("candidates", &candidates, py::arg("keys"),
           R"(The values that a key may have: all of its own, and seldom one of another key, so
check each where it points. For one key a list of int. For many the arrays
(offsets, values): those of key i are values[offsets[i]:offsets[i + 1]].

>>> places = Maplet(1000)
>>> places.insert(["a", "b"], [10, 20])
array([ True,  True])
>>> places.candidates("a")
[10]
>>> places.candidates(["b", "c"])
(array([0, 1, 1], dtype=uint64), array([20], dtype=uint64))
)");
  type.def(
      "replace",
      [](PyMaplet& held, py::handle key, py::handle old_value, py::handle new_value) {
        const OneKey one(key);
        return held.shared()->replace(one, value_of(old_value, "old_value"),
                                      value_of(new_value, "new_value"));
      },
      py::arg("key"), py::arg("old_value"), py::arg("new_value"),
      "Gives one pair the new value, at one instant. False: there is no such pair.");
  type.def(
      "erase",
      [](PyMaplet& held, py::handle key, py::handle value) {
        const OneKey one(key);
        return held.shared()->erase(one, value_of(value, "value"));
      },
      py::arg("key"), py::arg("value"),
      "Removes one pair that was inserted. False: there is none.");
  method(type, "grow", &unlocked<&Maplet::grow, false, PyMaplet>,
         "Doubles the slots. False if no doubling is left.");
}

}  // namespace

void bind_maplet(py::module_& module) {
  py::class_<PyMaplet> type(
      module, "Maplet",
      R"(A filter that carries a value from 0 to 2**40 - 1 with each key, such as an offset
in a file. Any number of threads may read and change it at the same time.

>>> places = Maplet(1_000_000)
>>> places.insert("user:17", 4096)
True
>>> places.candidates("user:17"), places.candidates("user:18")
([4096], [])
)");
  type.def(py::init([](py::handle capacity, py::handle max_capacity, py::handle seed) {
             MapletOptions options;
             options.capacity = number_of(capacity, "capacity");
             options.max_capacity = number_of(max_capacity, "max_capacity");
             options.seed = number_of(seed, "seed");
             return boxed(Maplet(options));
           }),
           py::arg("capacity"), py::arg("max_capacity") = 0, py::arg("seed") = 0);
  bind_changes_of_maplet(type);
  bind_figures(type);
  type.def(
      "__contains__",
      [](PyMaplet& held, py::handle key) {
        std::array<std::uint64_t, Maplet::kMaxCandidates> values;
        return held.shared()->find(OneKey(key), values) != 0;
      },
      py::arg("key"), "Whether a key may have a value.");
  bind_files(type);
  type.def("__repr__", [](PyMaplet& held) {
    const auto maplet = held.shared();
    return py::str("<nestline.Maplet: {} pairs, load {:.3f}, false candidates {:.2g}>")
        .format(maplet->size(), maplet->load_factor(), maplet->expected_false_candidates());
  });
}

}}}  // namespace nestline::python
