// The bar is erased with spaces, not control sequences: a carriage return is all that it needs.
#include "lib/faces/command/io/progress.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/faces/command/io/output.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

using std::chrono::milliseconds;

constexpr auto kFirstDraw = milliseconds(500);
constexpr auto kRedraw = milliseconds(100);
constexpr std::size_t kDefaultColumns = 80;
constexpr std::size_t kMaxBar = 40;
constexpr std::size_t kShortestBar = 8;

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kDefaultColumns;
}

std::string time_left(double seconds) {
  const long long total = std::llround(seconds);
  const std::string seconds_left = formatted("%02lld left", total % 60);
  if (total < 3600) return formatted("%lld:", total / 60) + seconds_left;
  return formatted("%lld:%02lld:", total / 3600, total / 60 % 60) + seconds_left;
}

std::string bar(double share, std::size_t columns) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(columns));
  return "[" + std::string(full, '#') + std::string(columns - full, '-') + "] ";
}

}  // namespace

std::string short_number(double value, std::string_view unit) {
  constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t power = 0;
  for (; value >= 999.5 && power + 1 < kPrefixes.size(); ++power) value /= 1000;
  const int digits = power > 0 && value < 9.95 ? 1 : 0;
  const bool word = unit.size() > 1 && power > 0;
  return formatted("%.*f %s", digits, value, kPrefixes[power]).append(word ? " " : "").append(unit);
}

Progress::Progress(std::string_view verb, std::optional<std::uint64_t> total, bool wanted)
    : verb_(verb), shown_(wanted && is_terminal(STDERR_FILENO)) {
  begin(Unit::bytes, total);
}

void Progress::begin(Unit unit, std::optional<std::uint64_t> total) {
  unit_ = unit;
  total_ = total.value_or(0);
  start_ = Clock::now();
  // A bar that is already on the screen shows the new work soon.
  next_draw_ = drawn_ > 0 ? start_ + kRedraw : start_ + kFirstDraw;
}

void Progress::update(std::uint64_t done, std::optional<std::uint64_t> lines) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (now < next_draw_) return;
  next_draw_ = now + kRedraw;
  draw(std::chrono::duration<double>(now - start_).count(), done, lines);
}

void Progress::draw(double seconds, std::uint64_t done, std::optional<std::uint64_t> lines) {
  const std::string unit = unit_ == Unit::bytes ? "B" : "keys";
  const std::string rate = lines ? short_number(static_cast<double>(*lines) / seconds, "lines/s")
                                 : short_number(static_cast<double>(done) / seconds, "B") + "/s";
  std::string text = verb_ + "  ";
  if (total_ == 0 || done == 0) {
    text += short_number(done, unit) + ", " + rate;
  } else {
    // A file may have grown since its size was read.
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    text += std::to_string(static_cast<int>(share * 100)) + "% ";
    const std::string tail = short_number(done, unit) + " of " + short_number(total_, unit) + ", " +
                             rate + ", " + time_left(seconds * (1 - share) / share);
    const std::size_t taken = text.size() + tail.size() + 4;  // brackets, space, last column
    const std::size_t columns = terminal_columns();
    const std::size_t room = columns > taken ? columns - taken : 0;
    if (room >= kShortestBar) text += bar(share, std::min(room, kMaxBar));
    text += tail;
  }
  put(std::move(text));
}

void Progress::say(const std::string& text) {
  if (shown_) put(verb_ + "  " + text);
}

void Progress::put(std::string text) {
  // Leave the last column free: writing there makes some terminals start a new line.
  text.resize(std::min(text.size(), terminal_columns() - 1));
  const std::size_t length = text.size();
  if (length < drawn_) text.append(drawn_ - length, ' ');
  ::dprintf(STDERR_FILENO, "\r%s", text.c_str());
  drawn_ = length;
}

void Progress::erase() noexcept {
  if (drawn_ == 0) return;
  // No string of spaces, which may not find memory: a destructor must not throw.
  ::dprintf(STDERR_FILENO, "\r%*s\r", static_cast<int>(drawn_), "");
  drawn_ = 0;
}

}}}  // namespace nestline::command
