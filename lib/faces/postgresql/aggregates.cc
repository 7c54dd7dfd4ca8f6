// The aggregates: nestline_build and nestline_merge.
//
// The state of nestline_build is the hashes of the keys, 8 bytes each, in chunks that grow up to
// 512 KiB, in the aggregate's memory context: so it is counted and freed there, and nothing of it
// is destroyed. It changes with rows and with other states alone, so a window can ask for its
// result in between.
//
// In the end the hashes are sorted, and each is kept once: so the filter's bytes do not depend on
// the order of rows, nor on who read them.
//
// The state of nestline_merge is the union so far, a value.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "lib/faces/postgresql/keys.h"

namespace nestline { inline namespace v0_3 { namespace postgresql { namespace {

struct Chunk {
  Chunk* before;
  std::size_t size;
  std::size_t room;

  Hash* begin() { return reinterpret_cast<Hash*>(this + 1); }
  Hash* end() { return begin() + size; }
};

// All but the hashes, as one process sends it to another.
struct Collected {
  BuildOptions options;
  KeyKinds key_kinds = 0;
  std::uint64_t count = 0;
};
static_assert(std::is_trivially_copyable_v<Collected>);

struct Build : Collected {
  MemoryContext context;
  Chunk* last;

  void make_room(std::size_t more) {
    constexpr std::size_t kFewest = 8, kMost = 65536;
    const std::size_t room = std::max(more, std::clamp<std::size_t>(count, kFewest, kMost));
    auto* const chunk = static_cast<Chunk*>(
        MemoryContextAllocExtended(context, sizeof(Chunk) + room * sizeof(Hash), MCXT_ALLOC_HUGE));
    *chunk = {last, 0, room};
    last = chunk;
  }
  void add(Hash hash) {
    if (last == nullptr || last->size == last->room) make_room(1);
    *last->end() = hash;
    ++last->size;
    ++count;
  }
};

// The state of an aggregate's function; null before the first row.
Build* state_of(FunctionCallInfo fcinfo, int argument) {
  return PG_ARGISNULL(argument) ? nullptr : reinterpret_cast<Build*>(PG_GETARG_POINTER(argument));
}

Build* made_state(MemoryContext context) {
  auto* const made = static_cast<Build*>(MemoryContextAlloc(context, sizeof(Build)));
  *made = Build{{}, context, nullptr};
  return made;
}

MemoryContext aggregate_context(FunctionCallInfo fcinfo) {
  MemoryContext context;
  if (AggCheckCallContext(fcinfo, &context) == 0) {
    elog(ERROR, "nestline: a function of an aggregate is called outside of one");
  }
  return context;
}

void read_options(FunctionCallInfo fcinfo, Build& build) {
  const double rate = PG_ARGISNULL(2) ? 0 : PG_GETARG_FLOAT8(2);
  std::optional<std::int64_t> room;
  if (PG_NARGS() > 3) room = PG_ARGISNULL(3) ? 0 : PG_GETARG_INT64(3);
  const std::int64_t same =
      build.options.capacity == 0 ? -1 : static_cast<std::int64_t>(build.options.capacity);
  if (build.options.fpr == rate && room.value_or(-1) == same) return;
  in_cpp([&] { build.options.set(rate, room); });
}

// The hashes in ascending order, each once: first by their highest bits, so that those of equal
// ones fit the first-level cache, then by sorting these.
struct Sorted {
  explicit Sorted(std::size_t most) : room(most), hashes(PageAllocator<Hash>().allocate(most)) {}
  Sorted(const Sorted&) = delete;
  Sorted& operator=(const Sorted&) = delete;
  ~Sorted() { PageAllocator<Hash>().deallocate(hashes, room); }
  std::size_t room;
  Hash* hashes;
  std::size_t count = 0;
};
void sort(const Build& build, Sorted& to) {
  constexpr int kMostBits = 12;  // more places to write to would be beyond the caches
  constexpr int kInPart = 10;
  constexpr std::size_t kPiece = 65536;
  const int bits =
      std::clamp(static_cast<int>(std::bit_width(build.count)) - kInPart, 1, kMostBits);
  const auto for_each = [&](auto&& visit) {
    for (Chunk* chunk = build.last; chunk != nullptr; chunk = chunk->before) {
      const std::span own(chunk->begin(), chunk->end());
      for (std::size_t at = 0; at < own.size(); at += kPiece) {
        heed_interrupts();
        std::ranges::for_each(own.subspan(at, std::min(kPiece, own.size() - at)), visit);
      }
    }
  };
  const auto part_of = [&](Hash hash) { return hash.value >> (64 - bits); };
  std::vector<std::size_t> ends((std::size_t{1} << bits) + 1);
  for_each([&](Hash hash) { ++ends[part_of(hash) + 1]; });
  for (std::size_t part = 1; part < ends.size(); ++part) ends[part] += ends[part - 1];
  const std::span all(to.hashes, build.count);
  for_each([&](Hash hash) { all[ends[part_of(hash)]++] = hash; });
  std::size_t& kept = to.count;
  for (std::size_t part = 0, first = 0; part + 1 < ends.size(); first = ends[part++]) {
    heed_interrupts();
    const std::span own = all.subspan(first, ends[part] - first);
    std::ranges::sort(own, {}, &Hash::value);
    for (const Hash hash : own) {
      if (kept == 0 || all[kept - 1].value != hash.value) all[kept++] = hash;
    }
  }
}

varlena* result_of(const Build& build) {
  Sorted sorted(std::max<std::size_t>(build.count, 1));
  sort(build, sorted);
  return value_of(build.options.filter(std::span(sorted.hashes, sorted.count), build.key_kinds,
                                       kLongest, heed_interrupts));
}

}  // namespace
}}}  // namespace nestline::postgresql

extern "C" {
using namespace nestline::postgresql;  // NOLINT(google-build-using-namespace): of this file only

PG_FUNCTION_INFO_V1(nestline_pg_build_step);
Datum nestline_pg_build_step(PG_FUNCTION_ARGS) {
  Build* build = state_of(fcinfo, 0);
  if (build == nullptr) build = made_state(aggregate_context(fcinfo));
  if (PG_NARGS() > 2) read_options(fcinfo, *build);
  if (!PG_ARGISNULL(1)) {
    FmgrInfo* const function = fcinfo->flinfo;
    if (function->fn_extra == nullptr) function->fn_extra = make_reader(fcinfo, 1);
    auto& reader = *static_cast<KeyReader*>(function->fn_extra);
    const auto add = [&](nestline::Key key) {
      build->add(nestline::hash_key(key, nestline::Options().seed));
    };
    reader.read(reader, PG_GETARG_DATUM(1)).visit(add);
    reader.with_second(PG_GETARG_DATUM(1), 0, add);
    build->key_kinds |= reader.kinds;
  }
  PG_RETURN_POINTER(build);
}

PG_FUNCTION_INFO_V1(nestline_pg_build_combine);
Datum nestline_pg_build_combine(PG_FUNCTION_ARGS) {
  Build* build = state_of(fcinfo, 0);
  const Build* const other = state_of(fcinfo, 1);
  if (other == nullptr && build == nullptr) PG_RETURN_NULL();
  if (build == nullptr) build = made_state(aggregate_context(fcinfo));
  if (other != nullptr) {
    in_cpp([&] { build->options.add(other->options); });
    build->key_kinds |= other->key_kinds;
    for (Chunk* chunk = other->last; chunk != nullptr; chunk = chunk->before) {
      build->make_room(chunk->size);
      std::memcpy(build->last->begin(), chunk->begin(), chunk->size * sizeof(nestline::Hash));
      build->last->size = chunk->size;
      build->count += chunk->size;
    }
  }
  PG_RETURN_POINTER(build);
}

PG_FUNCTION_INFO_V1(nestline_pg_build_serialize);
Datum nestline_pg_build_serialize(PG_FUNCTION_ARGS) {
  const Build& build = *state_of(fcinfo, 0);
  if (build.count > (kLongest - sizeof(Collected)) / sizeof(nestline::Hash)) {
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("nestline: a parallel worker cannot hand over more than %zu keys",
                           (kLongest - sizeof(Collected)) / sizeof(nestline::Hash)),
                    errhint("SET max_parallel_workers_per_gather = 0 builds without workers.")));
  }
  const std::size_t size = VARHDRSZ + sizeof(Collected) + build.count * sizeof(nestline::Hash);
  auto* const bytes = static_cast<varlena*>(palloc(size));
  SET_VARSIZE(bytes, size);
  std::memcpy(VARDATA(bytes), static_cast<const Collected*>(&build), sizeof(Collected));
  char* at = VARDATA(bytes) + sizeof(Collected);
  for (Chunk* chunk = build.last; chunk != nullptr; chunk = chunk->before) {
    std::memcpy(at, chunk->begin(), chunk->size * sizeof(nestline::Hash));
    at += chunk->size * sizeof(nestline::Hash);
  }
  PG_RETURN_POINTER(bytes);
}

PG_FUNCTION_INFO_V1(nestline_pg_build_deserialize);
Datum nestline_pg_build_deserialize(PG_FUNCTION_ARGS) {
  (void)aggregate_context(fcinfo);
  const varlena* const bytes = PG_GETARG_BYTEA_PP(0);
  Build* const build = made_state(CurrentMemoryContext);
  const char* const data = VARDATA_ANY(bytes);
  std::memcpy(static_cast<Collected*>(build), data, sizeof(Collected));
  if (build->count == 0) PG_RETURN_POINTER(build);
  build->make_room(build->count);
  build->last->size = build->count;
  std::memcpy(build->last->begin(), data + sizeof(Collected),
              build->count * sizeof(nestline::Hash));
  PG_RETURN_POINTER(build);
}

PG_FUNCTION_INFO_V1(nestline_pg_build_result);
Datum nestline_pg_build_result(PG_FUNCTION_ARGS) {
  Build none{{}, CurrentMemoryContext, nullptr};  // without rows a filter that contains nothing
  const Build* const build = state_of(fcinfo, 0);
  return PointerGetDatum(in_cpp([&] { return result_of(build != nullptr ? *build : none); }));
}

PG_FUNCTION_INFO_V1(nestline_pg_merge_combine);
Datum nestline_pg_merge_combine(PG_FUNCTION_ARGS) {
  const varlena* const one = PG_GETARG_BYTEA_PP(0);
  const varlena* const other = PG_GETARG_BYTEA_PP(1);
  return PointerGetDatum(in_cpp([&] {
    nestline::Filter all = filter_in(payload(one));
    nestline::unite(all, filter_in(payload(other)));
    return value_of(all);
  }));
}

PG_FUNCTION_INFO_V1(nestline_pg_merge_step);
Datum nestline_pg_merge_step(PG_FUNCTION_ARGS) {
  (void)aggregate_context(fcinfo);
  if (PG_ARGISNULL(1)) refuse_null_filter();
  if (!PG_ARGISNULL(0)) return nestline_pg_merge_combine(fcinfo);
  return PointerGetDatum(PG_GETARG_BYTEA_P(1));
}
}
