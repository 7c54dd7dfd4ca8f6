// What a CF.* key is made for: the arguments of CF.RESERVE, kept and reported as given.
#ifndef NESTLINE_LIB_REDIS_VALUE_SETTINGS_H_
#define NESTLINE_LIB_REDIS_VALUE_SETTINGS_H_

#include <cstdint>

namespace nestline::redis {

/// The settings. check() in generation_plan.h says whether they are within their bounds.
struct Settings {
  /// Items to make room for at the beginning, 1 to 2^40. With expansion 0 it takes no more than
  /// these.
  std::uint64_t capacity = 1024;
  /// Wanted false-positive rate of the whole value, at least lowest_error(), below 1. 0: the rate
  /// of RedisBloom's first table, 2 * bucket_size / 255.
  double error = 0;
  /// 1 to 255. RedisBloom's slots a bucket; here only the default rate depends on it.
  std::uint16_t bucket_size = 2;
  /// 1 to 65535. Only kept and reported: it has no effect here.
  std::uint16_t max_iterations = 20;
  /// 0 to 32768, rounded up to a power of two. A further generation has room for n / 2 times as
  /// many items as all so far; 0: none is opened and nothing grows.
  std::uint16_t expansion = 1;
  /// Keys the hash. Random for each key that is created, and the same on its replicas.
  std::uint64_t seed = 0;

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_VALUE_SETTINGS_H_
