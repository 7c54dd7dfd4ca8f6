// What a handle such as Filter owns, and nothing after it was moved from: then a build with
// assertions ends the program with a sentence where others crash.
#ifndef NESTLINE_INTERNAL_OWNED_STATE_H_
#define NESTLINE_INTERNAL_OWNED_STATE_H_

#include <cassert>
#include <memory>
#include <utility>

namespace nestline::internal {

template <class State>
class OwnedState : public std::unique_ptr<State> {
  using Base = std::unique_ptr<State>;

 public:
  OwnedState() noexcept = default;
  OwnedState(Base&& state) noexcept : Base(std::move(state)) {}  // NOLINT: as unique_ptr converts
  using Base::operator=;

  State& operator*() const noexcept {
    check();
    return Base::operator*();
  }
  State* operator->() const noexcept {
    check();
    return Base::operator->();
  }

 private:
  void check() const noexcept {
    assert(Base::get() != nullptr &&
           "an object that was moved from is used: it may only be assigned to or destroyed");
  }
};

}  // namespace nestline::internal

#endif  // NESTLINE_INTERNAL_OWNED_STATE_H_
