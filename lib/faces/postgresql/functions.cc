// The functions of a row, and what the planner asks about them. docs/POSTGRESQL.md documents them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "lib/faces/postgresql/filters.h"
#include "lib/faces/postgresql/keys.h"
#include "nestline/pass_rate.h"

namespace nestline { inline namespace v0_3 { namespace postgresql { namespace {

// What a call of (filter, key) keeps for the query.
struct Call {
  KeyReader* key;
  OpenedFilters* filters;
  PassRate rate;
};
static_assert(std::is_trivially_destructible_v<Call>);

Call& call_of(FunctionCallInfo fcinfo) {
  FmgrInfo* const function = fcinfo->flinfo;
  if (function->fn_extra == nullptr) {
    auto* const call = static_cast<Call*>(MemoryContextAlloc(function->fn_mcxt, sizeof(Call)));
    *call = Call{make_reader(fcinfo, 1), owned_by<OpenedFilters>(function->fn_mcxt), {}};
    function->fn_extra = call;
  }
  return *static_cast<Call*>(function->fn_extra);
}

// What kLookUp(filter, key) answers for the keys of the value, added up.
template <auto kLookUp>
unsigned answer(Call& call, Datum filter_value, Datum key_value) {
  const OpenedFilter& filter = call.filters->open(filter_value);
  KeyReader& reader = *call.key;
  const auto look_up = [&](Key key) -> unsigned { return kLookUp(filter, key); };
  unsigned found = 0;
  bool has_key = false;
  const ReadKey key = reader.read(reader, key_value);
  // A float may equal one of the numbers, which have other keys.
  const bool may_be_number = reader.kinds == kFloatKeys && (filter.key_kinds & kNumberKeys) != 0;
  const KeyKinds built = filter.key_kinds & ~(may_be_number ? kFloatKeys : 0);
  if (built == 0 || (reader.kinds & ~built) == 0) {
    found = key.visit(look_up);
    has_key = true;
  }
  reader.with_second(key_value, filter.key_kinds, [&](Key second) {
    found += look_up(second);
    has_key |= reader.second_in == kFloatKeys;
  });
  if (!has_key) in_cpp([&] { require_key_kinds(built, reader.kinds); });
  return found;
}

constexpr auto kMayContain = [](const OpenedFilter& filter, Key key) {
  return filter.reader->may_contain(key);
};
constexpr auto kCount = [](const OpenedFilter& filter, Key key) {
  return filter.filter.count(key);
};

enum class NullFilter { is_error, gives_null };
template <auto kLookUp, NullFilter kNull = NullFilter::is_error>
std::optional<unsigned> look_up(FunctionCallInfo fcinfo) {
  if (PG_ARGISNULL(0)) {
    if (kNull == NullFilter::gives_null) return std::nullopt;
    refuse_null_filter();
  }
  if (PG_ARGISNULL(1)) return std::nullopt;
  return answer<kLookUp>(call_of(fcinfo), PG_GETARG_DATUM(0), PG_GETARG_DATUM(1));
}

Datum result(FunctionCallInfo fcinfo, std::optional<unsigned> found, auto&& to_datum) {
  if (!found) PG_RETURN_NULL();
  return to_datum(*found);
}
constexpr auto kToBool = [](unsigned found) { return BoolGetDatum(found != 0); };
constexpr auto kToInteger = [](unsigned found) { return Int32GetDatum(static_cast<int>(found)); };

// nestline_inserted and nestline_erased: a changed copy.
Datum changed(FunctionCallInfo fcinfo, auto apply) {
  if (PG_ARGISNULL(0)) refuse_null_filter();
  if (PG_ARGISNULL(1)) return PG_GETARG_DATUM(0);
  Call& call = call_of(fcinfo);
  const OpenedFilter& opened = call.filters->open(PG_GETARG_DATUM(0));
  const auto hash_of = [&](Key key) { return hash_key(key, opened.filter.seed()); };
  std::array<Hash, 2> keys{call.key->read(*call.key, PG_GETARG_DATUM(1)).visit(hash_of)};
  std::size_t count = 1;
  call.key->with_second(PG_GETARG_DATUM(1), 0, [&](Key key) { keys[count++] = hash_of(key); });
  return PointerGetDatum(in_cpp([&] {
    Filter filter = opened.filter.snapshot();
    take_key_kinds(filter, call.key->kinds);
    apply(filter, std::span(keys).first(count));
    return value_of(filter);
  }));
}

// What ask(one, other) answers of two filters.
auto ask_both(FunctionCallInfo fcinfo, auto ask) {
  if (PG_ARGISNULL(0) || PG_ARGISNULL(1)) refuse_null_filter();
  varlena* const one = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
  varlena* const other = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
  return in_cpp([&] { return compared(filter_in(payload(one)), filter_in(payload(other)), ask); });
}

// A row of these values.
template <std::size_t kColumns>
Datum row_of(FunctionCallInfo fcinfo, std::array<Datum, kColumns> values) {
  TupleDesc columns;
  if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE) {
    elog(ERROR, "the function returns a record");
  }
  std::array<bool, kColumns> nulls{};
  return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values.data(), nulls.data()));
}

// The share of rows that pass, where the filter is known as the query is planned: of the column's
// distinct values as many as there are keys, and of the others the rate of errors.
double selectivity(const SupportRequestSelectivity& request) {
  constexpr double kUnknown = 0.1;
  const Node* const given = static_cast<Node*>(linitial(request.args));
  if (!IsA(given, Const) || castNode(Const, given)->constisnull || request.is_join) return kUnknown;
  varlena* const value = PG_DETOAST_DATUM_PACKED(castNode(Const, given)->constvalue);
  struct Figures {
    double keys, rate;
  };
  const Figures figures = in_cpp([&] {
    const Filter filter = filter_in(payload(value));
    return Figures{static_cast<double>(filter.size()), filter.expected_fpr()};
  });
  VariableStatData column;
  examine_variable(request.root, static_cast<Node*>(lsecond(request.args)), request.varRelid,
                   &column);
  bool is_default = false;
  const double distinct = get_variable_numdistinct(&column, &is_default);
  ReleaseVariableStats(column);
  if (is_default) return kUnknown;
  return std::min(1.0, figures.keys / std::max(distinct, 1.0) + figures.rate);
}

}  // namespace
}}}  // namespace nestline::postgresql

extern "C" {
using namespace nestline::postgresql;  // NOLINT(google-build-using-namespace): of this file only

PG_FUNCTION_INFO_V1(nestline_pg_may_contain);
Datum nestline_pg_may_contain(PG_FUNCTION_ARGS) {
  return result(fcinfo, look_up<kMayContain>(fcinfo), kToBool);
}

PG_FUNCTION_INFO_V1(nestline_pg_may_contain_or_null);
Datum nestline_pg_may_contain_or_null(PG_FUNCTION_ARGS) {
  return result(fcinfo, look_up<kMayContain, NullFilter::gives_null>(fcinfo), kToBool);
}

PG_FUNCTION_INFO_V1(nestline_pg_count);
Datum nestline_pg_count(PG_FUNCTION_ARGS) {
  return result(fcinfo, look_up<kCount>(fcinfo), kToInteger);
}

PG_FUNCTION_INFO_V1(nestline_pg_count_or_null);
Datum nestline_pg_count_or_null(PG_FUNCTION_ARGS) {
  return result(fcinfo, look_up<kCount, NullFilter::gives_null>(fcinfo), kToInteger);
}

PG_FUNCTION_INFO_V1(nestline_pg_worth_joining);
Datum nestline_pg_worth_joining(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(0)) refuse_null_filter();
  if (PG_ARGISNULL(1)) PG_RETURN_NULL();
  Call& call = call_of(fcinfo);
  if (!call.rate.asks_next()) PG_RETURN_BOOL(true);
  const bool has_passed = answer<kMayContain>(call, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)) != 0;
  call.rate.note(1, has_passed ? 1 : 0);
  PG_RETURN_BOOL(has_passed);
}

PG_FUNCTION_INFO_V1(nestline_pg_inserted);
Datum nestline_pg_inserted(PG_FUNCTION_ARGS) { return changed(fcinfo, nestline::insert_all); }

PG_FUNCTION_INFO_V1(nestline_pg_erased);
Datum nestline_pg_erased(PG_FUNCTION_ARGS) {
  return changed(fcinfo, [](nestline::Filter& filter, std::span<const nestline::Hash> keys) {
    filter.erase(keys);
  });
}

PG_FUNCTION_INFO_V1(nestline_pg_info);
Datum nestline_pg_info(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(0)) refuse_null_filter();
  varlena* const value = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(0));
  std::array<char, 512> kinds;
  std::array<Datum, 6> figures;
  in_cpp([&] {
    const nestline::Filter filter = filter_in(payload(value));
    const std::string names = nestline::key_kinds_text(filter.key_kinds());
    kinds[names.copy(kinds.data(), kinds.size() - 1)] = '\0';
    figures = {Int64GetDatum(static_cast<int64>(filter.size())),
               Int64GetDatum(static_cast<int64>(filter.capacity())),
               Int32GetDatum(filter.bits()),
               Float8GetDatum(filter.expected_fpr()),
               Int64GetDatum(static_cast<int64>(payload(value).size())),
               0};
  });
  figures.back() = CStringGetTextDatum(kinds.data());
  return row_of(fcinfo, figures);
}

// Two filters.
PG_FUNCTION_INFO_V1(nestline_pg_may_overlap);
Datum nestline_pg_may_overlap(PG_FUNCTION_ARGS) {
  PG_RETURN_BOOL(ask_both(fcinfo, nestline::kMayOverlap));
}

PG_FUNCTION_INFO_V1(nestline_pg_count_common);
Datum nestline_pg_count_common(PG_FUNCTION_ARGS) {
  const nestline::Overlap overlap = ask_both(fcinfo, nestline::kCountCommon);
  return row_of(fcinfo,
                std::array{Int64GetDatum(static_cast<int64>(overlap.matches)),
                           Float8GetDatum(overlap.by_chance), Float8GetDatum(overlap.estimate),
                           Float8GetDatum(overlap.standard_error)});
}

// The planner's question.
PG_FUNCTION_INFO_V1(nestline_pg_support);
Datum nestline_pg_support(PG_FUNCTION_ARGS) {
  auto* const request = static_cast<Node*>(static_cast<void*>(PG_GETARG_POINTER(0)));
  if (!IsA(request, SupportRequestSelectivity)) PG_RETURN_POINTER(nullptr);
  auto* const asked = reinterpret_cast<SupportRequestSelectivity*>(request);
  asked->selectivity = selectivity(*asked);
  PG_RETURN_POINTER(asked);
}
}
