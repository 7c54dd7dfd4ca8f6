#include <vector>

#include "bench/store/systems/system.h"

namespace nestline::bench {

std::vector<System> systems() {
  return {
      nestline_system(),
#ifdef NESTLINE_BENCH_LEVELDB
      leveldb_system(),
#endif
#ifdef NESTLINE_BENCH_ROCKSDB
      rocksdb_system(),
#endif
#ifdef NESTLINE_BENCH_LMDB
      lmdb_system(),
#endif
#ifdef NESTLINE_BENCH_TKRZW
      tkrzw_system(),
#endif
#ifdef NESTLINE_BENCH_TINYCDB
      tinycdb_system(),
#endif
  };
}

}  // namespace nestline::bench
