// A small store with a past, and all that may be wrong with its files: what damage_test and
// repair_test try.
#ifndef NESTLINE_TESTS_STORE_DAMAGES_H_
#define NESTLINE_TESTS_STORE_DAMAGES_H_

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/store/damaged_files.h"
#include "tests/store/store_model.h"

namespace nestline::test {

// Closed, and of several files.
struct SmallStore {
  // `compacts`: again and again, and syncs often.
  explicit SmallStore(bool compacts);

  Files files;
  std::vector<Files> crashed;  // what losses of power would have left on the way there
  Content content;
  std::map<std::string, std::vector<std::string>> had;  // in turn; "" stands for: not there
  std::vector<std::string> keys;

 private:
  void change(Store& store, unsigned number, std::mt19937_64& random);
  void note(const std::string& key, const std::string& value);
};

struct DamagedFiles {
  Files files;
  std::string what;
  std::optional<bool> is_noticed;  // by an opening, if that is known
};
using WithDamage = std::function<void(DamagedFiles damaged)>;

void damage_bytes(const SmallStore& store, const WithDamage& with);
// In the newest file, without the mark of closing: only the checkpoint proves that it is damage.
void damage_unmarked(const SmallStore& store, const WithDamage& with);
// So much that repair writes several files.
void damage_all_files(const SmallStore& store, const WithDamage& with);
void damage_lengths(const SmallStore& store, const WithDamage& with);
void lengthen_files(const SmallStore& store, const WithDamage& with);
void lose_and_swap_files(const SmallStore& store, const WithDamage& with);
void mix_with_another_store(const SmallStore& store, const WithDamage& with);
// What a loss of power leaves, also of the opening after it; and then a byte is wrong, or a page,
// or an end or a file is missing.
void damage_what_crashes_leave(const SmallStore& store, const WithDamage& with);

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_DAMAGES_H_
