// Limits of the process.
#ifndef NESTLINE_TESTS_STORE_LIMIT_H_
#define NESTLINE_TESTS_STORE_LIMIT_H_

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace nestline::test {

// While it lives, the process has this limit.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t limit) : resource_(resource) {
    EXPECT_EQ(::getrlimit(resource_, &before_), 0);
    const rlimit now = {limit, before_.rlim_max};
    EXPECT_EQ(::setrlimit(resource_, &now), 0);
  }
  ~Limit() { EXPECT_EQ(::setrlimit(resource_, &before_), 0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const __rlimit_resource resource_;
  rlimit before_{};
};

// While it lives, the process may open so many files beyond those that it has.
class FewDescriptors : public Limit {
 public:
  explicit FewDescriptors(rlim_t more) : Limit(RLIMIT_NOFILE, next() + more) {}

 private:
  static rlim_t next() {
    const int number = ::dup(0);
    ::close(number);
    return static_cast<rlim_t>(number);
  }
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_LIMIT_H_
