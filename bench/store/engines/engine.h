// One interface to the engines that a Guard is measured before. Each has a file of its own here,
// which says how it is set up; an engine whose package is not installed is left out by CMake.
//
// Every call that fails throws std::runtime_error with the engine's own words. One thread.
#ifndef NESTLINE_BENCH_STORE_ENGINES_ENGINE_H_
#define NESTLINE_BENCH_STORE_ENGINES_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {

// Destruction closes the engine.
class Engine : public Reader {
 public:
  virtual void put(std::string_view key, std::string_view value) = 0;
  // The cheapest that the engine has, and one that says whether the key was there.
  virtual void erase(std::string_view key) = 0;
  virtual bool erase_known(std::string_view key) {
    Taken ignored;
    if (!get(key, ignored)) return false;
    erase(key);
    return true;
  }
  // Calls with(key) for all keys.
  virtual void each_key(const std::function<void(std::string_view)>& with) = 0;
  // One transaction around many puts, to load quickly.
  virtual void begin_load() {}
  virtual void end_load() {}
  // Does what was left to do in the background.
  virtual void settle() {}
};

struct EngineKind {
  std::string name;
  std::string settings;  // for the output
  std::function<std::unique_ptr<Engine>(const std::filesystem::path& folder)> open;
};

// Those that this program was built with, each with and without filters of its own.
std::vector<EngineKind> engine_kinds();

void add_leveldb(std::vector<EngineKind>& kinds);
void add_rocksdb(std::vector<EngineKind>& kinds);
void add_lmdb(std::vector<EngineKind>& kinds);
void add_sqlite(std::vector<EngineKind>& kinds);

}  // namespace nestline::bench

#endif  // NESTLINE_BENCH_STORE_ENGINES_ENGINE_H_
