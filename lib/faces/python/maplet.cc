// The classes Maplet and MappedMaplet: keys that carry values. They have no batch form of replace
// and erase, as the library has none. A maplet is for many threads, so calls are shared() and never
// alone().
#include "nestline/maplet.h"

#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/faces/python/bindings.h"
#include "lib/faces/python/mapped.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

using PyMaplet = Box<Maplet>;
using PyMappedMaplet = MappedBox<MappedMaplet>;

[[noreturn]] void refuse_value(const Maplet& maplet, const std::string& what) {
  PyErr_Format(PyExc_OverflowError, "%s is from 0 to 2**%d - 1", what.c_str(), maplet.value_bits());
  throw py::error_already_set();
}

std::uint64_t value_of(const Maplet& maplet, py::handle object, const char* name) {
  const std::uint64_t value = number_of(object, name);
  if (value > maplet.max_value()) refuse_value(maplet, name);
  return value;
}

// `also`: another number that may be among them.
void check_values(const Maplet& maplet, std::span<const std::uint64_t> values, std::uint64_t also) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > maplet.max_value() && values[i] != also) {
      refuse_value(maplet, "value " + std::to_string(i) + ": a value");
    }
  }
}

std::vector<std::uint64_t> values_of(const Maplet& maplet, py::handle object, std::size_t keys) {
  std::vector<std::uint64_t> values = numbers_of(object, "value");
  if (values.size() != keys) {
    throw std::invalid_argument("there are " + std::to_string(keys) + " keys and " +
                                std::to_string(values.size()) + " values: give one for each key");
  }
  check_values(maplet, values, 0);
  return values;
}

MapletOptions options_of(py::handle capacity, py::handle max_capacity, py::handle seed,
                         py::handle value_bits, py::handle fpr) {
  MapletOptions options;
  options.capacity = number_of(capacity, "capacity");
  options.max_capacity = number_of(max_capacity, "max_capacity");
  options.seed = number_of(seed, "seed");
  options.value_bits = small_of(value_bits, "value_bits");
  options.fpr = real_of(fpr, "fpr");
  return options;
}

std::unique_ptr<PyMaplet> build_maplet(py::handle keys, py::handle values,
                                       const py::object& capacity, py::handle max_capacity,
                                       py::handle seed, py::handle value_bits, py::handle fpr) {
  KeyBatch batch(keys, number_of(seed, "seed"));
  const MapletOptions options =
      options_of(room_of(capacity, batch), max_capacity, seed, value_bits, fpr);
  const Maplet alike({.capacity = 1, .value_bits = options.value_bits});
  const std::vector<std::uint64_t> carried = values_of(alike, values, batch.size());
  const Released released;
  return boxed(Maplet::build(options, batch.whole(released), carried));
}

py::object insert_pairs(PyMaplet& held, py::handle keys, py::handle values, const py::object& out,
                        bool outcomes) {
  const auto maplet = held.shared();
  if (is_one_key(keys)) {
    if (!out.is_none()) throw py::type_error("out is for many keys");
    const OneKey key(keys);
    const Outcome outcome = maplet->insert(key, value_of(*maplet, values, "value")).outcome;
    return Answers::one(kind_of(outcomes), shown(outcome, outcomes));
  }
  const KeyBatch batch(keys, maplet->seed());
  const std::vector<std::uint64_t> carried = values_of(*maplet, values, batch.size());
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

template <typename Held>
py::object candidates(Held& held, py::handle keys) {
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

std::uint64_t mask_of(const py::object& anywhere) {
  return anywhere.is_none() ? ~std::uint64_t{0} : number_of(anywhere, "anywhere");
}

template <typename Held>
std::uint64_t find_set(Held& held, py::handle key, const py::object& anywhere) {
  const OneKey one(key);
  const std::uint64_t mask = mask_of(anywhere);
  return held.shared()->find_set(one, mask);
}

template <typename Held>
py::object find_sets(Held& held, py::handle keys, const py::object& out,
                     const py::object& anywhere) {
  const auto maplet = held.shared();
  const std::uint64_t mask = mask_of(anywhere);
  const KeyBatch batch(keys, maplet->seed());
  const Answers answers(batch, out, Answers::Kind::sets);
  {
    const Released released(batch.size());
    batch.each_piece(released, [&](KeySpan piece, std::size_t first) {
      maplet->find_sets(piece, answers.sets().subspan(first, piece.size()), mask);
    });
  }
  return answers.array();
}

template <typename Held>
bool has(Held& held, py::handle key) {
  const OneKey one(key);
  return held.shared()->find_set(one) != 0;
}

std::uint64_t erase_value(PyMaplet& held, py::handle value) {
  const auto maplet = held.shared();
  const std::uint64_t one = value_of(*maplet, value, "value");
  const Released released;
  return maplet->erase_value(one);
}

std::uint64_t rename_values(PyMaplet& held, py::handle table) {
  const auto maplet = held.shared();
  const std::vector<std::uint64_t> values = numbers_of(table, "value", Maplet::kErased);
  check_values(*maplet, values, Maplet::kErased);
  const Released released;
  return maplet->rename(values);
}

void merge_maplets(PyMaplet& held, PyMaplet& other) {
  const auto maplet = held.shared();
  const auto added = other.shared();
  const Released released;
  maplet->merge(*added);
}

bool can_merge_maplets(PyMaplet& held, PyMaplet& other) {
  return held.shared()->can_merge(*other.shared());
}

template <typename Held>
void bind_lookups_of_maplet(py::class_<Held>& type) {
  method(type, "candidates", &candidates<Held>,
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
)",
         py::arg("keys"));
  method(type, "find_set", &find_set<Held>,
         R"(The candidates of a key as a set: bit v for value v, and the bits of anywhere (None:
all 64) for a candidate that is maplet.anywhere or 64 or more.

>>> runs = Maplet(1000, value_bits=4)
>>> runs.insert("a", 0), runs.insert("a", 5), runs.insert("b", runs.anywhere)
(True, True, True)
>>> bin(runs.find_set("a")), bin(runs.find_set("b", anywhere=0b11))
('0b100001', '0b11')
)",
         py::arg("key"), py::arg("anywhere") = py::none());
  method(type, "find_sets", &find_sets<Held>,
         R"(The sets of many keys, as an array of uint64.

>>> runs = Maplet.build(["a", "b"], [0, 5], value_bits=4, fpr=0.01)
>>> runs.find_sets(["b", "a", "c"])
array([32,  1,  0], dtype=uint64)
)",
         py::arg("keys"), py::arg("out") = py::none(), py::arg("anywhere") = py::none());
  method(type, "__contains__", &has<Held>, "Whether a key may have a value.", py::arg("key"));
  bind_figures(type);
}

void bind_changes_of_maplet(py::class_<PyMaplet>& type) {
  type.def("insert", &insert_pairs, py::arg("keys"), py::arg("values"), py::arg("out") = py::none(),
           py::kw_only(), py::arg("outcomes").noconvert() = false,
           R"(Adds the pair of a key and a value, or each pair of an array of keys and an array
of values. True for a pair that was added. False: there is no room. Where a key has
max_copies pairs, the value maplet.anywhere takes the place of one of them.
)");
  type.def(
      "replace",
      [](PyMaplet& held, py::handle key, py::handle old_value, py::handle new_value) {
        const OneKey one(key);
        const auto maplet = held.shared();
        return maplet->replace(one, value_of(*maplet, old_value, "old_value"),
                               value_of(*maplet, new_value, "new_value"));
      },
      py::arg("key"), py::arg("old_value"), py::arg("new_value"),
      "Gives one pair the new value, at one instant. False: there is no such pair.");
  type.def(
      "erase",
      [](PyMaplet& held, py::handle key, py::handle value) {
        const OneKey one(key);
        const auto maplet = held.shared();
        return maplet->erase(one, value_of(*maplet, value, "value"));
      },
      py::arg("key"), py::arg("value"),
      "Removes one pair that was inserted. False: there is none.");
  method(type, "erase_value", &erase_value,
         R"(Erases all pairs with this value, without their keys, in one pass over the memory.
Returns how many there were. Lookups go on meanwhile, changes wait.

>>> runs = Maplet.build(["a", "b", "c"], [1, 2, 2], value_bits=4)
>>> runs.erase_value(2), len(runs)
(2, 1)
)",
         py::arg("value"));
  method(type, "rename", &rename_values,
         R"(Gives each pair with a value v below len(table) the value table[v], in one pass as
erase_value. None, or Maplet.ERASED, which is -1 in arrays of signed integers,
erases it. Several values may become one. Returns how many pairs have changed.

>>> runs = Maplet.build(["a", "b", "c"], [0, 1, 2], value_bits=4)
>>> runs.rename([0, 0, None])
2
>>> runs.candidates("b"), runs.candidates("c")
([0], [])
)",
         py::arg("table"));
  method(type, "merge", &merge_maplets,
         R"(Adds all pairs of another Maplet with the same value_bits, fpr, seed and number of
blocks; so does maplet |= other. Otherwise, and when there is no room, ValueError:
the maplet is then unchanged.

>>> runs, more = Maplet(1000, value_bits=4), Maplet(1000, value_bits=4)
>>> runs.insert("a", 1), more.insert("a", 2)
(True, True)
>>> runs |= more
>>> sorted(runs.candidates("a"))
[1, 2]
)",
         py::arg("other"));
  method(type, "can_merge", &can_merge_maplets,
         "Whether merge takes the other one, if there is room.", py::arg("other"));
  bind_ior(type);
  method(type, "grow", &unlocked<&Maplet::grow, false, PyMaplet>,
         "Doubles the slots. False if no doubling is left.");
  bind_shrinking<false, Maplet, PyMaplet>(type);
}

void bind_mapped_maplet(py::module_& module) {
  py::class_<PyMappedMaplet> type(module, "MappedMaplet",
                                  R"(A Maplet that answers from its file, as a MappedFilter does.

>>> Maplet.build(["a", "b"], [1, 2], value_bits=4, fpr=0.01).save("runs.nest")
>>> with MappedMaplet("runs.nest") as runs:
...     runs.candidates("b"), runs.find_set("b")
([2], 4)
)");
  bind_mapped(type,
              R"(One over bytes that are in memory already, as MappedFilter.view.

>>> import mmap
>>> data = Maplet.build(["a"], [1], value_bits=4).to_bytes()
>>> memory = mmap.mmap(-1, len(data))
>>> memory[:] = data
>>> with MappedMaplet.view(memory) as runs:
...     runs.candidates("a")
[1]
)");
  bind_lookups_of_maplet(type);
  type.def("__repr__", [](PyMappedMaplet& held) {
    if (!held.is_open()) return py::str("<nestline.MappedMaplet: closed>");
    const auto maplet = held.shared();
    return py::str("<nestline.MappedMaplet: {} pairs, values of {} bits>")
        .format(maplet->size(), maplet->value_bits());
  });
}

}  // namespace

void bind_maplet(py::module_& module) {
  py::class_<PyMaplet> type(
      module, "Maplet",
      R"(A filter that carries a value with each key, such as an offset in a file or the
number of a file. Any number of threads may read and change it at the same time.

capacity      pairs it must hold
max_capacity  above capacity: it grows by itself up to here
seed          of the hash, as of a Filter
value_bits    of a value: 4, 8, 16 or 40
fpr           most false candidates of an absent key; 0: what takes the least memory

>>> places = Maplet(1_000_000)
>>> places.insert("user:17", 4096)
True
>>> places.candidates("user:17"), places.candidates("user:18")
([4096], [])
)");
  type.def(py::init([](py::handle capacity, py::handle max_capacity, py::handle seed,
                       py::handle value_bits, py::handle fpr) {
             return boxed(Maplet(options_of(capacity, max_capacity, seed, value_bits, fpr)));
           }),
           py::arg("capacity"), py::arg("max_capacity") = 0, py::arg("seed") = 0,
           py::arg("value_bits") = 40, py::arg("fpr") = 0);
  type.attr("ERASED") = py::int_(Maplet::kErased);
  type.def_static(
      "build", &build_maplet, py::arg("keys"), py::arg("values"), py::kw_only(),
      py::arg("capacity") = py::none(), py::arg("max_capacity") = 0, py::arg("seed") = 0,
      py::arg("value_bits") = 40, py::arg("fpr") = 0,
      R"(A maplet of the pairs of an array of keys and an array of values, in less time than
by inserts; for as many as there are if no capacity is given. ValueError when a pair
finds no room.

>>> runs = Maplet.build(["a", "b", "a"], [0, 1, 2], value_bits=4)
>>> sorted(runs.candidates("a"))
[0, 2]
)");
  bind_changes_of_maplet(type);
  bind_lookups_of_maplet(type);
  bind_files(type);
  type.def("__repr__", [](PyMaplet& held) {
    const auto maplet = held.shared();
    return py::str(
               "<nestline.Maplet: {} pairs, values of {} bits, load {:.3f}, "
               "false candidates {:.2g}>")
        .format(maplet->size(), maplet->value_bits(), maplet->load_factor(),
                maplet->expected_false_candidates());
  });
  bind_mapped_maplet(module);
}

}}}  // namespace nestline::python
