// See hashed_lines.h.
#include "lib/command/hashed_lines.h"

#include <utility>

namespace nestline::command {

HashedLineReader::HashedLineReader(std::vector<std::string> inputs, std::uint64_t seed,
                                   WakePipe& wake)
    : reader_(std::move(inputs), wake.descriptor()),
      seed_(seed),
      wake_(wake),
      total_bytes_(reader_.total_bytes()),
      thread_([this] { run(); }) {}

HashedLineReader::~HashedLineReader() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  wake_.wake();
  thread_.join();
}

const HashedLines* HashedLineReader::next() {
  std::unique_lock lock(mutex_);
  if (std::exchange(held_, false)) {
    ++returned_;
    changed_.notify_all();
  }
  changed_.wait(lock, [this] { return returned_ < filled_ || ended_; });
  if (returned_ == filled_) {
    if (failure_) std::rethrow_exception(failure_);
    return nullptr;
  }
  held_ = true;
  return &batches_[returned_ % kBatches];
}

bool HashedLineReader::ready() {
  const std::scoped_lock lock(mutex_);
  return ended_ || returned_ + (held_ ? 1 : 0) < filled_;
}

void HashedLineReader::run() noexcept {
  std::unique_lock lock(mutex_);
  try {
    while (true) {
      changed_.wait(lock, [this] { return closed_ || filled_ < returned_ + kBatches; });
      if (closed_) break;
      HashedLines& lines = batches_[filled_ % kBatches];
      lock.unlock();
      const bool more = fill(lines);
      lock.lock();
      if (!more) break;
      ++filled_;
      changed_.notify_all();
    }
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = std::current_exception();
  }
  ended_ = true;
  changed_.notify_all();
}

bool HashedLineReader::fill(HashedLines& lines) {
  lines.error.reset();
  lines.hashes.clear();
  lines.keys.clear();
  LineBatch batch;
  try {
    if (!reader_.next(batch)) return false;
  } catch (const CommandError& error) {
    lines.error = error;
    lines.batch = {};
    return true;
  }
  const char* const begin = batch.keys.front().data();
  lines.bytes.assign(begin, batch.end);
  for (const std::string_view key : batch.keys) {
    lines.hashes.push_back(hash_key(key, seed_));
    lines.keys.emplace_back(lines.bytes.data() + (key.data() - begin), key.size());
  }
  lines.batch = batch;
  lines.batch.keys = lines.keys;
  lines.batch.end = lines.bytes.data() + lines.bytes.size();
  lines.bytes_read = reader_.bytes();
  lines.lines_read = reader_.lines();
  return true;
}

}  // namespace nestline::command
