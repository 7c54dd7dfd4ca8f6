// Misuse that the compiler catches. Each line with the mark `NO:` is refused with a message that
// matches the regular expression after the mark; everything else compiles. must_not_compile_test.py
// checks this; no program is built from this file.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nestline/concurrent_filter.h"
#include "nestline/filter.h"
#include "nestline/io.h"
#include "nestline/nestline.h"
#include "nestline/parallel.h"

namespace {

enum Unscoped { kUnscoped };
enum class Scoped : std::uint64_t { kScoped };

template <class AnyFilter>
void drops_outcomes(AnyFilter& filter) {
  filter.insert(1);         // NO: ignoring return
  filter.insert("one");     // NO: ignoring return
  filter.insert_unique(1);  // NO: ignoring return
  filter.update(1, 2);      // NO: ignoring return
  if (!filter.insert(1)) return;
  if (!filter.update(1, 2)) return;
  filter.erase(2);
}

void drops_outcomes_of_all(nestline::Filter& filter, nestline::ConcurrentFilter& shared,
                           std::vector<std::uint64_t>& keys) {
  drops_outcomes(filter);
  drops_outcomes(shared);
  filter.insert(keys);                       // NO: ignoring return
  shared.insert(keys);                       // NO: ignoring return
  nestline::parallel::insert(shared, keys);  // NO: ignoring return
  if (filter.insert(keys) < keys.size()) return;
  filter.erase(keys);
  filter.snapshot();  // NO: ignoring return
}

void drops_a_result(nestline::Inserted (*made)()) {
  made();  // NO: ignoring return
  if (!made()) return;
}

bool asks_for_no_key(const nestline::Filter& filter, const nestline::ConcurrentFilter& shared,
                     const nestline::MappedFilter& mapped) {
  const int number = 7;
  bool found = filter.may_contain(number) && shared.may_contain(number);
  found &= filter.may_contain(true);                 // NO: deleted
  found &= shared.may_contain('c');                  // NO: deleted
  found &= mapped.may_contain(1.0);                  // NO: deleted
  found &= filter.may_contain(1.0f);                 // NO: deleted
  found &= filter.may_contain(u8'c');                // NO: deleted
  found &= filter.may_contain(L'c');                 // NO: deleted
  found &= filter.may_contain(kUnscoped);            // NO: deleted
  found &= filter.may_contain(Scoped{});             // NO: deleted
  found &= filter.may_contain(std::byte{});          // NO: deleted
  found &= filter.may_contain(nullptr);              // NO: deleted
  found &= filter.may_contain(&number);              // NO: deleted
  found &= filter.may_contain(u8"text");             // NO: no matching
  found &= nestline::hash_key(true, 1).value != 0;   // NO: deleted
  found &= filter.reader().may_contain(nullptr);     // NO: deleted
  found &= filter.reader().may_contain(true);        // NO: deleted
  found &= filter.reader().prepare('c').value != 0;  // NO: deleted
  return found & mapped.may_contain(static_cast<std::uint64_t>(Scoped{}));
}

void changes_without_a_key(nestline::Filter& filter) {
  if (filter.insert(true)) return;           // NO: deleted
  if (filter.insert_unique('c')) return;     // NO: deleted
  if (filter.update(1, 1.5)) return;         // NO: deleted
  if (filter.erase(nullptr)) return;         // NO: deleted
  if (filter.count(kUnscoped) != 0) return;  // NO: deleted
}

std::size_t asks_for_no_batch(const nestline::Filter& filter, std::span<std::uint8_t> out) {
  const std::vector<std::int32_t> good(out.size());
  const std::vector<std::uint8_t> bytes(out.size());
  const std::vector<double> doubles(out.size());
  std::size_t found = filter.may_contain(good, out);
  found += filter.may_contain(bytes, out);                  // NO: no matching
  found += filter.may_contain(doubles, out);                // NO: no matching
  found += filter.may_contain(std::array<bool, 2>(), out);  // NO: no matching
  return found;
}

void changes_a_mapped_filter(nestline::MappedFilter& mapped) {
  if (mapped.insert(1)) return;  // NO: no member named
  mapped.clear();                // NO: no member named
}

bool takes_stored_for_an_outcome(nestline_filter* filter) {
  const char* error = nullptr;
  if (nestline_insert_u64(filter, 1, &error) == NESTLINE_FULL) return false;  // NO: always false
  const bool stored = nestline_insert_u64(filter, 1, &error);
  return nestline_outcome_of(stored, error) == NESTLINE_STORED;
}

}  // namespace

int main() {
  (void)&drops_outcomes_of_all;
  (void)&drops_a_result;
  (void)&asks_for_no_key;
  (void)&changes_without_a_key;
  (void)&asks_for_no_batch;
  (void)&changes_a_mapped_filter;
  (void)&takes_stored_for_an_outcome;
}
