// nestline cluster create, push, pull, merge and drop: what concerns a logical filter as a whole.
#include <string>
#include <system_error>

#include "lib/command/cluster_commands.h"
#include "lib/command/errors.h"
#include "lib/command/hash_store.h"
#include "lib/command/line_reader.h"
#include "lib/command/progress.h"
#include "lib/command/result_file.h"

namespace nestline::command {
namespace {

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

HashStore read_hashes(const std::vector<std::string>& inputs, std::uint64_t seed) {
  HashStore hashes;
  LineReader reader(inputs);
  Progress progress("push");
  progress.begin(Progress::Unit::bytes, reader.total_bytes());
  LineBatch batch;
  while (reader.next(batch)) {
    hashes.append(batch.keys, seed);
    progress.update(reader.bytes(), reader.lines());
  }
  return hashes;
}

}  // namespace

int run(const ClusterPlace& place, const ClusterCreate& create) {
  ClusterFilter::create(place.servers, place.name, create.options, create.parts);
  return kExitYes;
}

int run(const ClusterPlace& place, const ClusterPush& push) {
  ClusterFilter filter = place.open();
  if (push.file.empty()) {
    HashStore hashes = read_hashes(push.inputs, filter.seed());
    filter.upload(hashes.joined(), push.how);
  } else {
    filter.upload(load_copy(push.file), push.how);
  }
  return kExitYes;
}

int run(const ClusterPlace& place, const ClusterPull& pull) {
  check_target(pull.output);
  const ClusterCopy copy = place.open().download();
  try {
    copy.save(pull.output);
  } catch (const std::system_error& error) {
    throw CommandError(pull.output, error.code().message());
  }
  return kExitYes;
}

int run(const ClusterPlace& place, const ClusterMerge& merge) {
  ClusterFilter source = ClusterFilter::open(place.servers, merge.source);
  place.open().merge(source);
  return kExitYes;
}

int run(const ClusterPlace& place, const ClusterDrop& /*drop*/) {
  return ClusterFilter::remove(place.servers, place.name) ? kExitYes : kExitNo;
}

}  // namespace nestline::command
