// Names the instruction set: the only file of this folder that looks behind the public headers.
#include <hwy/targets.h>

#include "lib/kernels/kernels.h"
#include "lib/python/bindings.h"

namespace nestline::python {

std::string target_name() { return hwy::TargetName(kernels_for(8).target); }

}  // namespace nestline::python
