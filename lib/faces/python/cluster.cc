// The classes ClusterFilter and ClusterCopy. Every call waits for servers, so all release the lock,
// and lookups of a ClusterFilter are alone() as changes are: they use its connections. The file is
// compiled only where the client of clusters is built (NESTLINE_PYTHON_CLUSTER).
#include "nestline/cluster.h"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <vector>

#include "lib/faces/python/bindings.h"
#include "lib/faces/python/members.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

using PyCluster = Box<ClusterFilter>;
using PyCopy = Box<ClusterCopy>;

template <typename T>
T given(py::handle object, const std::string& name) {
  try {
    return object.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(name + " is of a wrong type, " + Py_TYPE(object.ptr())->tp_name);
  }
}

ClusterOptions servers_of(const py::object& servers, const py::kwargs& more) {
  ClusterOptions options;
  if (py::isinstance<py::str>(servers)) {
    options.servers = {servers.cast<std::string>()};
  } else {
    options.servers = given<std::vector<std::string>>(servers, "servers");
  }
  using Texts = std::map<std::string, std::string ClusterOptions::*>;
  static const Texts kTexts = {{"user", &ClusterOptions::user},
                               {"password", &ClusterOptions::password}};
  static const Texts kFiles = {{"ca_file", &ClusterOptions::ca_file},
                               {"cert_file", &ClusterOptions::cert_file},
                               {"key_file", &ClusterOptions::key_file}};
  for (const auto& [key, value] : more) {
    const auto name = key.cast<std::string>();
    if (const auto text = kTexts.find(name); text != kTexts.end()) {
      options.*text->second = given<std::string>(value, name);
    } else if (const auto file = kFiles.find(name); file != kFiles.end()) {
      options.*file->second = path_of(value).string();
    } else if (name == "tls" || name == "verify") {
      (name == "tls" ? options.tls : options.verify) = given<bool>(value, name);
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
  filter->upload(batch.whole(released), how);
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
  using namespace py::literals;
  py::list parts;
  for (const ClusterPart& part : stats.parts) {
    parts.append(py::dict("number"_a = part.number, "key"_a = part.key, "node"_a = part.node,
                          "size"_a = part.size, "capacity"_a = part.capacity, "load"_a = part.load,
                          "expected_fpr"_a = part.expected_fpr,
                          "memory_bytes"_a = part.memory_bytes));
  }
  return py::dict("size"_a = stats.size, "memory_bytes"_a = stats.memory_bytes,
                  "expected_fpr"_a = stats.expected_fpr, "parts"_a = parts);
}

void bind_calls(py::class_<PyCluster>& type) {
  const auto none = py::arg("out") = py::none();
  bind_insert(type, "insert", &insert<true, PyCluster>,
              R"(Adds one copy of the key, or of each key. False: its part is full, or has as
many copies as it can, which outcomes=True distinguishes by a second request.)");
  bind_insert(type, "insert_unique", &insert_unique<true, PyCluster>,
              R"(Adds each key unless it seems to be there; True if it was added now.
Safe to repeat after a ClusterError.)");
  bind_may_contain(type, "False: the key is certainly not in it.");
  method(type, "erase", &erase<true, PyCluster>,
         "Removes one copy; only of keys that were inserted.", py::arg("keys"), none);
  method(type, "count", &count<PyCluster>, "How many copies there are.", py::arg("keys"), none);
  type.def("upload", &upload, py::arg("content"), py::arg("merge").noconvert() = false,
           "Builds the parts of these keys here and sends them whole, "
           "in place of the content\nor, with merge, added to it. A ClusterCopy is sent as it is.");
  method(type, "download", &unlocked<&ClusterFilter::download, true, PyCluster>,
         "The content, as a ClusterCopy.");
  method(type, "merge", &merge_on_servers,
         "Adds another ClusterFilter of equal seed and parts, on the servers.", py::arg("source"));
  bind_ior(type);
  method(type, "fit", &unlocked<&ClusterFilter::fit, true, PyCluster>,
         "Makes each part as small as CF.COMPACT can, on the servers.");
  type.def("stats", &cluster_stats, "Figures of the filter and of each part, as a dict.");
  type.def(
      "part_of",
      [](PyCluster& held, py::handle key) {
        const OneKey one(key);
        return held.shared()->part_of(one);
      },
      py::arg("key"), "The part of a key, from 0 to parts - 1.");
}

void bind_copy(py::module_& module) {
  py::class_<PyCopy> type(module, "ClusterCopy",
                          "All parts of a ClusterFilter in memory, from download() or load(path).");
  made_by(type, "ClusterCopy.load or ClusterFilter.download makes a ClusterCopy");
  type.def_static("load", &opened<ClusterCopy>, py::arg("path"),
                  "The copy in a file. FormatError if there is none.");
  method(type, "save", &save_as<PyCopy>, "Replaces the file atomically.", py::arg("path"));
  bind_may_contain(type, "As of ClusterFilter, without a server.");
  bind_figures(type);
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
         py::handle parts, bool turns_over, const py::kwargs& more) {
        const ClusterOptions cluster = servers_of(servers, more);
        const Options options = options_of(capacity, fpr, bits, max_capacity, seed,
                                           py::float_(Options().load), turns_over);
        const auto count = static_cast<unsigned>(small_of(parts, "parts"));
        const Released released;
        return boxed(ClusterFilter::create(cluster, name, options, count));
      },
      py::arg("servers"), py::arg("name"), py::arg("capacity"), py::kw_only(),
      py::arg("fpr") = py::none(), py::arg("bits") = 0, py::arg("max_capacity") = 0,
      py::arg("seed") = 0, py::arg("parts") = 64, py::arg("turns_over").noconvert() = false,
      R"(A new logical filter. ClusterError when the name is taken. turns_over as for Filter:
servers and programs of nestline before 0.3 refuse such a one.
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
  bind_figures(type);
  bind_end<&close<PyCluster>>(type, "Ends the connections.");
  type.def("__repr__", [](PyCluster& held) {
    if (!held.is_open()) return py::str("<nestline.ClusterFilter: closed>");
    const auto filter = held.shared();
    return py::str("<nestline.ClusterFilter {!r}: {} parts, capacity {}, rate {:.2g}>")
        .format(filter->name(), filter->parts(), filter->capacity(), filter->fpr());
  });
}

}}}  // namespace nestline::python
