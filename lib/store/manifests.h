// Manifests: records in a name space of their own, apart from the keys. files.cc knows what is in
// them; here they are names and bytes.
//
// Each has its own kind of record in the log, and is found, replaced, erased and copied by
// compaction as keys are. Names have 0 to 65,536 bytes, as keys do. All functions may be called
// from any thread at any time, and throw what the members of Store throw.
#ifndef NESTLINE_LIB_STORE_MANIFESTS_H_
#define NESTLINE_LIB_STORE_MANIFESTS_H_

#include <functional>
#include <string>
#include <string_view>

#include "nestline/store.h"

namespace nestline {

// The name has this manifest from now on, whether it had one or not.
void put_manifest(Store::State& state, std::string_view name, std::string_view bytes);

// Whether there is one; `bytes` is overwritten only then.
bool get_manifest(const Store::State& state, std::string_view name, std::string& bytes);

// False if there was none.
bool erase_manifest(Store::State& state, std::string_view name);

// Calls with(name, bytes) for each, as of one instant, in no particular order.
void for_each_manifest(
    const Store::State& state,
    const std::function<void(std::string_view name, std::string_view bytes)>& with);

}  // namespace nestline

#endif  // NESTLINE_LIB_STORE_MANIFESTS_H_
