// The filters that a call in a query asks, each detoasted, checked and copied once.
//
// The server hands a filter over with each row: from a table as a toast pointer, which names one
// version of one value; else as bytes, at an address that is used again for others. So a filter is
// known by that pointer, or by what is in it (identity.h). What is kept ends with the call's
// memory, which is that of the query, or of a transaction in PL/pgSQL. Each call, and each process
// of a parallel query, has its own.
#ifndef NESTLINE_LIB_FACES_POSTGRESQL_FILTERS_H_
#define NESTLINE_LIB_FACES_POSTGRESQL_FILTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "lib/faces/embed/identity.h"
#include "lib/faces/embed/recent.h"
#include "lib/faces/postgresql/server.h"
#include "nestline/filter.h"

namespace nestline { inline namespace v0_3 { namespace postgresql {

struct OpenedFilter {
  using ToastPointer = std::array<std::byte, sizeof(varatt_external)>;
  Filter filter;
  KeyKinds key_kinds;
  Identity identity;
  std::uint64_t bytes;
  ToastPointer pointer;  // under which it came last, or zeros
  std::optional<Reader> reader;

  [[nodiscard]] bool is_at(const varlena* value) const {
    return VARATT_IS_EXTERNAL_ONDISK(value) &&
           std::memcmp(VARDATA_EXTERNAL(value), pointer.data(), pointer.size()) == 0;
  }
};

class OpenedFilters {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  // The filter of an argument. A server part. O(kMost) if it is kept, else O(bytes).
  const OpenedFilter& open(Datum value) {
    auto* const given = reinterpret_cast<varlena*>(DatumGetPointer(value));
    if (newest_ == nullptr || !newest_->is_at(given)) newest_ = find_or_open(given);
    return *newest_;
  }

 private:
  OpenedFilter* find_or_open(varlena* given);
  OpenedFilter* find(std::span<const std::byte> bytes) noexcept;
  OpenedFilter* newest_ = nullptr;
  Recent<OpenedFilter> kept_{kMost, kMostBytes};
};

}}}  // namespace nestline::postgresql

#endif  // NESTLINE_LIB_FACES_POSTGRESQL_FILTERS_H_
