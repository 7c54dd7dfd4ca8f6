// Records in the results where the numbers come from. Also chooses the target.
#ifndef NESTLINE_BENCH_SUPPORT_CONTEXT_H_
#define NESTLINE_BENCH_SUPPORT_CONTEXT_H_

#include <string>

namespace nestline::bench {

// Adds to Google Benchmark's context: cpu (the model's name), target (the instruction set that the
// kernels use), page_size (and whether huge pages are available), commit (of the sources when the
// program was built, with "-changed" if files were modified), compiler.
void add_context();

// Makes the kernels use this target of Highway, such as "AVX2". False when the machine or the
// library has no target of that name. Call it before the first filter is made.
bool force_target(const std::string& name);

// The names that force_target accepts, each preceded by a blank.
std::string target_names();

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_CONTEXT_H_
