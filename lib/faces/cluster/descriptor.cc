#include "lib/faces/cluster/descriptor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "nestline/version.h"

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

constexpr std::uint64_t kMinPartCapacity = 4;                       // of CF.RESERVE
constexpr std::uint64_t kMaxPartCapacity = std::uint64_t{1} << 30;  // the same
// Standard deviations of a part's share: beyond seven there is less than one part in 10^11.
constexpr double kSpread = 7;
constexpr std::uint16_t kGrows = 1;  // as CF.RESERVE does by default

// The fields of 64 bits.
constexpr std::pair<const char*, std::uint64_t Descriptor::*> kNumbers[] = {
    {"seed", &Descriptor::seed},
    {"capacity", &Descriptor::capacity},
    {"max_capacity", &Descriptor::max_capacity},
    {"id", &Descriptor::id},
    {"epoch", &Descriptor::epoch}};

// The wanted rate, from a rate or a width.
double rate_of(const Options& options, bool grows) {
  if (options.bits == 0) return options.fpr == 0 ? 0.01 : options.fpr;
  if (!redis::is_width(options.bits, !grows)) {
    throw std::invalid_argument(
        "bits must be 8, 12, 16 or 0, or if max_capacity is capacity 9 or 10");
  }
  if (options.fpr != 0) throw std::invalid_argument("give either fpr or bits");
  // A filter that grows gives its first generations half of its rate; all plans keep a quarter.
  const redis::Billionths full = redis::rate_when_full(options.bits, 0, options.turns_over);
  const auto rate = static_cast<double>(full + 1) / 1e9;
  return std::max(rate * (grows ? 2 : 1) / 0.75 + 1e-9, redis::lowest_error(grows ? kGrows : 0));
}

}  // namespace

std::uint64_t draw() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

std::string text_of(double number) {
  std::array<char, 64> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return {digits.data(), end};
}

void check_name(std::string_view name) {
  if (name.empty()) throw std::invalid_argument("a logical filter needs a name");
  if (name.find_first_of("{}") != std::string_view::npos) {
    throw std::invalid_argument(
        "the name of a logical filter has no braces: they would put all "
        "its parts into one slot");
  }
}

std::string part_key(std::string_view name, std::uint32_t part, std::uint64_t epoch) {
  std::string key = std::string(name) + ":{p" + std::to_string(part) + "}";
  if (epoch != 0) key += ":" + std::to_string(epoch);
  return key;
}

std::string left_field(std::uint64_t epoch) {
  return std::string(kLeftPrefix) + std::to_string(epoch);
}

Descriptor describe(const Options& options, unsigned parts) {
  if (parts == 0 || parts > kMaxParts) {
    throw std::invalid_argument("parts must be from 1 to 16384");
  }
  if (options.capacity == 0) throw std::invalid_argument("capacity must be at least 1");
  Descriptor made;
  made.parts = parts;
  made.capacity = options.capacity;
  made.max_capacity = options.max_capacity;
  made.turns_over = options.turns_over;
  made.fpr = rate_of(options, made.grows());
  const double least = redis::lowest_error(made.grows() ? kGrows : 0);
  if (!(made.fpr >= least && made.fpr < 1)) {
    throw std::invalid_argument("fpr must be from " + text_of(least) + " to below 1");
  }
  made.seed = options.seed == 0 ? draw() : options.seed;
  made.id = draw();
  const redis::Settings settings = part_settings(made, made.capacity);
  if (settings.capacity > kMaxPartCapacity) {
    throw std::invalid_argument("a part has room for at most 2^30 keys: capacity " +
                                std::to_string(made.capacity) + " needs more parts than " +
                                std::to_string(parts));
  }
  return made;
}

redis::Settings part_settings(const Descriptor& descriptor, std::uint64_t items) {
  const double share = 1.0 / descriptor.parts;
  const double mean = static_cast<double>(items) * share;
  const double wanted = std::ceil(mean + kSpread * std::sqrt(mean * (1 - share)));
  redis::Settings settings;
  settings.capacity = std::max(kMinPartCapacity, static_cast<std::uint64_t>(wanted));
  settings.error = descriptor.fpr;
  settings.expansion = descriptor.grows() ? kGrows : 0;
  settings.seed = descriptor.seed;
  settings.all_widths = redis::may_have_all_widths(settings);
  settings.turns_over = descriptor.turns_over;
  return settings;
}

std::vector<std::string> encode_fields(std::string_view name, const Descriptor& descriptor) {
  std::vector<std::string> command = {
      "HSET", std::string(name),       "parts",      std::to_string(descriptor.parts),
      "fpr",  text_of(descriptor.fpr), "created_by", "nestline " NESTLINE_VERSION_STRING};
  for (const auto& [field, number] : kNumbers) {
    command.insert(command.end(), {field, std::to_string(descriptor.*number)});
  }
  if (descriptor.turns_over) command.insert(command.end(), {"turns_over", "1"});
  return command;
}

FoundDescriptor decode_fields(const Reply& reply) {
  FoundDescriptor found;
  found.exists = reply.is_array() && !reply.elements.empty();
  if (!found.exists) return found;
  const auto text = [&](std::string_view name) {
    const Reply* const value = reply.field(name);
    return value == nullptr ? std::string() : value->text;
  };
  const auto take = [&](auto& field, std::string_view name) {
    const auto number = parse_number<std::remove_reference_t<decltype(field)>>(text(name));
    field = number.value_or(0);
    return number.has_value();
  };
  Descriptor& made = found.descriptor;
  found.format = text("format");
  made.turns_over = found.format == kTurningFormat;
  found.has_format = found.format == made.format();
  found.has_parts = take(made.parts, "parts") && made.parts != 0 && made.parts <= kMaxParts;
  bool is_whole = take(made.fpr, "fpr") && (!made.turns_over || text("turns_over") == "1");
  for (const auto& [name, number] : kNumbers) is_whole &= take(made.*number, name);
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    const std::string_view name = reply.elements[i].text;
    if (!name.starts_with(kLeftPrefix)) continue;
    const auto epoch = parse_number<std::uint64_t>(name.substr(kLeftPrefix.size()));
    const auto since = parse_number<std::uint64_t>(reply.elements[i + 1].text);
    if (epoch) found.left[*epoch] = since.value_or(0);
  }
  found.is_ready = is_whole && text("state") == kReady && found.has_format && found.has_parts &&
                   made.fpr >= redis::lowest_error(0) && made.fpr < 1 && made.capacity != 0;
  return found;
}

}}}  // namespace nestline::cluster
