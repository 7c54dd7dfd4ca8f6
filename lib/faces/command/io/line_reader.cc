#include "lib/faces/command/io/line_reader.h"

#include <poll.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "lib/faces/command/io/errors.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

// Large enough that the cost of read(2) is negligible, small enough for the second-level cache.
constexpr std::size_t kLineBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBatchLines = 16384;

constexpr std::size_t kSearched = 64;  // bytes at once

// Which of the next bytes are line ends, as bits, the first one the lowest.
std::uint64_t line_ends(const char* bytes, char line_end) {
  std::array<std::uint8_t, kSearched> is_end;
  for (std::size_t i = 0; i < kSearched; ++i) is_end[i] = bytes[i] == line_end;
  std::uint64_t ends = 0;
  for (std::size_t i = 0; i < kSearched; i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, is_end.data() + i, 8);
    if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
    // The product moves the lowest bit of byte k to bit 56 + k.
    ends |= eight * 0x0102040810204080 >> 56 << i;
  }
  return ends;
}

// Where the key of a line ends that ends here.
const char* key_end(const char* begin, const char* end, char line_end) {
  return line_end == '\n' && end > begin && end[-1] == '\r' ? end - 1 : end;
}

}  // namespace

LineReader::LineReader(LineInputs inputs, int wake)
    : inputs_(std::move(inputs)),
      wake_(wake),
      buffer_(std::make_unique_for_overwrite<char[]>(kLineBufferBytes)),
      size_(kLineBufferBytes),
      keys_(kBatchLines) {
  if (inputs_.files.empty()) inputs_.files.emplace_back("-");
  total_bytes_ = nestline::command::total_bytes(inputs_.files);
}

bool LineReader::next(LineBatch& batch) {
  try {
    while (current_ < inputs_.files.size()) {
      if (!input_) open_input();
      if (take_lines(batch)) return true;
      if (!wait()) {
        current_ = inputs_.files.size();
        break;
      }
      if (fill()) continue;
      const bool last_line = begin_ < end_;
      if (last_line) take_last_line(batch);
      skip_input();
      if (last_line) return true;
    }
  } catch (const CommandError&) {
    skip_input();
    throw;
  }
  return false;
}

void LineReader::open_input() {
  const std::string& name = inputs_.files[current_];
  input_.emplace(name);
  if (inputs_.output < 0) return;
  const auto id = regular_file(input_->descriptor());
  if (!id || id != regular_file(inputs_.output)) return;
  // What is read before anything is printed ends, if only as `< list > list`, which is empty.
  if (current_ == 0 && name == "-" && bytes_left(name).value_or(0) == 0) return;
  throw CommandError(input_->name(), "this input is also the output, and is not read");
}

void LineReader::skip_input() noexcept {
  input_.reset();
  begin_ = end_ = searched_ = 0;
  ++current_;
}

bool LineReader::wait() const noexcept {
  if (wake_ < 0) return true;
  std::array<pollfd, 2> both{{{input_->descriptor(), POLLIN, 0}, {wake_, POLLIN, 0}}};
  while (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) continue;
  return both[1].revents == 0;
}

bool LineReader::fill() {
  make_room();
  const std::size_t got = input_->read_through({buffer_.get() + end_, size_ - end_});
  end_ += got;
  bytes_ += got;
  return got > 0;
}

// The buffer holds only an unfinished line here. The line moves to the front, at most once.
void LineReader::make_room() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    searched_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ < size_) return;
  std::unique_ptr<char[]> larger;
  try {
    larger = std::make_unique_for_overwrite<char[]>(size_ * 2);
  } catch (const std::bad_alloc&) {
    throw CommandError(input_->name(), "not enough memory for a line of more than " +
                                           std::to_string(size_) +
                                           " bytes; check that the input has one key per line");
  }
  std::memcpy(larger.get(), buffer_.get(), end_);
  buffer_ = std::move(larger);
  size_ *= 2;
}

bool LineReader::take_lines(LineBatch& batch) {
  const char* line = buffer_.get() + begin_;
  const char* search = buffer_.get() + searched_;
  const char* const limit = buffer_.get() + end_;
  std::size_t count = 0;
  batch.drained = false;
  const char last = inputs_.line_end();
  const auto take = [&](const char* line_end) {
    const char* const end = key_end(line, line_end, last);
    keys_[count++] = {line, static_cast<std::size_t>(end - line)};
    line = line_end + 1;
  };
  while (count < kBatchLines) {
    const auto rest = static_cast<std::size_t>(limit - search);
    // Short lines end many at once; memchr is for what is longer.
    std::uint64_t ends = rest < kSearched ? 0 : line_ends(search, last);
    if (ends != 0) {
      for (; ends != 0 && count < kBatchLines; ends &= ends - 1) {
        take(search + std::countr_zero(ends));
      }
      search = ends == 0 ? search + kSearched : line;
      continue;
    }
    const auto* line_end = static_cast<const char*>(std::memchr(search, last, rest));
    if (line_end == nullptr) {
      search = limit;
      batch.drained = true;
      break;
    }
    take(line_end);
    search = line;
  }
  begin_ = static_cast<std::size_t>(line - buffer_.get());
  searched_ = static_cast<std::size_t>(search - buffer_.get());
  lines_ += count;
  batch.keys = std::span(keys_).first(count);
  batch.end = line;
  batch.line_end = last;
  batch.unterminated = false;
  return count > 0;
}

void LineReader::take_last_line(LineBatch& batch) {
  const char* const line = buffer_.get() + begin_;
  batch.line_end = inputs_.line_end();
  const char* const end = key_end(line, buffer_.get() + end_, batch.line_end);
  keys_[0] = {line, static_cast<std::size_t>(end - line)};
  ++lines_;
  batch.keys = std::span(keys_).first(1);
  batch.end = buffer_.get() + end_;
  batch.unterminated = true;
  batch.drained = true;
}

}}}  // namespace nestline::command
