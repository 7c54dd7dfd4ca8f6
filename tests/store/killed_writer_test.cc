// A writing process is killed in the middle of its work while other processes follow the log. The
// writer notes each change in shared memory when the call has returned. When it is dead, all these
// changes must be there, whatever the Sync: the system still has what was written. Readers never
// see a value that a key did not have, and never an older one than before.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "nestline/store.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace nestline::test { namespace {

constexpr std::size_t kKeys = 64;

// Between the processes. Version 0: the key is not there.
struct Shared {
  struct Key {
    std::atomic<std::uint64_t> begun{0};     // the newest version that may be there
    std::atomic<std::uint64_t> returned{0};  // the newest one that must be
  };
  std::array<Key, kKeys> keys;
  std::atomic<std::uint64_t> rounds{0};    // of the writer
  std::atomic<std::uint64_t> followed{0};  // refresh() calls that found something, of all readers
  std::atomic<bool> done{false};
  std::atomic<int> complaint{0};
};

std::string key_name(std::size_t key) { return "key " + std::to_string(key); }

// Versions that are multiples of 5 are erasures.
bool is_erasure(std::uint64_t version) { return version % 5 == 0; }
std::string value_of(std::size_t key, std::uint64_t version) {
  std::string value = std::to_string(key) + ' ' + std::to_string(version) + ' ';
  return value.append(version * 37 % 500, 'v');
}

// The version of a value, or ~0 if the key cannot have had it.
std::uint64_t version_of(std::size_t key, const std::string& value) {
  const std::size_t blank = value.find(' ');
  if (blank == std::string::npos) return ~std::uint64_t{0};
  const std::uint64_t version = std::strtoull(value.c_str() + blank + 1, nullptr, 10);
  return !is_erasure(version) && value == value_of(key, version) ? version : ~std::uint64_t{0};
}

int write_on(const TempFolder& folder, const StoreOptions& options, Shared& shared) {
  Store store = Store::open(folder.path(), options);
  for (std::uint64_t round = 0;; ++round) {
    for (std::size_t key = 0; key < kKeys; ++key) {
      auto& known = shared.keys[key];
      const std::uint64_t version = known.begun.load() + 1;
      known.begun.store(version);
      if (is_erasure(version)) {
        store.erase(key_name(key));
      } else if (version % 7 == 0) {
        Store::Batch batch;
        batch.put(key_name(key), value_of(key, version));
        store.write(batch);
      } else {
        store.put(key_name(key), value_of(key, version));
      }
      known.returned.store(version);
    }
    if (round % 16 == 7) store.compact();
    if (round % 16 == 15) store.checkpoint();
    ++shared.rounds;
  }
}

// The key has a version between `least` and the newest one that was begun. Returns it: of a key
// that is not there, the oldest possible. `who` looks.
std::uint64_t look(const char* who, const Store& store, std::size_t key, std::uint64_t least,
                   Shared& shared) {
  std::string value;
  const bool found = store.get(key_name(key), value);
  const std::uint64_t most = shared.keys[key].begun.load();
  if (found) {
    const std::uint64_t version = version_of(key, value);
    if (version > most || version < least) {
      std::fprintf(stderr, "%s: key %zu has %s, not a version from %llu to %llu\n", who, key,
                   value.substr(0, 40).c_str(), static_cast<unsigned long long>(least),
                   static_cast<unsigned long long>(most));
      shared.complaint.store(1);
      return least;
    }
    return version;
  }
  for (std::uint64_t version = least; version <= most; ++version) {
    if (is_erasure(version)) return version;
  }
  std::fprintf(stderr, "%s: key %zu is missing: versions from %llu to %llu\n", who, key,
               static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
  shared.complaint.store(2);
  return least;
}

int follow(const TempFolder& folder, Shared& shared) {
  Store store = Store::open(folder.path(), {.read_only = true});
  std::array<std::uint64_t, kKeys> seen{};
  while (!shared.done.load() && shared.complaint.load() == 0) {
    // What had returned before refresh() must be there after it.
    std::array<std::uint64_t, kKeys> least = seen;
    for (std::size_t key = 0; key < kKeys; ++key) {
      least[key] = std::max(least[key], shared.keys[key].returned.load());
    }
    if (store.refresh()) ++shared.followed;
    for (std::size_t key = 0; key < kKeys; ++key) {
      seen[key] = look("a reader", store, key, least[key], shared);
    }
  }
  return shared.complaint.load();
}

void kill_again_and_again(StoreOptions options, unsigned times) {
  TempFolder folder;
  SharedMemory<Shared> shared;
  options.segment_bytes = 65536;
  options.expected_records = 8;
  { const Store make = Store::open(folder.path(), options); }
  std::array<pid_t, 2> readers{};
  for (pid_t& reader : readers) reader = start([&] { return follow(folder, *shared); });
  for (unsigned time = 0; time < times && shared->complaint.load() == 0; ++time) {
    const std::uint64_t rounds = shared->rounds.load() + 3 + time * 7 % 40;
    const std::uint64_t followed = shared->followed.load();
    const pid_t writer = start([&] { return write_on(folder, options, *shared); });
    int status = 0;
    while (shared->rounds.load() < rounds || shared->followed.load() < followed + 2) {
      ASSERT_EQ(::waitpid(writer, &status, WNOHANG), 0) << "the writer ended";
      if (shared->complaint.load() != 0) break;
      std::this_thread::yield();
    }
    ASSERT_EQ(::kill(writer, SIGKILL), 0);
    status = wait_for(writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;

    // In another process too, so that this one has no threads when it forks.
    const pid_t checker = start([&] {
      const Store store = Store::open(folder.path(), options);
      for (std::size_t key = 0; key < kKeys; ++key) {
        const std::uint64_t version =
            look("the next writer", store, key, shared->keys[key].returned.load(), *shared);
        shared->keys[key].returned.store(version);
      }
      const StoreReport report = verify_store(folder.path());
      for (const std::string& problem : report.problems) {
        std::fprintf(stderr, "verify: %s\n", problem.c_str());
      }
      return report.ok() ? shared->complaint.load() : 3;  // a complaint may be a reader's
    });
    ASSERT_EQ(wait_for(checker), 0) << "time " << time;
  }
  shared->done.store(true);
  for (const pid_t reader : readers) EXPECT_EQ(wait_for(reader), 0);
  EXPECT_GT(shared->followed.load(), 0u);
}

TEST(KilledWriter, LosesNothingThatReturned) { kill_again_and_again({.sync = Sync::never}, 15); }

TEST(KilledWriter, LosesNothingWithThreadsThatSync) {
  kill_again_and_again({.sync = Sync::interval, .sync_interval = std::chrono::milliseconds(1)}, 10);
}

TEST(KilledWriter, LosesNothingWithSyncEach) { kill_again_and_again({.sync = Sync::each}, 5); }

}  // namespace
}  // namespace nestline::test
