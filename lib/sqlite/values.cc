#include "lib/sqlite/values.h"

#include <algorithm>
#include <memory>

#include "nestline/io.h"

namespace nestline::sqlite {

std::span<const std::byte> bytes_of(sqlite3_value* value) {
  const bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
  // The length is that of the form which was asked for last, so it is asked for second.
  const void* const data =
      is_text ? static_cast<const void*>(sqlite3_value_text(value)) : sqlite3_value_blob(value);
  const int size = sqlite3_value_bytes(value);
  if (data == nullptr && (is_text || size > 0)) throw std::bad_alloc();
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

std::uint64_t longest_value(sqlite3_context* context) {
  return static_cast<std::uint64_t>(
      sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
}

void set_result(sqlite3_context* context, const Filter& filter) {
  const std::uint64_t longest = longest_value(context);
  if (filter.memory_bytes() > longest) throw TooBig();
  // Most often the blocks and what comes before and after them fit; else the memory is doubled.
  constexpr std::uint64_t kBeside = 8192;
  std::uint64_t room = filter.memory_bytes() + kBeside;
  std::uint64_t used = 0;
  std::unique_ptr<void, void (*)(void*)> bytes(sqlite3_malloc64(room), sqlite3_free);
  if (bytes == nullptr) throw std::bad_alloc();
  save(filter, [&](std::span<const std::byte> piece) {
    if (piece.size() > room - used) {
      room = std::max(2 * room, used + piece.size());
      void* const larger = sqlite3_realloc64(bytes.get(), room);
      if (larger == nullptr) throw std::bad_alloc();
      (void)bytes.release();
      bytes.reset(larger);
    }
    std::copy(piece.begin(), piece.end(), static_cast<std::byte*>(bytes.get()) + used);
    used += piece.size();
  });
  // SQLite frees it, also where it is too long.
  sqlite3_result_blob64(context, bytes.release(), used, sqlite3_free);
}

}  // namespace nestline::sqlite
