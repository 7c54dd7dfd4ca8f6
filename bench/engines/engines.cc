#include "bench/engines/engine.h"

namespace nestline::bench {

std::vector<EngineKind> engine_kinds() {
  std::vector<EngineKind> kinds;
#ifdef NESTLINE_ENGINES_LEVELDB
  add_leveldb(kinds);
#endif
#ifdef NESTLINE_ENGINES_ROCKSDB
  add_rocksdb(kinds);
#endif
#ifdef NESTLINE_ENGINES_LMDB
  add_lmdb(kinds);
#endif
#ifdef NESTLINE_ENGINES_SQLITE
  add_sqlite(kinds);
#endif
  return kinds;
}

}  // namespace nestline::bench
