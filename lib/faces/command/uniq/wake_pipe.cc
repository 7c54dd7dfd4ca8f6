#include "lib/faces/command/uniq/wake_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

// What the handler needs. It only writes to these and to the pipe.
volatile std::sig_atomic_t came = 0;
volatile std::sig_atomic_t writable_end = -1;

void handle(int number) {
  const int before = errno;
  came = number;
  [[maybe_unused]] const auto written = ::write(writable_end, "", 1);
  errno = before;
}

}  // namespace

WakePipe::WakePipe() : ends_{-1, -1} {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "a pipe");
  }
}

WakePipe::~WakePipe() {
  if (writable_end == ends_[1]) writable_end = -1;
  ::close(ends_[0]);
  ::close(ends_[1]);
}

void WakePipe::wake() noexcept { [[maybe_unused]] const auto written = ::write(ends_[1], "", 1); }

void WakePipe::wake_at_signals() {
  writable_end = ends_[1];
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    if (number != SIGPIPE) action.sa_flags |= static_cast<int>(SA_RESETHAND);
    static_cast<void>(::sigaction(number, &action, nullptr));
  }
}

int WakePipe::signal() noexcept { return came; }

void WakePipe::raise_signal() noexcept {
  if (came == 0) return;
  static_cast<void>(std::signal(came, SIG_DFL));
  static_cast<void>(std::raise(came));
}

}}}  // namespace nestline::command
