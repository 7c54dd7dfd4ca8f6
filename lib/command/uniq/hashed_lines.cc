// See hashed_lines.h.
#include "lib/command/uniq/hashed_lines.h"

#include <utility>

namespace nestline::command {

HashedLineReader::HashedLineReader(std::vector<std::string> inputs, std::uint64_t seed, int wake)
    : reader_(std::move(inputs), wake), seed_(seed) {}

bool HashedLineReader::next(HashedLines& lines) {
  lines.error.reset();
  LineBatch batch;
  try {
    if (!reader_.next(batch)) return false;
  } catch (const CommandError& error) {
    lines.error = error;
    lines.batch = {};
    lines.hashes.clear();
    lines.repeats.clear();
    return true;
  }
  const char* const begin = batch.keys.front().data();
  lines.bytes.assign(begin, batch.end);
  const std::size_t count = batch.keys.size();
  lines.keys.resize(count);
  lines.hashes.resize(count);
  lines.repeats.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view key = batch.keys[i];
    lines.keys[i] = {lines.bytes.data() + (key.data() - begin), key.size()};
    lines.hashes[i] = hash_key(key, seed_);
  }
  repeats_.mark(lines.hashes, lines.repeats);
  lines.batch = batch;
  lines.batch.keys = lines.keys;
  lines.batch.end = lines.bytes.data() + lines.bytes.size();
  lines.bytes_read = reader_.bytes();
  lines.lines_read = reader_.lines();
  return true;
}

}  // namespace nestline::command
