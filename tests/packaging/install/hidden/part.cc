// A library with hidden visibility that has nestline in it: a program may load several. Its one
// function returns how many exceptions it recognized.
#include <nestline/cluster.h>
#include <nestline/concurrent_filter.h>
#include <nestline/expiring_filter.h>
#include <nestline/filter.h>
#include <nestline/guard.h>
#include <nestline/io.h>
#include <nestline/maplet.h>
#include <nestline/parallel.h>
#include <nestline/store.h>

#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

namespace {

template <typename Exception, typename Call>
int throws(Call&& call) {
  try {
    call();
  } catch (const Exception&) {
    return 1;
  }
  return 0;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int part(const char* no_filter) {
  const std::vector<std::uint64_t> keys{1, 2, 3};
  nestline::Filter filter = nestline::parallel::build({.capacity = 1000}, keys);
  const nestline::ConcurrentFilter shared(std::move(filter));
  nestline::ExpiringFilter expiring({.capacity = 1000});
  nestline::Maplet maplet({.capacity = 1000});
  nestline::Guard guard({.capacity = 1000});
  guard.fill([&] { return [&](auto add) { add(keys[0]); }; });
  guard.put(
      keys[1], [] { return false; }, [] {});
  if (!shared.may_contain(keys[2]) || !guard.may_contain(keys[1])) return -1;
  if (!expiring.insert(keys[0]) || !maplet.insert(keys[0], 1)) return -1;
  return throws<nestline::FormatError>([&] { nestline::Filter::load(no_filter); }) +
         throws<std::system_error>([] { nestline::Filter::load("/no/such/file"); }) +
         throws<nestline::StoreError>(
             [] { (void)nestline::Store::open("/", {.read_only = true}); }) +
         throws<nestline::ClusterError>(
             [] { nestline::ClusterFilter::open({.servers = {"localhost:1"}}, "f"); });
}
