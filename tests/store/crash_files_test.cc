// Files in a store (put_file) on a disk that loses its power: after a crash each name has its old
// content or its new one, whole, in the order of the changes, and nothing that was synced is lost.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nestline/store_files.h"
#include "tests/store/on_call.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_checks.h"
#include "tests/store/store_model.h"

namespace nestline::test { namespace {

StoreOptions small_options(std::uint64_t seed) {
  return {.sync = seed % 2 == 0 ? Sync::never : Sync::each,
          .segment_bytes = 4096,
          .expected_records = 8,
          .compact_above = 0.1};
}

Store open(SimulatedMachine& machine, std::uint64_t seed) {
  return Store::State::open(machine.disk(), small_options(seed), kOnCall);
}

// The names and what they hold. Throws what is wrong.
Content files_of(const Store& store) {
  Content content;
  for (const StoredFile& file : list_files(store)) {
    std::string text;
    const bool found =
        get_file(store, file.name, [&](std::string_view piece) { text.append(piece); });
    expect(found, [&] { return file.name + " is listed and cannot be read"; });
    expect(text.size() == file.bytes, [&] { return file.name + " has another length"; });
    content[file.name] = text;
  }
  return content;
}

void put_file(Store& store, const std::string& name, std::string_view text) {
  const FileSource source = [&](std::span<char> to) {
    const std::size_t count = text.copy(to.data(), to.size());
    text.remove_prefix(count);
    return count;
  };
  nestline::put_file(store, name, source, {.bytes = 256});
}

struct Picture {
  std::shared_ptr<SimulatedMachine> machine;
  StoreModel model;
  std::uint64_t change = 0;
};

class FilesHistory {
 public:
  explicit FilesHistory(std::uint64_t seed) : seed_(seed), random_(seed) {}

  std::vector<Picture> play() {
    const auto machine = SimulatedMachine::make(seed_);
    machine->before_change = [&](const SimulatedMachine& now) {
      if (random_() % 6 != 0) return;
      StoreModel model = model_;
      model.power_lost();
      pictures_.push_back({now.after_power_loss(random_()), std::move(model), now.changes()});
    };
    Store store = open(*machine, seed_);
    for (unsigned i = 0; i < 25; ++i) operate(store);
    expect(files_of(store) == model_.now(), [] { return "the files are wrong without a crash"; });
    return std::move(pictures_);
  }

 private:
  // With pieces that come up again, in other files too.
  std::string draw_text() {
    std::string text;
    for (std::uint64_t left = random_() % 8; left > 0; --left) {
      text.append(256, static_cast<char>('a' + random_() % 6));
    }
    return text.append(random_() % 200, 'z');
  }

  void operate(Store& store) {
    const std::string name = "file " + std::to_string(random_() % 4);
    switch (random_() % 8) {
      case 0:
        if (model_.now().contains(name)) model_.change({{name, std::nullopt}});
        (void)erase_file(store, name);
        break;
      case 1:
        store.sync();
        return model_.all_is_synced();
      case 2:
        return store.compact();
      case 3:
        return Store::State::keep_up_on(store);
      default: {
        const std::string text = draw_text();
        model_.change({{name, text}});
        put_file(store, name, text);
        break;
      }
    }
    if (seed_ % 2 != 0) model_.all_is_synced();
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  StoreModel model_;
  std::vector<Picture> pictures_;
};

TEST(CrashFiles, AreWholeInTheirOrder) {
  std::uint64_t power_losses = 0;
  for (std::uint64_t seed = 0; power_losses < 800; ++seed) {
    for (Picture& picture : FilesHistory(seed).play()) {
      ++power_losses;
      Content found;
      ASSERT_NO_THROW(found = files_of(open(*picture.machine, seed)))
          << "seed " << seed << ", change " << picture.change;
      ASSERT_TRUE(picture.model.go_back_to(found))
          << "seed " << seed << ", change " << picture.change << ": "
          << difference(found, picture.model.now());
    }
  }
}

}  // namespace
}  // namespace nestline::test
