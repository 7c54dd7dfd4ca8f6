// nestline build: makes a new filter from the lines of the inputs. With --capacity, keys go
// straight into the filter. Without it (or with --threads) they must be counted first, and a pipe
// can be read only once: their hashes are kept, and the filter is built of all at once, on several
// threads where nestline::parallel is built (lib/CMakeLists.txt). Options, and whether the file can
// be written, are checked before the inputs are read.
#if NESTLINE_WITH_PARALLEL
#include <tbb/global_control.h>
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/faces/command/filter/commands.h"
#include "lib/faces/command/filter/line_hashes.h"
#include "lib/faces/command/io/errors.h"
#include "lib/faces/command/io/output.h"
#if NESTLINE_WITH_PARALLEL
#include "nestline/parallel.h"
#endif

namespace nestline { inline namespace v0_3 { namespace command {
namespace {

constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 53;
constexpr std::uint64_t kMaxThreads = 1024;

constexpr const char* kBuildFooter =
    "A line that occurs several times is taken once. To tell, nestline keeps 10 to 15 bytes of\n"
    "memory for each different line.\n"
    "Without --capacity, nestline counts the lines first, and makes room for no more. So it does\n"
    "with --threads above 1: FILE then gives the same answers for these keys, but other bytes.\n"
    "With --max-capacity, nestline add and merge can go beyond --capacity: the filter doubles by\n"
    "itself and keeps the wanted false-positive rate up to that number of keys.\n"
    "A key is a line without its line end, a line feed or a carriage return and a line feed.\n"
    "With --copies, a line that occurs n times is n copies of its key. A filter holds at most 8\n"
    "copies of a key (10 at 16 bits), and fewer where copies of other keys take its slots. It\n"
    "leaves out further copies; the key is still found. The memory is then 8 bytes for each line,\n"
    "or none with --capacity and one thread.\n"
    "Exit status: 0 done, 2 error. FILE is written only on success.";

constexpr const char* kUndoBuild =
    "; to know which, build from no lines with --capacity, then nestline add --copies --left-out";

struct BuildArguments : KeysArguments {
  Options options;  // capacity 0: not given, count the keys
  std::uint64_t threads = 1;
};

[[noreturn]] void refuse_options(const std::invalid_argument& error, const Options& options) {
  std::string sentence = with_option_names(error.what());
  if (kHasParallel && sentence.starts_with("--fpr") && options.max_capacity == 0) {
    sentence += "; nestline uniq takes less, since it asks two filters, and FILE has one";
  }
  throw UsageError(sentence + "; see nestline build --help");
}

Filter make_filter(const std::string& file, const Options& options) {
  try {
    return Filter(options);
  } catch (const std::invalid_argument& error) {
    refuse_options(error, options);
  } catch (const std::bad_alloc&) {
    throw CommandError(file, "not enough memory for a filter of " +
                                 std::to_string(options.capacity) +
                                 " keys; give a smaller --capacity or a larger --fpr");
  }
}

// When the size of the inputs is known, counts the remaining lines, so that the message can give
// the right capacity. A pipe may never end, so there it fails at once.
[[noreturn]] void fail_full(const BuildArguments& arguments, const Inserter& built,
                            ShownReader& reader, LineHashes& lines) {
  std::string sentence = "full after " + std::to_string(built.stored()) + " keys; ";
  if (!take_rest(reader, lines)) {
    sentence +=
        "build it again with a larger --capacity, or without --capacity to count the keys first";
  } else if (lines.size() > built.filter().capacity()) {
    sentence += "build it again with a --capacity of at least " + std::to_string(lines.size());
  } else if (arguments.copies) {
    sentence += "some lines occur too often; build it again without --capacity or --copies";
  } else {
    sentence += "many lines have the same hash; build it again without --capacity";
  }
  throw CommandError(arguments.file, sentence);
}

// What `work` returns, which keeps hashes of lines.
auto keeping_hashes(const BuildArguments& arguments, const LineHashes& lines, const auto& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw CommandError(arguments.file, "not enough memory for the hashes of the keys after " +
                                           std::to_string(lines.size()) +
                                           "; --copies with --capacity and one thread needs none");
  }
}

Inserter build_streaming(const BuildArguments& arguments, ShownReader& reader) {
  Inserter built(make_filter(arguments.file, arguments.options));
  LineHashes lines(arguments.options.seed, arguments.copies);
  LineBatch batch;
  while (reader.next(batch)) {
    const std::span hashes =
        keeping_hashes(arguments, lines, [&] { return lines.take(batch.keys); });
    if (!built.insert(hashes)) fail_full(arguments, built, reader, lines);
  }
  return built;
}

std::vector<Hash> read_hashes(const BuildArguments& arguments, ShownReader& reader,
                              LineHashes& lines) {
  return keeping_hashes(arguments, lines, [&] {
    HashStore copies;
    LineBatch batch;
    while (reader.next(batch)) {
      const std::span hashes = lines.take(batch.keys);
      if (arguments.copies) copies.append(hashes);
    }
    return arguments.copies ? copies.take() : lines.set().take();
  });
}

// The same bytes for any number of threads.
Filter build_filter([[maybe_unused]] std::uint64_t threads, const Options& options,
                    std::span<const Hash> hashes) {
#if NESTLINE_WITH_PARALLEL
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, threads);
  return parallel::build(options, hashes);
#else
  return Filter::build(options, hashes);
#endif
}

// Nothing when a key finds no room: then the caller inserts the keys one by one, copies last.
std::optional<Inserter> build_at_once(const BuildArguments& arguments, const Options& options,
                                      std::span<const Hash> hashes) {
  try {
    Inserter built(build_filter(arguments.threads, options, hashes));
    built.add_refused_copies(hashes.size() - built.filter().size());
    return built;
  } catch (const std::invalid_argument& error) {
    refuse_options(error, options);
  } catch (const std::length_error&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;  // one by one takes less memory
  }
}

Inserter build_of_hashes(const BuildArguments& arguments, ShownReader& reader) {
  LineHashes lines(arguments.options.seed, arguments.copies);
  const std::vector<Hash> hashes = read_hashes(arguments, reader, lines);
  const bool counting = arguments.options.capacity == 0;
  const std::uint64_t count = std::max<std::uint64_t>(hashes.size(), 1);
  const auto options_for = [&](std::uint64_t capacity) {
    Options options = arguments.options;
    options.capacity = counting ? capacity : options.capacity;
    return options;
  };
  reader.bar.say("fills a filter with " + short_number(hashes.size(), "keys"));
  std::optional<Inserter> built = build_at_once(arguments, options_for(count), hashes);
  if (built) return *std::move(built);
  const auto fill = [&](std::uint64_t capacity, bool copies_last) {
    built.emplace(make_filter(arguments.file, options_for(capacity)));
    return insert_all(hashes, *built, reader.bar, copies_last);
  };
  if (fill(count, false)) return *std::move(built);
  if (!counting) fail_full(arguments, *built, reader, lines);
  // Many copies of one key can leave another without room, however large the filter is.
  if (fill(count, true)) return *std::move(built);
  // Happens to one filter in a million, or with keys that were chosen to make it happen.
  if (fill(count + count / 4 + 1, true)) return *std::move(built);
  throw CommandError(arguments.file,
                     "full, although there is room for all keys: too many have "
                     "the same hash; build it again with another --seed");
}

int build(const BuildArguments& arguments) {
  if (is_input(arguments.file, arguments.inputs.files)) {
    throw UsageError("-o takes another file than INPUT, whose lines would be lost");
  }
  check_target(arguments.file);
  // Rejects impossible options before the inputs are read. Growth is known only after counting.
  Options options = arguments.options;
  if (options.capacity == 0) {
    options.capacity = 1;
    options.max_capacity = 0;
  }
  make_filter(arguments.file, options);

  ShownReader reader(arguments.inputs, "build");
  const bool streaming = arguments.options.capacity != 0 && arguments.threads == 1;
  const auto built =
      streaming ? build_streaming(arguments, reader) : build_of_hashes(arguments, reader);
  save(built.filter(), arguments.file);
  reader.bar.erase();
  report_copies(arguments.file, built.refused_copies(), "line", kUndoBuild);
  print_summary(arguments.file, built.filter());
  return kExitYes;
}

}  // namespace

Command build_command() {
  const auto arguments = std::make_shared<BuildArguments>();
  Options& options = arguments->options;
  return {
      {"build", "Build a filter from keys", kBuildFooter},
      &arguments->file,
      {{"-o", "FILE", "The filter file to write or replace", output_name(arguments->file),
        kRequired},
       {"--capacity", "N", "Number of keys it must hold; default: as many as the inputs have",
        count(options.capacity, 1, kMaxCapacity)},
       {"--fpr", "P", "Wanted false-positive rate, from 0.00004 to below 1;\ndefault: 0.01",
        rate(options.fpr)},
       {"--bits", "B", "Fingerprint width: 8, 9, 10, 12 or 16", bits(options.bits), false, "--fpr"},
       {"--max-capacity", "N", "Number of keys up to which it grows by itself",
        count(options.max_capacity, 1, kMaxCapacity)},
       {"--load", "L",
        "How full it is at its capacity, from 0.5 to 0.95: less takes more\n"
        "memory and is faster to fill; default: 0.95",
        load_factor(options.load)},
       {"--turns-over", "",
        "For keys that are removed and added all the time: lookups stay as fast\n"
        "as at first, and err as seldom; without effect below 3,600 keys (1,800\n"
        "at 16 bits). nestline before this option refuses FILE",
        &options.turns_over},
       {"--seed", "S", "Seed of the hash; filters with different seeds err on different keys",
        count(options.seed, 0, std::numeric_limits<std::uint64_t>::max())},
       {"--threads", "T", "Threads that fill the filter, at most one per core; default: 1",
        count(arguments->threads, 1, kMaxThreads)},
       copies_option(arguments->copies),
       zero_option(arguments->inputs.zero_terminated),
       input_keys(arguments->inputs)},
      [arguments] { return build(*arguments); },
      [&options] {
        if (options.max_capacity > 0 && options.max_capacity < options.capacity) {
          throw UsageError("--max-capacity must not be below --capacity");
        }
      }};
}

}}}  // namespace nestline::command
