// A client of a logical filter that tests drive through pipes: it keeps its connections and its map
// of the slots while the test moves slots and kills servers.
//
//   cluster_client NAME TIMEOUT_MS WAIT_REPLICAS SERVER...
//
// Each line of standard input is one call, each line of standard output its result:
//
//   insert PREFIX FIRST COUNT     ok 500          keys PREFIX-FIRST, ...; how many were added
//   unique, ask, erase            the same
//   count PREFIX FIRST COUNT      ok 500 1 1      the sum of the counts, the least and the most
//   missing PREFIX FIRST COUNT    ok 2 7 9        how many are not there, and the first numbers
//   push PREFIX FIRST COUNT       ok 500          upload, replacing
//   pushmerge PREFIX FIRST COUNT  ok 500
//   open                          ok 64           opens the filter again; its parts
//   cost COUNT                    ok 41.5 80.1    nanoseconds for a key of a batch of questions: of
//                                                 processor time here, by the clock
//
// A failed call: "none TEXT" or "unknown TEXT", which is ClusterError::effect(), or "error TEXT".
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <numeric>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nestline/cluster.h"

namespace {

using nestline::ClusterError;
using nestline::ClusterFilter;

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class Client {
 public:
  Client(nestline::ClusterOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}

  // The result of one call.
  std::string call(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "open" || filter_ == nullptr) {
      filter_ = std::make_unique<ClusterFilter>(ClusterFilter::open(options_, name_));
      if (verb == "open") return "ok " + std::to_string(filter_->parts());
    }
    if (verb == "cost") {
      std::size_t count = 0;
      words >> count;
      return cost(count);
    }
    std::string prefix;
    std::uint64_t first = 0;
    std::size_t count = 0;
    if (!(words >> prefix >> first >> count)) throw std::invalid_argument("what is " + line + "?");
    keys_.clear();
    for (std::uint64_t i = first; i < first + count; ++i) {
      keys_.push_back(prefix + "-" + std::to_string(i));
    }
    return "ok " + result(verb, first);
  }

 private:
  std::string result(const std::string& verb, std::uint64_t first) {
    std::vector<std::uint8_t> out(keys_.size());
    if (verb == "insert") return std::to_string(filter_->insert(keys_));
    if (verb == "unique") return std::to_string(filter_->insert_unique(keys_));
    if (verb == "ask") return std::to_string(filter_->may_contain(keys_, out));
    if (verb == "erase") return std::to_string(filter_->erase(keys_));
    if (verb == "count") {
      filter_->count(keys_, out);
      const auto [least, most] = std::minmax_element(out.begin(), out.end());
      return std::to_string(std::accumulate(out.begin(), out.end(), std::uint64_t{0})) + " " +
             std::to_string(*least) + " " + std::to_string(*most);
    }
    if (verb == "missing") {
      const std::size_t found = filter_->may_contain(keys_, out);
      std::string text = std::to_string(keys_.size() - found);
      for (std::size_t i = 0; i < out.size() && text.size() < 100; ++i) {
        if (out[i] == 0) text += " " + std::to_string(first + i);
      }
      return text;
    }
    if (verb == "push" || verb == "pushmerge") {
      using nestline::Upload;
      filter_->upload(keys_, verb == "push" ? Upload::replace : Upload::merge);
      return std::to_string(keys_.size());
    }
    throw std::invalid_argument("there is no call " + verb);
  }

  // The best of a few batches of integers, which cost the least to hash.
  std::string cost(std::size_t count) {
    std::vector<std::uint64_t> keys(count);
    std::iota(keys.begin(), keys.end(), std::uint64_t{1} << 40);
    std::vector<std::uint8_t> out(count);
    using Clock = std::chrono::steady_clock;
    double processor = 1e9;
    double clock = 1e9;
    for (int round = 0; round < 7; ++round) {
      const double before = processor_seconds();
      const Clock::time_point begin = Clock::now();
      filter_->may_contain(keys, out);
      clock = std::min(clock, std::chrono::duration<double>(Clock::now() - begin).count());
      processor = std::min(processor, processor_seconds() - before);
    }
    const double to_nanoseconds = 1e9 / static_cast<double>(count);
    return "ok " + std::to_string(processor * to_nanoseconds) + " " +
           std::to_string(clock * to_nanoseconds);
  }

  nestline::ClusterOptions options_;
  std::string name_;
  std::unique_ptr<ClusterFilter> filter_;
  std::vector<std::string> keys_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "cluster_client NAME TIMEOUT_MS WAIT_REPLICAS SERVER...\n";
    return 2;
  }
  nestline::ClusterOptions options;
  options.timeout = std::chrono::milliseconds(std::atoll(argv[2]));
  options.wait_replicas = static_cast<unsigned>(std::atoi(argv[3]));
  options.servers.assign(argv + 4, argv + argc);
  Client client(options, argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = client.call(line);
    } catch (const ClusterError& error) {
      answer = std::string(error.effect() == ClusterError::Effect::none ? "none " : "unknown ") +
               error.what();
    } catch (const std::exception& error) {
      answer = std::string("error ") + error.what();
    }
    std::replace(answer.begin(), answer.end(), '\n', ' ');
    std::cout << answer << std::endl;
  }
}
