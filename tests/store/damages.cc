// See damages.h.
#include "tests/store/damages.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace nestline::test {
namespace {

constexpr std::size_t kKeys = 12;

// Every byte of the log and the checkpoint's head; some of its maplet, which has its own tests.
std::size_t step_at(const std::string& name, std::size_t at) {
  return name.ends_with(".log") || at < 600 ? 1 : 499;
}

std::vector<std::uint64_t> segments_of(const Files& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  return segment_numbers(names);
}

}  // namespace

SmallStore::SmallStore(bool compacts) {
  const auto machine = SimulatedMachine::make(7);
  std::uint64_t fate = 0;
  machine->before_change = [&](const SimulatedMachine& now) {
    crashed.push_back(now.after_power_loss(++fate)->files());
  };
  {
    Store store = open(machine);
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < 36; ++i) {
      change(store, i, random);
      if (compacts && i % 5 == 0) store.sync();
      if (compacts && i % 9 == 0) store.compact();
    }
  }
  machine->before_change = nullptr;
  files = machine->files();
  // Files that hold nothing would make tests pass for nothing.
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  for (const auto& [key, values] : had) keys.push_back(key);
}

void SmallStore::change(Store& store, unsigned number, std::mt19937_64& random) {
  const std::string key = key_of(random() % kKeys);
  if (random() % 4 == 0) {
    (void)store.erase(key);
    return note(key, "");
  }
  const std::string value = std::to_string(number) + std::string(random() % 140, 'v');
  if (random() % 4 == 0) {
    Store::Batch batch;
    batch.put(key, value);
    batch.put("with " + key, value);
    store.write(batch);
    note("with " + key, value);
  } else {
    store.put(key, value);
  }
  note(key, value);
}

void SmallStore::note(const std::string& key, const std::string& value) {
  std::vector<std::string>& values = had[key];
  if (values.empty()) values.emplace_back();
  values.push_back(value);
  if (value.empty()) {
    content.erase(key);
  } else {
    content[key] = value;
  }
}

void damage_bytes(const SmallStore& store, const WithDamage& with) {
  for (const auto& [name, content] : store.files) {
    for (std::size_t at = 0; at < content.size(); at += step_at(name, at)) {
      Files files = store.files;
      std::byte& byte = files[name][at];
      const std::byte old = byte;
      const std::array changes = {old ^ std::byte{1} << (at % 8), std::byte{0}, std::byte{0xff}};
      byte = changes[at % changes.size()];
      if (byte == old) byte ^= std::byte{0x40};
      with({std::move(files), name + ", byte " + std::to_string(at), {}});
    }
  }
}

void damage_unmarked(const SmallStore& store, const WithDamage& with) {
  const std::string newest = segment_name(segments_of(store.files).back());
  Files files = store.files;
  Bytes& bytes = files.at(newest);
  bytes.resize(bytes.size() - kSyncMarkBytes);
  for (std::size_t at = kSegmentHeaderBytes; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{1} << (at % 8);
    with({files, newest + " without its mark, byte " + std::to_string(at), {}});
    bytes[at] ^= std::byte{1} << (at % 8);
  }
}

void damage_all_files(const SmallStore& store, const WithDamage& with) {
  for (std::size_t part = 0; part < 64; ++part) {
    Files files = store.files;
    for (auto& [name, content] : files) {
      if (name.ends_with(".log")) content[content.size() * part / 64] ^= std::byte{1};
    }
    with({std::move(files), "part " + std::to_string(part) + " of all files", {}});
  }
}

void damage_lengths(const SmallStore& store, const WithDamage& with) {
  for (const auto& [name, content] : store.files) {
    for (std::size_t size = 0; size < content.size(); size += step_at(name, size)) {
      Files files = store.files;
      files[name].resize(size);
      with({files, name + " cut at " + std::to_string(size), {}});
      // The same length, with zeros: what a lost write leaves.
      if (size % 8 != 0) continue;
      files[name].resize(content.size());
      with({std::move(files), name + " zero from " + std::to_string(size), {}});
    }
  }
}

void lengthen_files(const SmallStore& store, const WithDamage& with) {
  for (const auto& [name, content] : store.files) {
    for (const std::size_t more : {1u, 8u, 31u, 32u, 64u, 4096u}) {
      for (const unsigned fill : {0u, 1u, 0xffu}) {
        Files files = store.files;
        files[name].resize(content.size() + more, static_cast<std::byte>(fill));
        with({std::move(files), name + " longer by " + std::to_string(more), {}});
      }
    }
  }
}

void lose_and_swap_files(const SmallStore& store, const WithDamage& with) {
  for (const auto& [name, content] : store.files) {
    Files files = store.files;
    files.erase(name);
    with({std::move(files), name + " is missing", name.ends_with(".log")});
    for (const auto& [other, other_content] : store.files) {
      if (other == name) continue;
      files = store.files;
      std::swap(files[name], files[other]);
      with({std::move(files), name + " and " + other + " are swapped", true});
      files = store.files;
      files[name] = files[other];
      with({std::move(files), name + " is a copy of " + other, true});
    }
  }
}

void mix_with_another_store(const SmallStore& store, const WithDamage& with) {
  const auto machine = SimulatedMachine::make(8);
  {
    Store other = open(machine);
    for (unsigned i = 0; i < 50; ++i) other.put("foreign " + std::to_string(i), "foreign value");
  }
  for (const auto& [name, content] : machine->files()) {
    if (content.empty()) continue;
    Files files = store.files;
    files[name] = content;
    with({std::move(files), name + " is another store's", true});
  }
}

void damage_what_crashes_leave(const SmallStore& store, const WithDamage& with) {
  std::mt19937_64 random(5);
  std::vector<Files> crashed = store.crashed;
  // And what one leaves of the opening after it, and of changes then.
  for (std::size_t i = 0, first = crashed.size(); i < first; i += 2) {
    const auto machine = machine_with(crashed[i]);
    machine->before_change = [&](const SimulatedMachine& now) {
      if (random() % 8 == 0) crashed.push_back(now.after_power_loss(random())->files());
    };
    Store opened = open(machine);
    for (const char* const key : {"a", "b", "c"}) {
      opened.put(key, std::string(random() % 400, 'w'));
    }
    machine->before_change = nullptr;
  }
  for (std::size_t i = 0; i < crashed.size(); ++i) {
    const std::string crash = "crash " + std::to_string(i);
    with({crashed[i], crash, {}});
    for (unsigned kind = 0; kind < 8; ++kind) {
      Files files = crashed[i];
      std::erase_if(files, [](const auto& file) { return file.second.empty(); });
      if (kind % 2 == 1) files.erase("index.nest");
      if (files.empty()) break;
      const auto file =
          std::next(files.begin(), static_cast<std::ptrdiff_t>(random() % files.size()));
      const std::string what = crash + ", kind " + std::to_string(kind) + " of " + file->first;
      Bytes& bytes = file->second;
      const std::size_t at = random() % bytes.size();
      if (kind < 4) {
        bytes[at] ^= std::byte{1} << (random() % 8);
      } else if (kind < 6) {
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min<std::size_t>(bytes.size() - at, random() % 512), std::byte{0});
      } else if (random() % 2 == 0) {
        bytes.resize(at);
      } else {
        files.erase(file);
      }
      with({std::move(files), what, {}});
    }
  }
}

}  // namespace nestline::test
