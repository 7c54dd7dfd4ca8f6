// A user's program with logical filters. There is no server: it shows that the library is there and
// that its errors can be caught.
#include <nestline/cluster.h>
#include <nestline/filter.h>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <system_error>

int main(int, char** arguments) {
  nestline::Filter filter({.capacity = 10});
  if (!filter.insert(7)) return 1;
  try {
    nestline::ClusterFilter::open(
        {.servers = {"127.0.0.1:1"}, .timeout = std::chrono::milliseconds(50)}, "seen");
  } catch (const nestline::ClusterError& error) {
    std::cout << "no server " << (error.effect() == nestline::ClusterError::Effect::none) << '\n';
  }
  try {
    nestline::ClusterFilter::create({.servers = {"127.0.0.1:1"}}, "{seen}", {.capacity = 1});
  } catch (const std::invalid_argument&) {
    std::cout << "refused\n";
  }
  try {
    nestline::ClusterCopy::load(arguments[1]);
  } catch (const std::system_error& error) {
    std::cout << "no file " << (error.code() == std::errc::no_such_file_or_directory) << '\n';
  }
}
