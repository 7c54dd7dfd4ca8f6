// What was opened last: so many, of so many bytes, and the newest in any case. For one thread.
#ifndef NESTLINE_LIB_FACES_EMBED_RECENT_H_
#define NESTLINE_LIB_FACES_EMBED_RECENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>

namespace nestline { inline namespace v0_3 {

template <typename Opened>
class Recent {
 public:
  constexpr Recent(std::size_t most, std::uint64_t most_bytes)
      : most_(most), most_bytes_(most_bytes) {}
  // Makes the newest of which is_it(opened) is true the newest of all; null if there is none.
  // O(most).
  Opened* find(auto&& is_it) {
    const auto known = std::ranges::find_if(kept_, is_it, &Kept::opened);
    if (known == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, known);
    return &known->opened;
  }
  // Adds the newest, and drops what is beyond the limits. Throws std::bad_alloc.
  Opened& keep(Opened opened, std::uint64_t bytes) {
    kept_.push_front({std::move(opened), bytes});
    bytes_ += bytes;
    while (kept_.size() > most_ || (bytes_ > most_bytes_ && kept_.size() > 1)) {
      bytes_ -= kept_.back().bytes;
      kept_.pop_back();
    }
    return kept_.front().opened;
  }

 private:
  struct Kept {
    Opened opened;
    std::uint64_t bytes;
  };
  std::size_t most_;
  std::uint64_t most_bytes_;
  std::list<Kept> kept_;  // the newest first
  std::uint64_t bytes_ = 0;
};

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_RECENT_H_
