// The extension's file as the server loads it; errors; filters as values.
#include "lib/faces/postgresql/server.h"

extern "C" {
PG_MODULE_MAGIC;
}

namespace nestline { inline namespace v0_3 { namespace postgresql {

void describe_caught(Failure& failure) noexcept {
  const auto set = [&](Failure::Kind kind, const char* sentence) {
    failure.kind = kind;
    std::strncpy(failure.sentence.data(), sentence, failure.sentence.size() - 1);
    failure.sentence.back() = '\0';
  };
  try {
    throw;
  } catch (const Interrupted&) {
    set(Failure::Kind::interrupted, "");
  } catch (const TooBig& error) {
    set(Failure::Kind::too_big, error.what());
  } catch (const std::bad_alloc&) {
    set(Failure::Kind::no_memory, "there is no memory for it");
  } catch (const FormatError& error) {
    set(Failure::Kind::damaged, error.what());
  } catch (const std::exception& error) {
    set(Failure::Kind::refused, error.what());
  } catch (...) {
    set(Failure::Kind::refused, "something went wrong that has no description");
  }
}

void report(const Failure& failure) {
  int code = ERRCODE_INVALID_PARAMETER_VALUE;
  switch (failure.kind) {
    case Failure::Kind::none:
      return;
    case Failure::Kind::interrupted:
      CHECK_FOR_INTERRUPTS();
      return;
    case Failure::Kind::too_big:
      code = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
      break;
    case Failure::Kind::no_memory:
      code = ERRCODE_OUT_OF_MEMORY;
      break;
    case Failure::Kind::damaged:
      code = ERRCODE_INVALID_BINARY_REPRESENTATION;
      break;
    case Failure::Kind::refused:
      break;
  }
  ereport(ERROR, (errcode(code), errmsg("nestline: %s", failure.sentence.data())));
}

varlena* value_of(const Filter& filter) {
  const std::uint64_t blocks = filter.memory_bytes();
  if (blocks > kLongest) throw TooBig();
  // And a head, and checksums.
  const std::uint64_t room = std::min(blocks + blocks / 65536 + 256, kLongest);
  auto* const value = static_cast<varlena*>(allocate(VARHDRSZ + room));
  std::uint64_t used = 0;
  const ByteSink sink = [&](std::span<const std::byte> piece) {
    heed_interrupts();
    if (piece.size() > room - used) throw TooBig();
    std::memcpy(VARDATA(value) + used, piece.data(), piece.size());
    used += piece.size();
  };
  save(filter, {sink, Head::compact});
  SET_VARSIZE(value, VARHDRSZ + used);
  return value;
}

Filter filter_in(std::span<const std::byte> bytes) {
  heed_interrupts();
  return Filter::load(bytes);
}

void refuse_null_filter() {
  ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                  errmsg("nestline: there is no filter, it is NULL"),
                  errhint("Is the parameter set, or has the subquery no row?")));
  pg_unreachable();
}

}}}  // namespace nestline::postgresql
