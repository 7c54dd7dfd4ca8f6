// The class ExpiringFilter. With a window each call first moves time on to the present, mostly by
// reading the clock; after a tick by a sweep of the memory, without the interpreter's lock.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "lib/faces/python/bindings.h"
#include "lib/faces/python/members.h"
#include "nestline/expiring_filter.h"

namespace nestline { inline namespace v0_3 { namespace python {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

double seconds_of(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Seconds, which are not negative.
double seconds_in(py::handle object, const char* name) {
  const double seconds = real_of(object, name);
  constexpr double kMost = 9e9;  // 285 years; 64 bits of nanoseconds are 292
  if (!(seconds >= 0 && seconds <= kMost)) {
    throw std::invalid_argument(std::string(name) + " is a number of seconds, from 0 to 9e9");
  }
  return seconds;
}

using Window = std::optional<nanoseconds>;

Window window_of(const py::object& object) {
  if (object.is_none()) return std::nullopt;
  return nanoseconds(static_cast<nanoseconds::rep>(1e9 * seconds_in(object, "window")));
}

// A use of it begins at the present tick.
class PyExpiringFilter : public Box<ExpiringFilter> {
 public:
  struct Use : Box::Use {
    Use(PyExpiringFilter& held, bool alone) : Box::Use(held.caught_up(), alone) {}
  };
  [[nodiscard]] Use shared() { return Use(*this, false); }

  PyExpiringFilter(ExpiringFilter&& filter, Window window)
      : Box(std::move(filter)), window_(window) {
    if (!window) return;
    clock_.emplace(*Box::shared(), *window);
    begin_ = next_ = steady_clock::now();
  }

  [[nodiscard]] Window window() const { return window_; }
  [[nodiscard]] Window tick() const { return clock_ ? Window(clock_->tick()) : std::nullopt; }
  // Keys that were new and found no room.
  std::atomic<std::uint64_t> refused{0};

 private:
  // With the interpreter's lock held.
  PyExpiringFilter& caught_up() {
    const auto now = steady_clock::now();
    if (!clock_ || now < next_) return *this;
    const Box::Use use(*this, false);
    {
      const Released released;
      clock_->catch_up(now);
    }
    // The clock began before begin_, so its next tick comes no later than this.
    next_ = begin_ + ((now - begin_) / clock_->tick() + 1) * clock_->tick();
    return *this;
  }

  Window window_;
  std::optional<ExpiringClock> clock_;
  steady_clock::time_point begin_, next_;
};

using Made = std::unique_ptr<PyExpiringFilter>;

Made made(ExpiringFilter&& filter, Window window) {
  return std::make_unique<PyExpiringFilter>(std::move(filter), window);
}

// ttl_ticks, or `life`, its name of version 0.2.
std::optional<std::uint64_t> ttl_ticks_of(const py::object& ttl_ticks, const py::object& life) {
  if (!life.is_none()) {
    if (!ttl_ticks.is_none()) throw std::invalid_argument("ttl_ticks is given twice, once as life");
    warn_of_old_name("ttl_ticks");
    return number_of(life, "ttl_ticks");
  }
  if (ttl_ticks.is_none()) return std::nullopt;
  return number_of(ttl_ticks, "ttl_ticks");
}

py::object insert_keys(PyExpiringFilter& held, py::handle keys, const py::object& out,
                       bool outcomes, const py::object& ttl_ticks, const py::object& life) {
  const unsigned most = held.Box<ExpiringFilter>::shared()->ttl_ticks();
  const std::uint64_t ticks = ttl_ticks_of(ttl_ticks, life).value_or(most);
  if (ticks < 1 || ticks > most) {
    throw std::invalid_argument("ttl_ticks is from 1 to " + std::to_string(most));
  }
  const auto lives = static_cast<unsigned>(ticks);
  return inserted<false>(held, keys, out, outcomes, [&](auto& filter, auto key, auto... to) {
    const auto done = filter.insert(key, lives, to...);
    if constexpr (sizeof...(to) == 0) {
      held.refused += done.outcome == Outcome::full;
    } else {
      held.refused += static_cast<std::uint64_t>((std::ranges::count(to, Outcome::full) + ...));
    }
    return done;
  });
}

py::object remaining_ticks(PyExpiringFilter& held, py::handle keys, const py::object& out) {
  return answer<false>(held, keys, out, Answers::Kind::numbers,
                       [](auto& filter, auto... key) { return filter.remaining_ticks(key...); });
}

void advance(PyExpiringFilter& held, py::handle ticks) {
  if (held.window()) {
    throw std::invalid_argument("this filter has a window: its time moves on by the clock");
  }
  const std::uint64_t count = number_of(ticks, "ticks");
  const auto filter = held.shared();
  const Released released;
  filter->advance(count);
}

bool sweep(PyExpiringFilter& held, py::handle blocks) {
  const std::uint64_t count = number_of(blocks, "blocks");
  const auto filter = held.shared();
  const Released released;
  return filter->sweep(count);
}

std::uint64_t now(PyExpiringFilter& held) { return held.shared()->now(); }

Made aged(ExpiringFilter&& filter, Window window, double elapsed) {
  if (elapsed > 0) {
    if (!window) throw std::invalid_argument("elapsed is for a filter with a window");
    const double ticks = elapsed * filter.ttl_ticks() / seconds_of(*window);
    // More than a life is all the same.
    filter.advance(static_cast<std::uint64_t>(std::min(ticks, 1e9)));
  }
  return made(std::move(filter), window);
}

Made expiring_in(py::handle object, const py::object& window) {
  const Window kept = window_of(window);
  const Buffer buffer(object, PyBUF_SIMPLE);
  const Released released;
  return made(ExpiringFilter::load(std::as_bytes(std::span(buffer.text()))), kept);
}

Made load_from(py::handle file, const py::object& window, py::handle elapsed) {
  const Window kept = window_of(window);
  const double seconds = seconds_in(elapsed, "elapsed");
  const std::filesystem::path path = path_of(file);
  const Released released;
  return aged(ExpiringFilter::load(path), kept, seconds);
}

py::object seconds_or_none(Window time) { return time ? py::cast(seconds_of(*time)) : py::none(); }

py::object state_of(PyExpiringFilter& held) {
  return py::make_tuple(bytes_in(held), seconds_or_none(held.window()));
}
Made of_state(const py::object& state) {
  const auto [bytes, window] = pair_in(state, "not the state of an ExpiringFilter");
  return expiring_in(bytes, window);
}
Made expiring_copy(PyExpiringFilter& held) {
  const auto filter = held.shared();
  const Released released;
  return made(filter->snapshot(), held.window());
}

void bind_time(py::class_<PyExpiringFilter>& type) {
  method(type, "advance", &advance,
         R"(Moves time on, for a filter without a window. One pass over the memory for each
tick, with the interpreter's lock released; more than 14 at once empty the filter.

>>> seen = ExpiringFilter(1000, ttl_ticks=2)
>>> seen.insert("a")
True
>>> seen.advance(2)
>>> "a" in seen
True
>>> seen.advance()
>>> "a" in seen, seen.now
(False, 3)
)",
         py::arg("ticks") = 1);
  method(type, "sweep", &sweep,
         R"(Does a part of the sweep of the present tick, of about so many blocks of 64 bytes,
which the next tick need not do. True: nothing is left to sweep.

>>> seen = ExpiringFilter(1000)
>>> while not seen.sweep(16):
...     pass
)",
         py::arg("blocks"));
  const auto property = [&](const char* name, const char* doc, auto get) {
    type.def_property_readonly(name, get, doc);
  };
  property("now", "The tick.", &now);
  property("window", "Seconds that a key lives at least; None: the program moves time on.",
           [](PyExpiringFilter& held) { return seconds_or_none(held.window()); });
  property("tick", "Seconds of a tick, window / ttl_ticks; None without a window.",
           [](PyExpiringFilter& held) { return seconds_or_none(held.tick()); });
  property("life", "Deprecated: ttl_ticks is its name.", [](PyExpiringFilter& held) {
    warn_of_old_name("ttl_ticks");
    return held.shared()->ttl_ticks();
  });
  property("refused", "How many keys were new and found no room, since it was made or loaded.",
           [](PyExpiringFilter& held) { return held.refused.load(); });
}

void bind_keys_of(py::class_<PyExpiringFilter>& type) {
  bind_insert(type, "insert", &insert_keys,
              R"(Makes the key, or each key, live for a whole window from now, or for the rest of
this tick and `ttl_ticks` more ticks. True: it is new, and stored. False: it was there,
or looks like one that is, and its life is renewed, never shortened; or there is no
room, which `refused` counts, and which does not happen below the capacity.
A program that must not drop a new key asks for outcomes: Outcome.full is new too.

>>> seen = ExpiringFilter(1000, fpr=0.001)
>>> seen.insert("a"), seen.insert("a")
(True, False)
>>> seen.insert(["a", "b", "b"])
array([False,  True, False])
>>> seen.insert(["a", "c"], outcomes=True) != Outcome.present
array([False,  True])
>>> seen.insert("short", ttl_ticks=1)
True
>>> seen.remaining_ticks("short"), seen.remaining_ticks("a")
(1, 14)
)",
              py::arg("ttl_ticks") = py::none(), py::arg("life") = py::none());
  bind_may_contain(type,
                   R"(Whether the key may be there and alive. For many keys, an array of bool.

>>> seen = ExpiringFilter(1000, fpr=0.001)
>>> seen.insert([1, 2])
array([ True,  True])
>>> seen.may_contain(1), seen.may_contain([2, 3])
(True, array([ True, False]))
)");
  bind_select(type,
              R"(The positions of the keys that may be there, as select of a Filter.

>>> seen = ExpiringFilter(1000, fpr=0.001)
>>> seen.insert([10, 11])
array([ True,  True])
>>> seen.select([11, 99, 10])
array([0, 2], dtype=uint32)
)");
  method(type, "remaining_ticks", &remaining_ticks,
         R"(For how many more ticks the key lives at least; 0: it is not there, or this is its
last tick. For many keys, an array of uint8.

>>> seen = ExpiringFilter(1000, fpr=0.001, ttl_ticks=5)
>>> seen.insert("a")
True
>>> seen.advance(2)
>>> seen.remaining_ticks("a"), seen.remaining_ticks(["a", "b"])
(3, array([3, 0], dtype=uint8))
)",
         py::arg("keys"), py::arg("out") = py::none());
  py::object (*const left)(PyExpiringFilter&, py::handle, const py::object&) =
      [](PyExpiringFilter& held, py::handle keys, const py::object& out) {
        warn_of_old_name("remaining_ticks");
        return remaining_ticks(held, keys, out);
      };
  method(type, "left", left, "Deprecated: remaining_ticks is its name.", py::arg("keys"),
         py::arg("out") = py::none());
  method(type, "clear", &unlocked<&ExpiringFilter::clear, false, PyExpiringFilter>,
         "Removes everything; time stays.");
}

void bind_expiring_files(py::class_<PyExpiringFilter>& type) {
  method(type, "save", &save_as<PyExpiringFilter>, "Writes it to a file, as save of a Filter does.",
         py::arg("path"));
  type.def_static("load", &load_from, py::arg("path"), py::arg("window") = py::none(),
                  py::arg("elapsed") = 0,
                  R"(The filter in a file, at the tick at which it was saved; every byte is checked.
With a window it has a clock that begins now. elapsed: seconds that have passed
since it was saved, which count in whole ticks.

>>> seen = ExpiringFilter(1000, window=600)
>>> seen.insert("a")
True
>>> seen.save("seen.nest")
>>> "a" in ExpiringFilter.load("seen.nest", window=600)
True
>>> "a" in ExpiringFilter.load("seen.nest", window=600, elapsed=3600)
False
)");
  method(
      type, "to_bytes", &bytes_in<PyExpiringFilter>,
      R"(The bytes that save would write, but with a small head. pickle uses them too, and keeps the window; time
stands still until they are a filter again.)");
  type.def_static("from_bytes", &expiring_in, py::arg("data"), py::arg("window") = py::none(),
                  "What is in these bytes, as load has it.");
  method(type, "snapshot", &expiring_copy, kSnapshotDoc);
  bind_state<&expiring_copy, &state_of, &of_state>(type, kCopyDoc);
}

}  // namespace

void bind_expiring(py::module_& module) {
  py::class_<PyExpiringFilter> type(
      module, "ExpiringFilter",
      R"(A set of keys that forgets each of them after its life: "was this key seen in the
last ten minutes?" Any number of threads may use it at the same time.

capacity  keys alive at once: those of a whole window and one tick
window    seconds that a key lives at least; None: the program calls advance()
fpr       wanted false-positive rate; None: 0.02, or what bits gives
bits      of a fingerprint: 8 or 12; 0: the fewest that give fpr
ttl_ticks ticks of a window, 1 to 14: a key lives between so many and one more
seed      of the hash; keep it secret where strangers choose the keys
load      share of the slots in use at its capacity

With a window, each call looks at the clock first, which takes less than a
microsecond. The first call in a tick also does what is left of the sweep: one pass
over the memory for each tick that has passed, or one in all after 14 or more. The
interpreter's lock is released meanwhile. A batch counts as done when it begins.

>>> seen = ExpiringFilter(1_000_000, window=600, fpr=0.001)
>>> seen.insert("message 17")
True
>>> seen.insert("message 17")
False
>>> "message 17" in seen, "message 18" in seen
(True, False)
)");
  type.def(py::init([](py::handle capacity, const py::object& window, const py::object& fpr,
                       py::handle bits, const py::object& ttl_ticks, py::handle seed,
                       py::handle load, const py::object& life) {
             const Options given = options_of(capacity, fpr, bits, py::int_(0), seed, load);
             const std::uint64_t ticks =
                 ttl_ticks_of(ttl_ticks, life).value_or(ExpiringFilter::kMaxTtlTicks);
             constexpr std::uint64_t kMost = std::numeric_limits<unsigned>::max();
             const ExpiringOptions options = {
                 .capacity = given.capacity,
                 .fpr = given.fpr,
                 .bits = given.bits,
                 .ttl_ticks = static_cast<unsigned>(std::min(ticks, kMost)),
                 .load = given.load,
                 .seed = given.seed};
             return made(ExpiringFilter(options), window_of(window));
           }),
           py::arg("capacity"), py::arg("window") = py::none(), py::arg("fpr") = py::none(),
           py::arg("bits") = 0, py::arg("ttl_ticks") = py::none(), py::arg("seed") = 0,
           py::arg("load") = ExpiringOptions().load, py::kw_only(), py::arg("life") = py::none());
  bind_keys_of(type);
  bind_time(type);
  bind_figures(type);
  bind_expiring_files(type);
  type.def("__repr__", [](PyExpiringFilter& held) {
    const auto filter = held.shared();
    const std::string window =
        held.window()
            ? py::str("window {:g} s, ").format(seconds_of(*held.window())).cast<std::string>()
            : "tick " + std::to_string(filter->now()) + ", ";
    return "<nestline.ExpiringFilter: " + window + figures_of(*filter) + ">";
  });
}

}}}  // namespace nestline::python
