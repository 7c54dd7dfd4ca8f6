#include "lib/faces/embed/value/sub_filter_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "lib/faces/embed/bytes.h"

namespace nestline { inline namespace v0_3 { namespace redis {
namespace {

constexpr double kOne = 1e9;  // billionths
constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 40;
// Plans aim this far below the promise: replacing content again and again adds up to a third.
constexpr double kMargin = 0.75;

template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  std::ostringstream sentence;
  (sentence << ... << parts);
  throw std::invalid_argument(sentence.str());
}

void check_range(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return;
  refuse(name, " must be in the range [", least, ", ", most, "]; it is ", value);
}

// For sub_filters that are opened all the same, expansion 0 counts as 1.
std::uint64_t expansion_of(const Settings& settings) {
  return std::max<std::uint64_t>(1, settings.expansion);
}

Billionths budget(const Settings& settings) {
  return static_cast<Billionths>(promised_fpr(settings) * kMargin * kOne);
}

}  // namespace

unsigned most_growth_of(int bits) {
  constexpr std::array<unsigned, kFilterWidths.size()> kMost = {1, 1, 2, 4, 8};
  return kMost[index_of_width(bits)];
}

bool is_width(int bits, bool all_widths) {
  return nestline::is_width(bits) && (all_widths || !needs_all_widths(bits));
}

void check(const Settings& settings) {
  check_range("capacity", settings.capacity, 1, kMaxCapacity);
  check_range("bucket_size", settings.bucket_size, 1, 255);
  check_range("max_iterations", settings.max_iterations, 1, 65535);
  check_range("expansion", settings.expansion, 0, 32768);
  if (settings.all_widths && !may_have_all_widths(settings)) {
    refuse("fingerprints of 9 and 10 bits need an error rate and expansion 0");
  }
  if (settings.error == 0) return;
  if (!(settings.error > 0 && settings.error < 1)) {
    refuse("error must be above 0 and below 1, or 0 for the default; it is ", settings.error);
  }
  const double lowest = lowest_error(settings.expansion);
  if (settings.error < lowest) {
    refuse("error ", settings.error, " is below ", lowest, ", the lowest that 16 bits keep",
           settings.expansion == 0 ? "" : " while further sub_filters may follow");
  }
}

Settings normalized(Settings settings) {
  if (settings.expansion != 0) settings.expansion = std::bit_ceil(settings.expansion);
  return settings;
}

double lowest_error(std::uint16_t expansion) { return expansion == 0 ? 0.00012 : 0.00025; }

double promised_fpr(const Settings& settings) {
  if (settings.error != 0) return settings.error;
  return std::min(1.0, 2.0 * settings.bucket_size / 255);
}

Billionths rate_when_full(int bits, unsigned growth, bool turns_over) {
  return static_cast<Billionths>(std::ceil(fpr_when_full(bits, growth, turns_over) * kOne));
}

SubFilterPlan plan_generation(const Settings& settings, Billionths used, std::uint64_t capacity) {
  const Billionths all = budget(settings);
  const Billionths left = all > used ? all - used : 0;
  const Billionths part = settings.expansion == 0 ? left : left / 2;
  const unsigned doublings = used == 0 ? 0 : kMinDoublings;
  const auto is_within = [&](int bits, unsigned growth) {
    return rate_when_full(bits, growth, settings.turns_over) <= part;
  };
  const auto* const width =
      std::find_if(kFilterWidths.begin(), kFilterWidths.end() - 1, [&](int bits) {
        // 12 bits at least in the default: they leave more of the promise to later families.
        const bool may_be =
            needs_all_widths(bits) ? settings.all_widths : bits >= 12 || settings.error != 0;
        return may_be && doublings <= most_growth_of(bits) && is_within(bits, doublings);
      });
  unsigned growth = 0;
  while (settings.expansion != 0 && growth < most_growth_of(*width) &&
         is_within(*width, growth + 1)) {
    ++growth;
  }
  return {*width, capacity, growth, settings.turns_over};
}

std::optional<unsigned> next_growth(const Settings& settings, std::uint64_t units,
                                    unsigned most_growth) {
  const std::uint64_t most = std::uint64_t{1} << most_growth;
  const std::uint64_t wanted =
      std::bit_floor(std::max<std::uint64_t>(1, units * expansion_of(settings) / 2));
  if (units > most || wanted > most - units) return std::nullopt;
  return static_cast<unsigned>(std::bit_width(wanted) - 1);
}

std::uint64_t further_capacity(const Settings& settings, std::uint64_t keys) {
  const std::uint64_t most = 2 * kMaxFurtherCapacity / expansion_of(settings);
  return std::max(kMinFurtherCapacity, std::min(keys, most) * expansion_of(settings) / 2);
}

SubFilterPlan plan_family(const Settings& settings, Billionths used, std::uint64_t keys) {
  const std::uint64_t capacity = further_capacity(settings, keys);
  const SubFilterPlan plan = plan_generation(settings, used, capacity);
  if (plan.most_growth != 0) return plan;
  return {plan.bits, std::min(2 * capacity, kMaxFurtherCapacity), 0, plan.turns_over};
}

std::vector<unsigned> compact_growths(int bits, std::uint64_t base_blocks, unsigned most_growth,
                                      std::uint64_t items) {
  std::vector<unsigned> growths;
  const auto room = [&](unsigned growth) { return capacity_of(bits, base_blocks, growth); };
  for (std::uint64_t rest = items;;) {
    unsigned growth = 0;
    while (growth < most_growth && room(growth) < rest) ++growth;
    // The next smaller one leaves the rest to another. Not needed if this one will be nearly full.
    const bool is_last =
        growth == 0 || growths.size() + 1 >= kMaxMembers || rest > room(growth - 1) / 4 * 7;
    if (room(growth) >= rest && is_last) {
      growths.push_back(growth);
      return growths;
    }
    if (room(growth) >= rest) --growth;
    growths.push_back(growth);
    rest -= room(growth);
  }
}

}}}  // namespace nestline::redis
