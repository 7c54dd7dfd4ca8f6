// The class Hash, and the function hash_key.
#include <pybind11/numpy.h>

#include <cstring>
#include <utility>

#include "lib/python/arguments.h"
#include "lib/python/bindings.h"
#include "lib/python/key_batch.h"
#include "lib/python/one_key.h"

namespace nestline::python {
namespace {

Hashes hash_of(py::handle keys, py::handle seed_argument) {
  const std::uint64_t seed = number_of(seed_argument, "seed");
  if (is_one_key(keys)) return Hashes(py::int_(hash_key(OneKey(keys), seed).value));
  const KeyBatch batch(keys, seed);
  py::array_t<std::uint64_t> hashes(static_cast<py::ssize_t>(batch.size()));
  std::uint64_t* const to = hashes.mutable_data();
  {
    const py::gil_scoped_release released;
    batch.each_piece([&](KeySpan piece, std::size_t first) {
      piece.visit([&](auto span) {
        for (std::size_t i = 0; i < span.size(); ++i) to[first + i] = hash_key(span[i], seed).value;
      });
    });
  }
  return Hashes(std::move(hashes));
}

}  // namespace

void bind_hashes(py::module_& module) {
  py::class_<Hashes>(module, "Hash", R"(Hash(value)

A key that is hashed already, or many: an int, or an array or a list of them. All
64 bits are used as they are, so they must be well mixed: a counter is not.

>>> filter = Filter(1000)
>>> filter.insert(Hash(0x9e3779b97f4a7c15))
True
>>> filter.insert(hash_key("user:17", filter.seed)), "user:17" in filter
(True, True)
)")
      .def(py::init([](py::object value) {
             if (py::isinstance<Hashes>(value)) return value.cast<Hashes>();
             if (is_one_key(value)) (void)integer_of(value);  // throws what is wrong with it
             return Hashes(std::move(value));
           }),
           py::arg("value"))
      .def_property_readonly("value", &hashes_in, "The hash or hashes.")
      .def("__repr__", [](py::handle hashes) {
        return py::str("nestline.Hash({!r})").format(hashes_in(hashes));
      });
  module.def("hash_key", &hash_of, py::arg("keys"), py::arg("seed") = 0,
             R"(hash_key(keys, seed=0)

The Hash under which a filter with this seed stores the key, or the keys: for
programs that keep hashes instead of keys, or ask many filters.

>>> filter = Filter.build(["a", "b"], seed=5, fpr=0.0001)
>>> filter.may_contain(hash_key(["a", "c"], 5))
array([ True, False])
)");
}

}  // namespace nestline::python
