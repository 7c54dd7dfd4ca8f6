#include "lib/faces/c/errors.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string_view>

namespace nestline { inline namespace v0_3 { namespace c {
namespace {

constexpr const char* kNoMemory = "there is not enough memory";

// A path may have 4096 bytes; the sentence around it is always shorter.
constexpr std::size_t kMaxBytes = 4096 + 1024;

std::span<char> buffer() noexcept {
  thread_local std::unique_ptr<char[]> bytes;
  if (bytes == nullptr) bytes.reset(new (std::nothrow) char[kMaxBytes]);
  return {bytes.get(), bytes == nullptr ? 0 : kMaxBytes};
}

// The beginning of a too long sentence is cut: that is a path, and the reason comes after it.
const char* keep(const char* sentence) noexcept {
  static constexpr std::string_view kLeftOut = "...";
  const std::span<char> kept = buffer();
  if (kept.empty()) return kNoMemory;
  const std::size_t size = std::strlen(sentence);
  if (size < kept.size()) {
    std::copy_n(sentence, size + 1, kept.data());
  } else {
    char* const rest = std::copy(kLeftOut.begin(), kLeftOut.end(), kept.data());
    const std::size_t room = kept.size() - kLeftOut.size();  // the last byte is the NUL
    std::copy_n(sentence + size + 1 - room, room, rest);
  }
  return kept.data();
}

}  // namespace

void set_caught_error(const char** error) noexcept {
  if (error == nullptr) return;
  try {
    throw;
  } catch (const Refusal& refusal) {
    *error = refusal.sentence;
  } catch (const std::bad_alloc&) {
    *error = kNoMemory;
  } catch (const std::exception& exception) {
    *error = keep(exception.what());
  } catch (...) {
    *error = "something went wrong that has no description";
  }
}

}}}  // namespace nestline::c
