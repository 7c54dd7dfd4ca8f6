// nestline cluster create, push, pull, merge, fit and drop: what concerns a logical filter as a
// whole.
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

#include "lib/faces/command/cluster/commands.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#include "lib/faces/command/io/progress.h"

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::uint64_t kMaxKeys = std::uint64_t{1} << 53;
constexpr std::uint64_t kMaxParts = 16384;

constexpr const char* kCreateFooter =
    "The parts keep the wanted rate while they grow, until a server has no memory.\n";

constexpr const char* kPushFooter =
    "The filter must exist (nestline cluster create). Its parts are built here, with all cores,\n"
    "and sent whole: several times faster than nestline cluster add. They take the place of all\n"
    "that was in the filter, at one instant; a push that is ended before leaves the filter as it\n"
    "was.\n"
    "What others add during the push may be lost. With --merge, the new keys are added to those\n"
    "that are there. Takes 8 bytes of memory per line, 12 more for the lines of the parts that\n"
    "are being built, one a core, and the parts.\n";

constexpr const char* kPullFooter =
    "Each part is a copy of one moment. The file answers nestline cluster query --file, and\n"
    "nestline cluster push --file sends it to a filter with the same parts and seed.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

constexpr const char* kMergeFooter =
    "Adds what is in the logical filter SOURCE to NAME, on the servers, part by part. Both need\n"
    "the same number of parts and the same --seed. Copies add up.\n"
    "Exit status: 0 done, 2 error. After an error, some parts may have been merged.";

constexpr const char* kFitFooter =
    "Makes each part smaller after many keys were removed (CF.COMPACT), one at a time on each\n"
    "server, which answers nobody else meanwhile. Parts that may grow do so again.\n"
    "Exit status: 0 done, 2 error. After an error, some parts are smaller; repeat it.";

constexpr const char* kDropFooter =
    "Removes the filter, and what a create or push left that was ended in the middle. Where only\n"
    "parts are left, they are looked for among all keys of the servers.\n"
    "Exit status: 0 done, 1 there was nothing to remove, 2 error.";

struct ClusterCreate : InCluster {
  Options options;
  unsigned parts = 64;
};

struct ClusterPush : InCluster {
  LineInputs inputs;
  std::string file;    // --file: a file that pull wrote, in place of inputs
  bool merge = false;  // --merge
};

struct ClusterPull : InCluster {
  std::string output;
};

struct ClusterFit : InCluster {};

struct ClusterDrop : InCluster {};

struct ClusterMerge : InCluster {
  std::string source;
};

// Errors of a file that pull wrote are about that file.
ClusterCopy load_copy(const std::string& file) {
  try {
    return ClusterCopy::load(file);
  } catch (const std::system_error& error) {
    throw CommandError(file, error.code().message());
  } catch (const std::runtime_error& error) {
    throw CommandError(file, error.what());
  }
}

int run(const ClusterCreate& create) {
  ClusterFilter::create(create.servers, create.name, create.options, create.parts);
  return kExitYes;
}

int run(const ClusterPush& push) {
  ClusterFilter filter = push.open();
  const Upload how = push.merge ? Upload::merge : Upload::replace;
  if (push.file.empty()) {
    ShownReader reader(push.inputs, "push");
    LineBatch batch;
    const auto next = [&] {
      if (!reader.next(batch)) {
        reader.bar.erase();
        batch.keys = {};
      }
      return KeySpan(batch.keys);
    };
    filter.upload(next, how);
  } else {
    filter.upload(load_copy(push.file), how);
  }
  return kExitYes;
}

int run(const ClusterPull& pull) {
  check_target(pull.output);
  const ClusterCopy copy = pull.open().download();
  concerning(pull.output, [&] { save(copy, pull.output); });
  return kExitYes;
}

int run(const ClusterMerge& merge) {
  ClusterFilter source = ClusterFilter::open(merge.servers, merge.source);
  merge.open().merge(source);
  return kExitYes;
}

int run(const ClusterFit& fit) {
  fit.open().fit();
  return kExitYes;
}

int run(const ClusterDrop& drop) {
  return ClusterFilter::remove(drop.servers, drop.name) ? kExitYes : kExitNo;
}

}  // namespace

Command create_command() {
  const auto create = std::make_shared<ClusterCreate>();
  return in_cluster(
      create, {"create", "Make an empty logical filter", kCreateFooter},
      {filter_name(*create),
       {"--capacity", "N", "Number of keys it must hold",
        count(create->options.capacity, 1, kMaxKeys), kRequired},
       {"--fpr", "P", "Wanted false-positive rate; default: 0.01", rate(create->options.fpr)},
       {"--bits", "B",
        "Fingerprint width: 8, 12 or 16; with a --max-capacity as large as --capacity\n"
        "also 9 or 10",
        bits(create->options.bits), false, "--fpr"},
       {"--max-capacity", "N",
        "As large as --capacity: the parts do not grow, and further keys find no room;\n"
        "default: they grow until a server has no memory",
        count(create->options.max_capacity, 1, kMaxKeys)},
       {"--turns-over", "",
        "Keys will be removed and others added all the time: lookups keep their speed\n"
        "and rate; servers and programs of nestline before 0.3 refuse the filter",
        &create->options.turns_over},
       {"--seed", "S", "Seed of the hash",
        count(create->options.seed, 1, std::numeric_limits<std::uint64_t>::max())},
       {"--parts", "P",
        "Number of parts, each a key on a server; at least four for each server that has\n"
        "slots; default: 64",
        count(create->parts, 1, kMaxParts)}});
}

Command push_command() {
  const auto push = std::make_shared<ClusterPush>();
  return in_cluster(push, {"push", "Build it of keys here and send it", kPushFooter},
                    {filter_name(*push),
                     zero_option(push->inputs.zero_terminated),
                     input_keys(push->inputs),
                     {"--merge", "", "Add the keys to those that are there", &push->merge},
                     {"--file", "FILE", "Send what nestline cluster pull wrote, not INPUT",
                      file_name(push->file)},
                     wait_option(*push)},
                    [push] {
                      if (!push->file.empty() && !push->inputs.files.empty()) {
                        throw UsageError("give --file or INPUT, not both");
                      }
                    });
}

Command pull_command() {
  const auto pull = std::make_shared<ClusterPull>();
  return in_cluster(
      pull, {"pull", "Copy all parts into one file", kPullFooter},
      {filter_name(*pull),
       {"-o", "FILE", "The file to write or replace", output_name(pull->output), kRequired}});
}

Command merge_filter_command() {
  const auto merge = std::make_shared<ClusterMerge>();
  return in_cluster(merge, {"merge", "Add another logical filter to it", kMergeFooter},
                    {filter_name(*merge),
                     {"SOURCE", "", "The logical filter whose content is added to NAME",
                      &merge->source, kRequired},
                     wait_option(*merge)});
}

Command fit_filter_command() {
  const auto fit = std::make_shared<ClusterFit>();
  return in_cluster(fit, {"fit", "Give memory back after many keys were removed", kFitFooter},
                    {filter_name(*fit), wait_option(*fit)});
}

Command drop_command() {
  const auto drop = std::make_shared<ClusterDrop>();
  return in_cluster(drop, {"drop", "Remove a logical filter", kDropFooter}, {filter_name(*drop)});
}

}}}  // namespace nestline::command
