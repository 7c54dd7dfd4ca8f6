// One function for each lookup and change, on whatever has the members of a Filter. For one key it
// returns a bool or an int, and the interpreter's lock is kept. For many it returns an array, and
// the lock is released while the filter works, unless they are few.
#ifndef NESTLINE_LIB_FACES_PYTHON_CALLS_H_
#define NESTLINE_LIB_FACES_PYTHON_CALLS_H_

#include <pybind11/numpy.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/faces/python/arguments.h"
#include "lib/faces/python/one_key.h"

namespace nestline { inline namespace v0_3 { namespace python {

// Has functions for one key. The others wait for servers, or are asked for whole batches only.
template <typename Filter>
concept AsksForOne = requires(Filter& filter, Key key) {
  filter.may_contain(key);
};

// Whether a lookup may run beside no other: it changes the object, whose connections it uses.
template <typename Filter>
constexpr bool kLooksAlone =
    !requires(const Filter& filter, KeySpan keys, std::span<std::uint8_t> out) {
  filter.may_contain(keys, out);
};

// Python's answers to one key or many. Calls operation(filter, key) with the lock held, or
// operation(filter, keys, answers) for pieces of a batch. `alone`: whether no other call may run.
template <bool alone, typename Held, typename Operation>
py::object answer(Held& held, py::handle keys, const py::object& out, Answers::Kind kind,
                  Operation&& operation) {
  constexpr bool kPieces = AsksForOne<typename Held::Value>;
  const typename Held::Use filter(held, alone);
  if (is_one_key(keys)) {
    if (!out.is_none()) throw py::type_error("out is for many keys");
    const OneKey key(keys);
    std::array<std::uint8_t, 1> one{};
    if constexpr (kPieces) {
      one[0] = static_cast<std::uint8_t>(operation(*filter, Key(key)));
    } else {
      const std::array<Hash, 1> hash{hash_key(key, filter->seed())};
      const Released released;
      operation(*filter, KeySpan(hash), std::span<std::uint8_t>(one));
    }
    return Answers::one(kind, one[0]);
  }
  KeyBatch batch(keys, filter->seed());
  const Answers answers(batch, out, kind);
  if constexpr (kPieces) {
    const Released released(batch.size());
    batch.each_piece(released, [&](KeySpan piece, std::size_t first) {
      operation(*filter, piece, answers.bytes().subspan(first, piece.size()));
    });
  } else {
    const Released released;
    batch.each_request(released, [&](KeySpan piece, std::size_t first) {
      operation(*filter, piece, answers.bytes().subspan(first, piece.size()));
    });
  }
  return answers.array();
}

inline Answers::Kind kind_of(bool outcomes) {
  return outcomes ? Answers::Kind::outcomes : Answers::Kind::yes_or_no;
}
inline std::uint8_t shown(Outcome outcome, bool outcomes) {
  return static_cast<std::uint8_t>(outcomes || outcome == Outcome::stored ? outcome : Outcome());
}
inline void show(std::span<std::uint8_t> answers, bool outcomes) {
  for (std::uint8_t& each : answers) each = shown(Outcome{each}, outcomes);
}

template <bool alone, typename Held, typename Insert>
py::object inserted(Held& held, py::handle keys, const py::object& out, bool outcomes,
                    Insert&& insert) {
  return answer<alone>(held, keys, out, kind_of(outcomes),
                       [&](auto& filter, auto key, auto... answers) {
                         if constexpr (sizeof...(answers) == 0) {
                           return shown(insert(filter, key).outcome, outcomes);
                         } else {
                           (void)insert(filter, key, Answers::as_outcomes(answers)...);
                           (show(answers, outcomes), ...);
                         }
                       });
}

template <bool alone, typename Held>
py::object insert(Held& held, py::handle keys, const py::object& out, bool outcomes) {
  return inserted<alone>(held, keys, out, outcomes,
                         [](auto& filter, auto... key) { return filter.insert(key...); });
}

template <bool alone, typename Held>
py::object insert_unique(Held& held, py::handle keys, const py::object& out, bool outcomes) {
  return inserted<alone>(held, keys, out, outcomes,
                         [](auto& filter, auto... key) { return filter.insert_unique(key...); });
}

template <bool alone, typename Held>
py::object erase(Held& held, py::handle keys, const py::object& out) {
  return answer<alone>(held, keys, out, Answers::Kind::yes_or_no,
                       [](auto& filter, auto... key) { return filter.erase(key...); });
}

template <typename Held>
py::object may_contain(Held& held, py::handle keys, const py::object& out) {
  return answer<kLooksAlone<typename Held::Value>>(
      held, keys, out, Answers::Kind::yes_or_no,
      [](auto& filter, auto... key) { return filter.may_contain(key...); });
}

template <typename Held>
bool contains(Held& held, py::handle key) {
  const OneKey one(key);
  if constexpr (AsksForOne<typename Held::Value>) {
    return held.shared()->may_contain(one);
  } else {
    return may_contain(held, key, py::none()).template cast<bool>();
  }
}

template <typename Held>
py::object count(Held& held, py::handle keys, const py::object& out) {
  return answer<kLooksAlone<typename Held::Value>>(
      held, keys, out, Answers::Kind::numbers,
      [](auto& filter, auto... key) { return filter.count(key...); });
}

template <bool alone, typename Held>
bool update(Held& held, py::handle old_key, py::handle new_key) {
  const auto filter = typename Held::Use(held, alone);
  const OneKey before(old_key), after(new_key);
  return static_cast<bool>(filter->update(before, after));
}

// The positions in a selection. Throws std::invalid_argument when one is outside of the keys.
inline std::vector<std::uint32_t> positions_in(const py::object& selection, std::size_t keys) {
  const std::vector<std::uint64_t> numbers = numbers_of(selection, "position");
  for (const std::uint64_t number : numbers) {
    if (number >= keys) {
      const auto given = static_cast<std::int64_t>(number);
      throw std::invalid_argument("position " +
                                  (given < 0 ? std::to_string(given) : std::to_string(number)) +
                                  " is outside of the " + std::to_string(keys) + " keys");
    }
  }
  return {numbers.begin(), numbers.end()};
}

template <typename Held>
py::object select(Held& held, py::handle keys, const py::object& selection) {
  const auto filter = held.shared();
  const KeyBatch batch(keys, filter->seed());
  if (batch.size() > std::size_t{UINT32_MAX} + 1) {
    throw std::invalid_argument("select takes at most 2**32 keys at a time");
  }
  std::vector<std::uint32_t> wanted;
  if (!selection.is_none()) wanted = positions_in(selection, batch.size());
  const std::size_t most = selection.is_none() ? batch.size() : wanted.size();
  std::vector<std::uint32_t> positions(most);
  std::size_t found = 0;
  {
    const Released released(most);
    const auto look = [&](KeySpan piece, std::size_t first, auto&& position_of) {
      const auto room = std::span(positions).subspan(found, piece.size());
      const std::size_t here = filter->select(piece, room);
      for (std::uint32_t& position : room.first(here)) position = position_of(first + position);
      found += here;
    };
    if (selection.is_none()) {
      batch.each_piece(released, [&](KeySpan piece, std::size_t first) {
        look(piece, first, [](std::size_t i) { return static_cast<std::uint32_t>(i); });
      });
    } else {
      batch.each_piece(released, wanted, [&](KeySpan piece, std::size_t first) {
        look(piece, first, [&](std::size_t i) { return wanted[i]; });
      });
    }
  }
  return py::array_t<std::uint32_t>(static_cast<py::ssize_t>(found), positions.data());
}

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_CALLS_H_
