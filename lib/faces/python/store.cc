// The class Store: a dict of bytes on disk. All work on the disk is done with the interpreter's
// lock released, and nothing of Python is called from inside a lookup of the library.
#include "nestline/store.h"

#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/faces/python/bindings.h"
#include "lib/faces/python/members.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

class PyStore : public Box<Store> {
 public:
  PyStore(Store&& store, bool read_only) : Box(std::move(store)), read_only_(read_only) {}
  [[nodiscard]] bool is_read_only() const { return read_only_; }

 private:
  bool read_only_;
};
using Record = std::pair<std::string, std::string>;

constexpr const char* kKey = "a key of a store";
constexpr const char* kValue = "a value of a store";

// What work(store) returns, or work(store, released), with the interpreter's lock released.
template <typename Work>
auto with_store(PyStore& held, Work&& work) {
  const auto store = held.shared();
  const Released released;
  if constexpr (requires { work(*store, released); }) {
    return work(*store, released);
  } else {
    return work(*store);
  }
}

std::optional<std::string> found(PyStore& held, py::handle key) {
  const Bytes bytes(key, kKey);
  std::string value;
  const bool there = with_store(held, [&](Store& store) { return store.get(bytes, value); });
  return there ? std::optional(std::move(value)) : std::nullopt;
}

[[noreturn]] void missing(py::handle key) {
  PyErr_SetObject(PyExc_KeyError, key.ptr());
  throw py::error_already_set();
}

template <auto member>
auto of_key(PyStore& held, py::handle key) {
  const Bytes bytes(key, kKey);
  return with_store(held, [&](Store& store) { return (store.*member)(bytes); });
}
template <auto member>
auto of_pair(PyStore& held, py::handle key, py::handle value) {
  const Bytes key_bytes(key, kKey), value_bytes(value, kValue);
  return with_store(held, [&](Store& store) {
    if constexpr (std::is_same_v<decltype(member), decltype(&Store::insert_unique)>) {
      return static_cast<bool>((store.*member)(key_bytes, value_bytes));
    } else {
      (store.*member)(key_bytes, value_bytes);
    }
  });
}

py::list list_of(py::handle iterable) {
  return object_from([&] { return PySequence_List(iterable.ptr()); });
}

// Many keys in one call: the library reads them from the disk side by side.
py::list get_many(PyStore& held, py::handle keys) {
  const py::list objects = list_of(keys);
  std::vector<std::unique_ptr<Bytes>> kept;
  std::vector<std::string_view> views;
  for (const py::handle key : objects) {
    kept.push_back(std::make_unique<Bytes>(key, kKey));
    views.push_back(*kept.back());
  }
  std::vector<std::optional<std::string>> values(views.size());
  with_store(held, [&](Store& store) {
    store.get(views, [&](std::size_t i, std::string_view value) { values[i].emplace(value); });
  });
  py::list list(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    list[i] = values[i] ? py::object(py::bytes(*values[i])) : py::object(py::none());
  }
  return list;
}

void write(PyStore& held, const py::object& changes) {
  Store::Batch batch;
  const auto items = [&] { return PyObject_CallMethod(changes.ptr(), "items", nullptr); };
  const py::list pairs = list_of(attribute_of(changes, "items") ? object_from(items) : changes);
  for (const py::handle pair : pairs) {
    if (!PyTuple_Check(pair.ptr()) || PyTuple_GET_SIZE(pair.ptr()) != 2) {
      throw py::type_error(
          "changes are a dict, or pairs (key, value); the value None removes a key");
    }
    const auto change = py::reinterpret_borrow<py::tuple>(pair);
    const py::object key = change[0], value = change[1];
    if (value.is_none()) {
      batch.erase(Bytes(key, kKey));
    } else {
      batch.put(Bytes(key, kKey), Bytes(value, kValue));
    }
  }
  with_store(held, [&](Store& store) { store.write(batch); });
}

template <auto make>
py::iterator iterate(PyStore& held) {
  std::vector<Record> records;
  with_store(held, [&](Store& store, const Released& released) {
    store.for_each([&](std::string_view key, std::string_view value) {
      released.let_signals_in();
      records.emplace_back(key, value);
    });
  });
  py::list list(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record record = std::move(records[i]);  // freed as it goes
    list[i] = make(record);
  }
  return py::iter(list);
}

py::object only_key(const Record& record) { return py::bytes(record.first); }
py::object only_value(const Record& record) { return py::bytes(record.second); }
py::object both_of(const Record& record) {
  return py::make_tuple(py::bytes(record.first), py::bytes(record.second));
}

// With the interpreter's lock for each record, and without all of them in memory.
void for_each(PyStore& held, const py::function& with) {
  with_store(held, [&](Store& store, const Released& released) {
    store.for_each([&](std::string_view key, std::string_view value) {
      released.call([&] {
        const py::bytes key_bytes(key.data(), key.size()), value_bytes(value.data(), value.size());
        (void)object_from([&] {
          return PyObject_CallFunctionObjArgs(with.ptr(), key_bytes.ptr(), value_bytes.ptr(),
                                              nullptr);
        });
      });
    });
  });
}

py::object stats_of(PyStore& held) {
  const StoreStats stats = held.shared()->stats();
  using namespace py::literals;
  const py::dict figures("records"_a = stats.records, "live_bytes"_a = stats.live_bytes,
                         "dead_bytes"_a = stats.dead_bytes, "segments"_a = stats.segments,
                         "index_bytes"_a = stats.index_bytes, "index_slots"_a = stats.index_slots,
                         "overflow_keys"_a = stats.overflow_keys, "reads"_a = stats.reads,
                         "false_reads"_a = stats.false_reads, "lookups"_a = stats.lookups,
                         "found"_a = stats.found, "syncs"_a = stats.syncs,
                         "replayed_records"_a = stats.replayed_records,
                         "cut_bytes"_a = stats.cut_bytes, "cut_records"_a = stats.cut_records,
                         "background_error"_a = stats.background_error);
  return py::module_::import("nestline._renamed").attr("Stats")(figures);
}

// Syncs first, to report its error. A checkpoint that fails is none: the log has everything.
void close_store(PyStore& held) {
  std::optional<Store> store = held.take();
  const Released released;
  if (!store) return;
  if (!held.is_read_only()) store->sync();
  store.reset();
}

void bind_records(py::class_<PyStore>& type) {
  type.def("__contains__", &of_key<&Store::contains>, py::arg("key"), "Whether the key is there.");
  type.def("__len__", [](PyStore& held) { return held.shared()->size(); });
  type.def(
      "__getitem__",
      [](PyStore& held, py::handle key) {
        const auto value = found(held, key);
        if (!value) missing(key);
        return py::bytes(*value);
      },
      py::arg("key"), "The value of the key; KeyError if it is not there.");
  type.def("__setitem__", &of_pair<&Store::put>, py::arg("key"), py::arg("value"),
           "Gives the key a value.");
  type.def(
      "__delitem__",
      [](PyStore& held, py::handle key) {
        if (!of_key<&Store::erase>(held, key)) missing(key);
      },
      py::arg("key"), "Removes the key; KeyError if it is not there.");
  type.def(
      "get",
      [](PyStore& held, py::handle key, const py::object& otherwise) -> py::object {
        const auto value = found(held, key);
        if (!value) return otherwise;
        return py::bytes(*value);
      },
      py::arg("key"), py::arg("default") = py::none(),
      "The value of the key, or default if it is not there.");
  type.def("put", &of_pair<&Store::put>, py::arg("key"), py::arg("value"),
           "The same as store[key] = value.");
  type.def("insert_unique", &of_pair<&Store::insert_unique>, py::arg("key"), py::arg("value"),
           "The same only if the key is not there; False if it is.");
  type.def("erase", &of_key<&Store::erase>, py::arg("key"),
           "Removes the key. False: it was not there.");
  type.def("get_many", &get_many, py::arg("keys"),
           R"(The values of many keys, None for those that are not there. Faster than one by
one where they have to be read from the disk.

>>> with Store("users.db") as store:
...     store.write({"a": "1", "b": "2"})
...     store.get_many(["b", "c"])
[b'2', None]
)");
  type.def("write", &write, py::arg("changes"),
           R"(Makes all changes or none, after a crash as well: a dict, or pairs (key, value)
in their order. The value None removes a key.

>>> with Store("users.db") as store:
...     store["a"] = "1"
...     store.write({"a": None, "b": "2"})
...     list(store.items())
[(b'b', b'2')]
)");
  method(type, "__iter__", &iterate<&only_key>, "Iterates over the keys of one instant.");
  method(type, "keys", &iterate<&only_key>,
         "An iterator over the keys of one instant, which it copies.");
  method(type, "values", &iterate<&only_value>,
         "An iterator over the values of one instant, which it copies.");
  method(type, "items", &iterate<&both_of>,
         "An iterator over the pairs of one instant, which it copies: for_each does not.");
  type.def("for_each", &for_each, py::arg("with_"),
           "Calls with_(key, value) for the records of one instant.");
}

constexpr const char* kStoreDoc =
    R"(An exact key/value store in a folder: a dict of bytes on disk, with an index of
9 to 17 bytes a record in memory. A str as key or value stands for its UTF-8. Any
number of threads may use it; one process writes, others open it read_only.

sync: when a change is on disk, so that it survives a loss of power: "each", when
the call returns; "interval", at most sync_interval seconds later; "never", when
the system writes it. The end of the process alone loses nothing.

>>> with Store("users.db") as store:
...     store["user:17"] = "Ada"
...     store["user:17"], "user:18" in store, len(store)
(b'Ada', False, 1)
)";

}  // namespace

void bind_store(py::module_& module) {
  py::class_<PyStore> type(module, "Store", kStoreDoc);
  type.def(py::init([](py::handle folder, bool create, bool read_only, const std::string& sync,
                       py::handle sync_interval, py::handle segment_bytes,
                       py::handle expected_records, py::handle compact_above, bool verify_reads) {
             const std::filesystem::path path = path_of(folder);
             const StoreOptions options = {
                 .create = create,
                 .read_only = read_only,
                 .sync = named<Sync>(
                     "sync", sync,
                     {{"never", Sync::never}, {"interval", Sync::interval}, {"each", Sync::each}}),
                 .sync_interval = duration_of(sync_interval, "sync_interval"),
                 .segment_bytes = number_of(segment_bytes, "segment_bytes"),
                 .expected_records = number_of(expected_records, "expected_records"),
                 .compact_above = real_of(compact_above, "compact_above"),
                 .verify_reads = verify_reads};
             const Released released;
             return std::make_unique<PyStore>(Store::open(path, options), read_only);
           }),
           py::arg("folder"), py::kw_only(), py::arg("create").noconvert() = true,
           py::arg("read_only").noconvert() = false, py::arg("sync") = "interval",
           py::arg("sync_interval") = 0.1, py::arg("segment_bytes") = std::uint64_t{1} << 30,
           py::arg("expected_records") = 0, py::arg("compact_above") = 0.5,
           py::arg("verify_reads").noconvert() = true);
  bind_records(type);
  method(type, "sync", &unlocked<&Store::sync, false, PyStore>,
         "Returns when every change that has returned is on disk.");
  method(type, "compact", &unlocked<&Store::compact, false, PyStore>,
         "Copies what is live out of files with dead bytes, and removes them.");
  type.def(
      "copy_to",
      [](PyStore& held, py::handle folder) {
        with_store(held, [to = path_of(folder)](Store& store) { store.copy_to(to); });
      },
      py::arg("folder"), "Makes the folder a copy, or brings an older copy there up to date.");
  method(type, "checkpoint", &unlocked<&Store::checkpoint, false, PyStore>,
         "Saves the index, so that the next opening is quick.");
  method(type, "refresh", &unlocked<&Store::refresh, false, PyStore>,
         "Of a read-only store: follows the writer; whether there was anything new.");
  type.def("stats", &stats_of, "Figures, as a dict.");
  bind_end<&close_store>(
      type, R"(Syncs and closes the store, and saves the index. Later calls are a ValueError.
Without room for the index there is no error: the next opening reads the log.)");
  type.def("__repr__", [](PyStore& held) {
    if (!held.is_open()) return py::str("<nestline.Store: closed>");
    const StoreStats stats = held.shared()->stats();
    return py::str("<nestline.Store: {} records, {} bytes, index of {} bytes>")
        .format(stats.records, stats.live_bytes + stats.dead_bytes, stats.index_bytes);
  });
}

}}}  // namespace nestline::python
