// What Python shows of the functions that pybind11 makes: their parameters, in inspect.signature
// and help(); and a sentence with them for a call that does not fit, in place of pybind11's lists
// of "handle" and of all arguments.
#ifndef NESTLINE_LIB_FACES_PYTHON_SIGNATURES_H_
#define NESTLINE_LIB_FACES_PYTHON_SIGNATURES_H_

#include <pybind11/pybind11.h>

namespace nestline { inline namespace v0_3 { namespace python {

// For all functions of a class or of the module, once, when it has all.
void sign(pybind11::handle owner);

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_SIGNATURES_H_
