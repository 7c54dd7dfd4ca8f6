#include "lib/store/manifests.h"

#include "lib/store/state.h"

namespace nestline {

void put_manifest(Store::State& state, std::string_view name, std::string_view bytes) {
  state.put(Space::manifests, name, bytes);
}

bool get_manifest(const Store::State& state, std::string_view name, std::string& bytes) {
  const auto keep = [](void* to, std::string_view found) {
    static_cast<std::string*>(to)->assign(found);
  };
  return state.get(Space::manifests, name, keep, &bytes);
}

bool erase_manifest(Store::State& state, std::string_view name) {
  return state.erase(Space::manifests, name);
}

void for_each_manifest(const Store::State& state,
                       const std::function<void(std::string_view, std::string_view)>& with) {
  state.visit(Space::manifests, with);
}

}  // namespace nestline
