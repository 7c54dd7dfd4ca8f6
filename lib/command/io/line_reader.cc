// Buffering and line splitting; see line_reader.h.
#include "lib/command/io/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "lib/command/io/errors.h"

namespace nestline::command {
namespace {

// Large enough that the cost of read(2) is negligible, small enough for the second-level cache.
constexpr std::size_t kLineBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBatchLines = 16384;

constexpr std::string_view kDash = "-";

std::string shown_name(const std::string& input) {
  return input == kDash ? "standard input" : input;
}

// The bytes left to read in a regular file; no value for any other kind of input.
std::optional<std::uint64_t> bytes_of(const std::string& input) {
  struct stat status {};
  const bool standard = input == kDash;
  const int result = standard ? ::fstat(STDIN_FILENO, &status) : ::stat(input.c_str(), &status);
  if (result != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t offset = standard ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
  if (offset < 0 || offset > status.st_size) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size - offset);
}

}  // namespace

LineReader::LineReader(std::vector<std::string> inputs, int wake)
    : inputs_(std::move(inputs)),
      wake_(wake),
      buffer_(std::make_unique_for_overwrite<char[]>(kLineBufferBytes)),
      size_(kLineBufferBytes),
      keys_(kBatchLines) {
  if (inputs_.empty()) inputs_.emplace_back(kDash);
  std::uint64_t total = 0;
  for (const std::string& input : inputs_) {
    const auto bytes = bytes_of(input);
    if (!bytes) return;
    total += *bytes;
  }
  total_bytes_ = total;
}

LineReader::~LineReader() { close_input(); }

bool LineReader::next(LineBatch& batch) {
  while (current_ < inputs_.size()) {
    if (descriptor_ < 0) open_input();
    if (take_lines(batch)) return true;
    if (!wait()) {
      current_ = inputs_.size();
      break;
    }
    if (fill()) continue;
    const bool last_line = begin_ < end_;
    if (last_line) take_last_line(batch);
    skip_input();
    if (last_line) return true;
  }
  return false;
}

void LineReader::open_input() {
  if (name() == kDash) {
    descriptor_ = STDIN_FILENO;
    return;
  }
  do {
    descriptor_ = ::open(name().c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) {
    CommandError error(name(), error_text(errno));
    skip_input();
    throw error;
  }
  // Only a hint to read ahead; it does not matter if the system refuses it.
  static_cast<void>(::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL));
}

void LineReader::close_input() noexcept {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  descriptor_ = -1;
}

void LineReader::skip_input() noexcept {
  close_input();
  begin_ = end_ = searched_ = 0;
  ++current_;
}

bool LineReader::wait() const noexcept {
  if (wake_ < 0) return true;
  std::array<pollfd, 2> both{{{descriptor_, POLLIN, 0}, {wake_, POLLIN, 0}}};
  while (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) continue;
  return both[1].revents == 0;
}

bool LineReader::fill() {
  make_room();
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.get() + end_, size_ - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    CommandError error(shown_name(name()), error_text(errno));
    skip_input();
    throw error;
  }
  end_ += static_cast<std::size_t>(got);
  bytes_ += static_cast<std::uint64_t>(got);
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
    CommandError error(shown_name(name()), "not enough memory for a line of more than " +
                                               std::to_string(size_) +
                                               " bytes; check that the input has one key per line");
    skip_input();
    throw error;
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
  while (count < kBatchLines) {
    const auto* line_end = static_cast<const char*>(
        std::memchr(search, '\n', static_cast<std::size_t>(limit - search)));
    if (line_end == nullptr) {
      search = limit;
      batch.drained = true;
      break;
    }
    const char* key_end = line_end;
    if (key_end > line && key_end[-1] == '\r') --key_end;
    keys_[count++] = {line, static_cast<std::size_t>(key_end - line)};
    line = search = line_end + 1;
  }
  begin_ = static_cast<std::size_t>(line - buffer_.get());
  searched_ = static_cast<std::size_t>(search - buffer_.get());
  lines_ += count;
  batch.keys = std::span(keys_).first(count);
  batch.end = line;
  batch.unterminated = false;
  return count > 0;
}

void LineReader::take_last_line(LineBatch& batch) {
  keys_[0] = {buffer_.get() + begin_, end_ - begin_};
  ++lines_;
  batch.keys = std::span(keys_).first(1);
  batch.end = buffer_.get() + end_;
  batch.unterminated = true;
  batch.drained = true;
}

}  // namespace nestline::command
