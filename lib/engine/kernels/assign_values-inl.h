// Per-target: the values of a maplet whose fingerprints were placed in bulk. Where one slot matches
// in all, at home or where the key may be away, it is the key's. Otherwise a key takes, at home or
// else away, the first matching slot that is not assigned yet. Pairs that match the same slots look
// the same, so it does not matter which of them gets which; and each finds one: a key goes away
// only if those with its home are more than their slots there, and then the home's mark covers
// them.
#if defined(NESTLINE_LIB_ENGINE_KERNELS_ASSIGN_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NESTLINE_LIB_ENGINE_KERNELS_ASSIGN_VALUES_INL_H_
#undef NESTLINE_LIB_ENGINE_KERNELS_ASSIGN_VALUES_INL_H_
#else
#define NESTLINE_LIB_ENGINE_KERNELS_ASSIGN_VALUES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "lib/engine/kernels/maplet-inl.h"
#include "lib/engine/kernels/match-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nestline { inline namespace v0_3 { namespace HWY_NAMESPACE { namespace maplet {

template <class L>
class ValueAssignment : CandidateStages<L> {
  using Stages = CandidateStages<L>;
  using Stages::view_;

 public:
  HWY_INLINE ValueAssignment(const BlocksView& view, Block* blocks, const Inputs& inputs,
                             const std::uint64_t* values, std::uint64_t* assigned)
      : Stages(view, inputs), blocks_(blocks), values_(values), assigned_(assigned) {}

  HWY_INLINE void run() {
    while (const CandidateStage* const group = Stages::next()) {
      assign(*group, values_ + (Stages::taken() - 1) * kGroup);
    }
  }

 private:
  HWY_INLINE void assign(const CandidateStage& group, const std::uint64_t* values) {
    for (std::uint64_t rest = group.single; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      const std::uint64_t slots = group.matches[i] & group.bucket[i];
      L::set_value(blocks_[number_of(block_at(group.address[i]))], first_slot(slots), values[i]);
    }
    const std::uint64_t* alternate = group.alternate;
    for (std::uint64_t rest = group.wanted & ~group.single; rest != 0; rest &= rest - 1) {
      const std::uint32_t i = first_slot(rest);
      Copies copies = Stages::copies_of(group, i, alternate);
      const bool are_several = copies.are_several();
      if (HWY_UNLIKELY(are_several)) {
        copies.at_home &= ~assigned_[number_of(*copies.home)];
        copies.elsewhere &= ~assigned_[number_of(*copies.away)];
      }
      const std::uint64_t block = number_of(copies.block());
      const std::uint64_t slots = copies.slots();
      if (HWY_UNLIKELY(are_several)) assigned_[block] |= slots & (~slots + 1);
      L::set_value(blocks_[block], first_slot(slots), values[i]);
    }
  }
  HWY_INLINE std::uint64_t number_of(const Block& block) const {
    return static_cast<std::uint64_t>(&block - view_.blocks);
  }

  Block* blocks_;
  const std::uint64_t* values_;
  std::uint64_t* assigned_;
};

template <class L>
void assign_values(const BlocksView& view, Block* blocks, const Inputs& inputs,
                   const std::uint64_t* values, std::uint64_t* assigned) noexcept {
  ValueAssignment<L>(view, blocks, inputs, values, assigned).run();
}

}  // namespace maplet
}  // namespace HWY_NAMESPACE
}}  // namespace nestline
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
