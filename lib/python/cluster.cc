// The classes ClusterFilter and ClusterCopy. Every call waits for servers, so all of them release
// the interpreter's lock, and a ClusterFilter is for one thread at a time.
#include "nestline/cluster.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "lib/python/bindings.h"
#include "lib/python/members.h"

namespace nestline::python {
namespace {

using PyCluster = Box<ClusterFilter>;
using PyCopy = Box<ClusterCopy>;

// An argument of one of pybind11's types. Throws TypeError.
template <typename T>
T given(py::handle object, const std::string& name) {
  try {
    return object.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(name + " is of a wrong type, " + Py_TYPE(object.ptr())->tp_name);
  }
}

// The keyword arguments of create, open and remove for reaching the servers.
ClusterOptions servers_of(const py::object& servers, const py::kwargs& more) {
  ClusterOptions options;
  if (py::isinstance<py::str>(servers)) {
    options.servers = {servers.cast<std::string>()};
  } else {
    options.servers = given<std::vector<std::string>>(servers, "servers");
  }
  for (const auto& [key, value] : more) {
    const auto name = key.cast<std::string>();
    if (name == "user") {
      options.user = given<std::string>(value, name);
    } else if (name == "password") {
      options.password = given<std::string>(value, name);
    } else if (name == "tls") {
      options.tls = given<bool>(value, name);
    } else if (name == "ca_file") {
      options.ca_file = path_of(value).string();
    } else if (name == "cert_file") {
      options.cert_file = path_of(value).string();
    } else if (name == "key_file") {
      options.key_file = path_of(value).string();
    } else if (name == "verify") {
      options.verify = given<bool>(value, name);
    } else if (name == "timeout") {
      options.timeout = duration_of(value, "timeout");
    } else if (name == "wait_replicas") {
      options.wait_replicas = static_cast<unsigned>(small_of(value, "wait_replicas"));
    } else {
      throw py::type_error("unknown argument '" + name +
                           "': user, password, tls, ca_file, cert_file, key_file, verify, timeout "
                           "and wait_replicas say how to reach the servers");
    }
  }
  return options;
}

// Answers to one key, which is a batch of one here, or many. operation(filter, keys, answers) is
// the member.
template <bool alone, typename Held, typename Operation>
py::object answers_of(Held& held, py::handle keys, const py::object& out, Answers::Kind kind,
                      Operation&& operation) {
  const auto filter = typename Held::Use(held, alone);
  if (!is_one_key(keys)) {
    KeyBatch batch(keys, filter->seed());
    const Answers answers(batch, out, kind);
    {
      const Released released;
      operation(*filter, batch.whole(), answers.bytes());
    }
    return answers.array();
  }
  if (!out.is_none()) throw py::type_error("out is for many keys");
  const OneKey key(keys);
  const std::array<Hash, 1> hash{hash_key(key, filter->seed())};
  std::array<std::uint8_t, 1> answer{};
  {
    const Released released;
    operation(*filter, KeySpan(hash), std::span<std::uint8_t>(answer));
  }
  if (kind == Answers::Kind::yes_or_no) return py::bool_(answer[0] != 0);
  return py::int_(answer[0]);
}

// A method for one key or many.
template <bool alone, typename Held, typename Operation>
void bind_answers(py::class_<Held>& type, const char* name, const char* doc, Answers::Kind kind,
                  Operation call) {
  type.def(
      name,
      [kind, call](Held& held, py::handle keys, const py::object& out) {
        return answers_of<alone>(held, keys, out, kind, call);
      },
      py::arg("keys"), py::arg("out") = py::none(), doc);
}

// may_contain, and `in`.
template <bool alone, typename Held>
void bind_may_contain(py::class_<Held>& type, const char* doc) {
  const auto call = [](auto& filter, KeySpan keys, auto out) { filter.may_contain(keys, out); };
  bind_answers<alone>(type, "may_contain", doc, Answers::Kind::yes_or_no, call);
  type.def(
      "__contains__",
      [call](Held& held, py::handle key) {
        (void)OneKey(key);
        return answers_of<alone>(held, key, py::none(), Answers::Kind::yes_or_no, call);
      },
      py::arg("key"), "Whether a key may be in it.");
}

void upload(PyCluster& held, py::handle content, bool merge) {
  const auto filter = held.alone();
  const Upload how = merge ? Upload::merge : Upload::replace;
  if (py::isinstance<PyCopy>(content)) {
    const auto copy = content.cast<PyCopy&>().shared();
    const Released released;
    filter->upload(*copy, how);
    return;
  }
  KeyBatch batch(content, filter->seed());
  const Released released;
  filter->upload(batch.whole(), how);
}

void merge_on_servers(PyCluster& held, PyCluster& other) {
  const auto filter = held.alone(), source = other.alone();
  const Released released;
  filter->merge(*source);
}

py::dict cluster_stats(PyCluster& held) {
  const auto filter = held.alone();
  const ClusterStats stats = [&] {
    const Released released;
    return filter->stats();
  }();
  py::list parts;
  for (const ClusterPart& part : stats.parts) {
    py::dict figures;
    figures["number"] = part.number;
    figures["key"] = part.key;
    figures["node"] = part.node;
    figures["items"] = part.size;
    figures["capacity"] = part.capacity;
    figures["load"] = part.load;
    figures["expected_fpr"] = part.expected_fpr;
    figures["memory_bytes"] = part.memory_bytes;
    parts.append(figures);
  }
  py::dict figures;
  figures["items"] = stats.size;
  figures["memory_bytes"] = stats.memory_bytes;
  figures["expected_fpr"] = stats.expected_fpr;
  figures["parts"] = parts;
  return figures;
}

void bind_calls(py::class_<PyCluster>& type) {
  constexpr auto kYesOrNo = Answers::Kind::yes_or_no;
  bind_answers<true>(type, "insert",
                     "Adds one copy of the key, or of each key. False: its part is "
                     "full.",
                     kYesOrNo, [](auto& filter, KeySpan keys, auto out) {
                       answer_stored(out, [&](auto to) { return filter.insert(keys, to); });
                     });
  bind_answers<true>(type, "insert_unique",
                     "Adds each key unless it seems to be there; True if it "
                     "was added now.\nSafe to repeat after a ClusterError.",
                     kYesOrNo, [](auto& filter, KeySpan keys, auto out) {
                       answer_stored(out, [&](auto to) { return filter.insert_unique(keys, to); });
                     });
  bind_may_contain<true>(type, "False: the key is certainly not in it.");
  bind_answers<true>(type, "erase", "Removes one copy; only of keys that were inserted.", kYesOrNo,
                     [](auto& filter, KeySpan keys, auto out) { filter.erase(keys, out); });
  bind_answers<true>(type, "count", "How many copies there are.", Answers::Kind::numbers,
                     [](auto& filter, KeySpan keys, auto out) { filter.count(keys, out); });
  type.def("upload", &upload, py::arg("content"), py::arg("merge") = false,
           "Builds the parts of these keys here and sends them whole, "
           "in place of the content\nor, with merge, added to it. A ClusterCopy is sent as it is.");
  method(type, "download", &unlocked<&ClusterFilter::download, true, PyCluster>,
         "The content, as a ClusterCopy.");
  bind_merge<&merge_on_servers, PyCluster>(
      type, "source", "Adds another ClusterFilter of equal seed and parts, on the servers.");
  type.def("stats", &cluster_stats, "Figures of the filter and of each part, as a dict.");
  type.def(
      "part_of",
      [](PyCluster& held, py::handle key) {
        const OneKey one(key);
        return held.shared()->part_of(one);
      },
      py::arg("key"), "The part of a key, from 0 to parts - 1.");
}

ClusterCopy copy_at(const std::filesystem::path& path) { return ClusterCopy::load(path.string()); }

void bind_copy(py::module_& module) {
  py::class_<PyCopy> type(module, "ClusterCopy",
                          "All parts of a ClusterFilter in memory, from download() or load(path).");
  made_by(type, "ClusterCopy.load or ClusterFilter.download makes a ClusterCopy");
  type.def_static("load", &opened<&copy_at>, py::arg("path"),
                  "The copy in a file. FormatError if there is none.");
  type.def(
      "save",
      [](PyCopy& held, py::handle file) {
        const std::string path = path_of(file).string();
        const auto copy = held.shared();
        const Released released;
        nestline::save(*copy, path);
      },
      py::arg("path"), "Replaces the file atomically.");
  bind_may_contain<false>(type, "As of ClusterFilter, without a server.");
  method(
      type, "__len__", +[](PyCopy& held) { return held.shared()->size(); }, "");
  figure<&ClusterCopy::parts>(type, "parts", "How many parts it has.");
  figure<&ClusterCopy::seed>(type, "seed", "The seed of the hash.");
  figure<&ClusterCopy::fpr>(type, "fpr", "The rate asked for.");
  figure<&ClusterCopy::capacity>(type, "capacity", "As created.");
  figure<&ClusterCopy::memory_bytes>(type, "memory_bytes", "Bytes of memory.");
}

}  // namespace

void bind_cluster(py::module_& module) {
  bind_copy(module);
  py::class_<PyCluster> type(module, "ClusterFilter",
                             R"(A logical filter on a Redis Cluster, or on one Redis server.

ClusterFilter.create and ClusterFilter.open make it. An object is for one thread
at a time; any number of objects and processes may use one logical filter. A
server that cannot be reached is a ClusterError, never a "no".

servers is an address "HOST:PORT", a URL "redis://..." or "rediss://...", or a
list of them; one that answers is enough. Keyword arguments: user, password, tls,
ca_file, cert_file, key_file, verify, timeout (seconds, 2), wait_replicas.
)");
  made_by(type, "ClusterFilter.create or ClusterFilter.open makes a ClusterFilter");
  type.def_static(
      "create",
      [](const py::object& servers, const std::string& name, py::handle capacity,
         const py::object& fpr, py::handle bits, py::handle max_capacity, py::handle seed,
         py::handle parts, const py::kwargs& more) {
        const ClusterOptions cluster = servers_of(servers, more);
        const Options options =
            options_of(capacity, fpr, bits, max_capacity, seed, py::float_(Options().load));
        const auto count = static_cast<unsigned>(small_of(parts, "parts"));
        const Released released;
        return boxed(ClusterFilter::create(cluster, name, options, count));
      },
      py::arg("servers"), py::arg("name"), py::arg("capacity"), py::kw_only(),
      py::arg("fpr") = py::none(), py::arg("bits") = 0, py::arg("max_capacity") = 0,
      py::arg("seed") = 0, py::arg("parts") = 64,
      R"(A new logical filter. ClusterError when the name is taken.
)");
  type.def_static(
      "open",
      [](const py::object& servers, const std::string& name, const py::kwargs& more) {
        const ClusterOptions cluster = servers_of(servers, more);
        const Released released;
        return boxed(ClusterFilter::open(cluster, name));
      },
      py::arg("servers"), py::arg("name"), "One that exists. ClusterError when there is none.");
  type.def_static(
      "remove",
      [](const py::object& servers, const std::string& name, const py::kwargs& more) {
        const ClusterOptions cluster = servers_of(servers, more);
        const Released released;
        return ClusterFilter::remove(cluster, name);
      },
      py::arg("servers"), py::arg("name"), "Removes a logical filter; whether there was anything.");
  bind_calls(type);
  figure<&ClusterFilter::name>(type, "name", "Its name.");
  figure<&ClusterFilter::parts>(type, "parts", "Number of parts.");
  figure<&ClusterFilter::seed>(type, "seed", "Seed of the hash.");
  figure<&ClusterFilter::capacity>(type, "capacity", "As created.");
  figure<&ClusterFilter::fpr>(type, "fpr", "The rate asked for.");
  bind_end<&close<PyCluster>>(type, "Ends the connections.");
  type.def("__repr__", [](PyCluster& held) {
    if (!held.is_open()) return py::str("<nestline.ClusterFilter: closed>");
    const auto filter = held.shared();
    return py::str("<nestline.ClusterFilter {!r}: {} parts, capacity {}, rate {:.2g}>")
        .format(filter->name(), filter->parts(), filter->capacity(), filter->fpr());
  });
}

}  // namespace nestline::python
