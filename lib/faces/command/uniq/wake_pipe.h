// A way to end a wait for input: the waiting thread polls this pipe beside its input. Another
// thread, or a handler of a signal, writes a byte to it. So an endless input ends, and its state is
// saved.
#ifndef NESTLINE_LIB_FACES_COMMAND_UNIQ_WAKE_PIPE_H_
#define NESTLINE_LIB_FACES_COMMAND_UNIQ_WAKE_PIPE_H_

namespace nestline { inline namespace v0_3 { namespace command {

class WakePipe {
 public:
  /// Throws std::system_error.
  WakePipe();
  ~WakePipe();
  WakePipe& operator=(WakePipe&&) = delete;

  /// From now on the descriptor is readable. Any thread may call it.
  void wake() noexcept;
  /// What to poll. It is never read from.
  [[nodiscard]] int descriptor() const noexcept { return ends_[0]; }

  /// Makes the first SIGINT, SIGTERM or SIGHUP call wake(); a second one has its usual effect.
  /// SIGPIPE calls it too, and the write fails. Signals that the caller ignores stay ignored. At
  /// most one object at a time may do this.
  void wake_at_signals();
  /// The signal that came, or 0.
  [[nodiscard]] static int signal() noexcept;
  /// Has the usual effect of that signal.
  static void raise_signal() noexcept;

 private:
  int ends_[2];
};

}}}  // namespace nestline::command

#endif  // NESTLINE_LIB_FACES_COMMAND_UNIQ_WAKE_PIPE_H_
