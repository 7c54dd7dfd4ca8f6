#include <nestline/cluster.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::string server = argc > 1 ? argv[1] : "10.0.0.1:6379";

  const nestline::ClusterOptions cluster{.servers = {server}};  // finds the others
  auto seen = nestline::ClusterFilter::create(cluster, "seen", {.capacity = 1'000'000});
  const std::vector<std::string> keys = {"user:17", "user:18"};
  (void)seen.insert_unique(keys);  // one round trip to all servers at once
  std::vector<std::uint8_t> found(keys.size());
  std::cout << seen.may_contain(keys, found) << " of " << keys.size() << '\n';
}
