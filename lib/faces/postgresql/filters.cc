#include "lib/faces/postgresql/filters.h"

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace nestline { inline namespace v0_3 { namespace postgresql {

OpenedFilter* OpenedFilters::find(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(Identity)) return nullptr;  // open says what is wrong
  const Identity identity = identity_of(bytes);
  return kept_.find([&](const OpenedFilter& opened) {
    return opened.identity == identity && opened.bytes == bytes.size();
  });
}

OpenedFilter* OpenedFilters::find_or_open(varlena* given) {
  OpenedFilter* const known =
      kept_.find([&](const OpenedFilter& opened) { return opened.is_at(given); });
  if (known != nullptr) return known;
  varlena* const flat = pg_detoast_datum_packed(given);
  OpenedFilter* opened = find(payload(flat));
  if (opened == nullptr) {
    opened = in_cpp([&] {
      const std::span<const std::byte> bytes = payload(flat);
      Filter filter = filter_in(bytes);
      const KeyKinds kinds = filter.key_kinds();
      OpenedFilter& kept = kept_.keep(
          {std::move(filter), kinds, identity_of(bytes), bytes.size(), {}, {}}, bytes.size());
      kept.reader = kept.filter.reader();
      return &kept;
    });
  }
  if (VARATT_IS_EXTERNAL_ONDISK(given)) {
    std::memcpy(opened->pointer.data(), VARDATA_EXTERNAL(given), opened->pointer.size());
  }
  if (flat != given) pfree(flat);
  return opened;
}

}}}  // namespace nestline::postgresql
