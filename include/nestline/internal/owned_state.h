// What a handle such as Filter owns, and nothing after it was moved from: then a build with
// assertions ends the program with a sentence where others crash. As std::unique_ptr, but without
// <memory>, which is half of what a handle's header would cost.
#ifndef NESTLINE_INTERNAL_OWNED_STATE_H_
#define NESTLINE_INTERNAL_OWNED_STATE_H_

#include <cassert>
#include <cstddef>
#include <utility>

namespace nestline { inline namespace v0_3 { namespace internal {

// Gives up what it points to: a std::unique_ptr<State> or an OwnedState<State>.
template <class Owner, class State>
concept OwnerOf = requires(Owner& owner, State*& state) {
  state = owner.release();
};

template <class State>
class OwnedState {
 public:
  OwnedState() noexcept = default;
  explicit OwnedState(State* state) noexcept : state_(state) {}
  OwnedState(std::nullptr_t) noexcept {}  // NOLINT: as unique_ptr converts
  OwnedState(OwnerOf<State> auto&& owner) noexcept
      : state_(owner.release()) {}  // NOLINT: as unique_ptr converts
  OwnedState(OwnedState&& other) noexcept : state_(other.release()) {}
  OwnedState& operator=(OwnedState other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~OwnedState() { delete state_; }

  [[nodiscard]] State* get() const noexcept { return state_; }
  [[nodiscard]] State* release() noexcept { return std::exchange(state_, nullptr); }
  explicit operator bool() const noexcept { return state_ != nullptr; }

  State& operator*() const noexcept {
    check();
    return *state_;
  }
  State* operator->() const noexcept {
    check();
    return state_;
  }

 private:
  void check() const noexcept {
    assert(state_ != nullptr &&
           "an object that was moved from is used: it may only be assigned to or destroyed");
  }

  State* state_ = nullptr;
};

}}}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_OWNED_STATE_H_
