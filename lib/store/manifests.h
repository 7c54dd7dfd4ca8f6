// The manifests of files, for lib/store/files: records in a space apart from the keys. The library
// of files is built on the store's, so this is exported, and no part of the interface.
#ifndef NESTLINE_LIB_STORE_MANIFESTS_H_
#define NESTLINE_LIB_STORE_MANIFESTS_H_

#include <functional>
#include <string>
#include <string_view>

#include "nestline/store.h"

namespace nestline { inline namespace v0_3 { namespace internal {

struct NESTLINE_EXPORT Manifests {
  static bool get(const Store& store, std::string_view name, std::string& bytes);
  static void put(Store& store, std::string_view name, std::string_view bytes);
  static bool erase(Store& store, std::string_view name);
  using With = std::function<void(std::string_view name, std::string_view bytes)>;
  static void for_each(const Store& store, const With& with);
};

}}}  // namespace nestline::internal

#endif  // NESTLINE_LIB_STORE_MANIFESTS_H_
