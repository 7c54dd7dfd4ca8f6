#include <vector>

#include "bench/store/engines/engine.h"

namespace nestline::bench {

std::vector<EngineKind> engine_kinds() {
  std::vector<EngineKind> kinds;
#ifdef NESTLINE_BENCH_LEVELDB
  add_leveldb(kinds);
#endif
#ifdef NESTLINE_BENCH_ROCKSDB
  add_rocksdb(kinds);
#endif
#ifdef NESTLINE_BENCH_LMDB
  add_lmdb(kinds);
#endif
#ifdef NESTLINE_BENCH_SQLITE
  add_sqlite(kinds);
#endif
  return kinds;
}

}  // namespace nestline::bench
