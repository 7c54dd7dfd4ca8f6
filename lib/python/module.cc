// The extension module nestline._nestline. The package nestline gives its names to users.
#include "lib/python/bindings.h"
#include "lib/python/errors.h"
#include "lib/python/string_array.h"
#include "nestline/version.h"

PYBIND11_MODULE(_nestline, module) {
  using namespace nestline::python;
  pybind11::options options;
  options.disable_function_signatures();  // the docstrings begin with them
  module.doc() = "The compiled part of nestline.";
  module.attr("__version__") = NESTLINE_VERSION_STRING;
  module.def("target", &target_name,
             "target()\n\nThe instruction set that batches use on this processor.");
  bind_errors(module);
  bind_hashes(module);
  bind_string_array(module);
  bind_filter(module);
  bind_concurrent_filter(module);
  bind_mapped_filter(module);
  bind_files(module);
  bind_maplet(module);
#ifdef NESTLINE_PYTHON_STORE
  bind_store(module);
#endif
#ifdef NESTLINE_PYTHON_CLUSTER
  bind_cluster(module);
#endif
  // What users see, also in tracebacks and pickles, is the package.
  for (const auto& [name, value] : module.attr("__dict__").cast<pybind11::dict>()) {
    if (PyType_Check(value.ptr()))
      pybind11::setattr(value, "__module__", pybind11::str("nestline"));
  }
}
