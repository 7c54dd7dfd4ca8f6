// Where numbers come from: noted in the results beside them. And the choice of a target.
#ifndef NESTLINE_BENCH_SUPPORT_CONTEXT_H_
#define NESTLINE_BENCH_SUPPORT_CONTEXT_H_

#include <string>

namespace nestline::bench {

// Adds to Google Benchmark's context: cpu (the model's name), target (the instruction set that the
// kernels use), page_size (and whether huge pages are to be had), commit (of the sources when the
// program was built, with "-changed" when they had some), compiler.
void add_context();

// Makes the kernels use this target of Highway, like "AVX2"; false when the machine or the library
// has none of that name. Before the first filter is made.
bool force_target(const std::string& name);

// The names that force_target takes, each after a blank.
std::string target_names();

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_SUPPORT_CONTEXT_H_
