// ExpiringFilter's batches: one section per chunk.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "lib/filters/concurrent/lookup_beside_writers.h"
#include "lib/filters/expiring/expiring_state.h"
#include "lib/filters/filter/batch.h"
#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 {
namespace {

using State = ExpiringFilter::State;

// Inserts keys from the front of the inputs, the first being number `first` of the batch, up to one
// that other writers keep overtaking; returns how many.
template <class Locks>
std::size_t renew_some(State& state, const Blocks& table, const Inputs& inputs, unsigned life,
                       std::size_t first, batch::Record& record) {
  const auto renew = state.kernels.renew_batch.with<Locks>();
  const bool is_large = table.view.geometry.blocks() >= batch::kLargeBlocks;
  return with_expiring_table<Locks>(table, [&](auto& blocks) {
    using AnyTable = std::remove_cvref_t<decltype(blocks)>;
    std::int64_t added = 0;
    std::uint32_t emptied = 0;
    std::size_t taken = 0;
    bool overtaken = false;
    std::array<Renewal, kMaxLocated> renewals;
    for (PlaceGroups<Fetch::home, AnyTable> groups(blocks, state.kernels, table.view, inputs);
         !overtaken && groups.next();) {
      std::size_t done = 0;
      for (std::size_t i = 0; !overtaken && i < groups.size(); i += batch::kPiece) {
        const std::span<const Place> homes =
            groups.visit(i, std::min(batch::kPiece, groups.size() - i));
        if (is_large) {
          for (const Place& home : groups.ahead(i + batch::kPiece, batch::kPiece)) {
            blocks.prefetch_others(home);
          }
        }
        for (;;) {
          const std::size_t at = done - i;
          done += renew(table.view.blocks, table.view.geometry, homes.data() + at,
                        homes.size() - at, life, renewals.data() + done, emptied);
          if (done == i + homes.size()) break;
          const std::optional<Outcome> outcome = blocks.renew(homes[done - i], life);
          overtaken = !outcome;
          if (overtaken) break;
          renewals[done++] = renewal_of(*outcome);
        }
      }
      for (std::size_t i = 0; i < done; ++i) {
        added += renewals[i] == Renewal::stored;
        record.add(first + taken + i, outcome_of(renewals[i]));
      }
      taken += done;
      state.count_inserts<Locks>(table, static_cast<std::uint32_t>(groups.size()));
    }
    // Also lets all threads see what was stored (locking.h, W7).
    state.keys.add<Locks>(added - std::int64_t{emptied} - std::int64_t{blocks.emptied()});
    return taken;
  });
}

}  // namespace

std::size_t ExpiringFilter::insert_all(KeySpan keys, unsigned life, std::span<Outcome> outcomes) {
  State& state = *state_;
  life = std::clamp(life, 1u, state.life);
  batch::Record record(outcomes, keys.size());
  refuse_in_section();  // before anything is changed
  for (KeyChunks chunks(keys, state.seed); chunks.next();) {
    const Inputs& inputs = chunks.inputs();
    for (std::size_t taken = 0; taken < inputs.count;) {
      taken += state.write([&]<class Locks>(const Blocks& table, Locks) {
        return std::optional(renew_some<Locks>(state, table, inputs.from(taken), life,
                                               chunks.first() + taken, record));
      });
      if (taken == inputs.count) break;
      const Inserted one = insert_one(Hash{inputs.hash(taken, state.secrets)}, life);
      record.add(chunks.first() + taken, one.outcome);
      ++taken;
    }
  }
  return record.total();
}

void ExpiringFilter::remaining_ticks(KeySpan keys, std::span<std::uint8_t> ticks) const {
  check_length("ticks", ticks.size(), keys.size());
  for (KeyChunks chunks(keys, state_->seed); chunks.next();) {
    const auto out = ticks.subspan(chunks.first());
    state_->read([&](const Blocks& table) {
      state_->look_at(table, [&](const auto& blocks) {
        using AnyTable = std::remove_cvref_t<decltype(blocks)>;
        for (PlaceGroups<Fetch::home, AnyTable> groups(blocks, state_->kernels, table.view,
                                                       chunks.inputs());
             groups.next();) {
          for (std::size_t i = 0; i < groups.size(); ++i) {
            out[groups.first() + i] = static_cast<std::uint8_t>(blocks.left(groups.visit(i)));
          }
        }
      });
    });
  }
}

std::size_t ExpiringFilter::look_up(KeySpan keys, const internal::Answers& answers) const {
  return batch::look_up(ConcurrentLookup{*state_}, keys, state_->seed, answers);
}

}}  // namespace nestline
