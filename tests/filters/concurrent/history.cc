// Searches for an order, and prints a history that has none.
#include "tests/filters/concurrent/history.h"

#include <algorithm>
#include <cstdint>
#include <ios>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/order_search.h"

namespace nestline::test {
namespace {

// The model's content.
struct Content {
  Copies copies;
  std::uint64_t others;
  bool operator==(const Content&) const = default;

  [[nodiscard]] std::uint64_t size() const {
    return std::accumulate(copies.begin(), copies.end(), others);
  }
};

struct ContentHash {
  std::uint64_t operator()(const Content& content) const {
    return mix(word_of(content.copies)) ^ content.others;
  }
};

// The content after an operation; no value when the operation cannot have given its answer.
class Specification {
 public:
  explicit Specification(const History& history) : history_(history) {}

  [[nodiscard]] std::optional<Content> apply(const Operation& operation, Content content) const {
    const unsigned home = content.copies[operation.key];
    const unsigned both = home + away(operation.key, content);
    bool possible = true;
    switch (operation.kind) {
      case Kind::insert:
        possible = can_insert(operation, content);
        break;
      case Kind::insert_unique:
        // Never `too_many_copies`: buckets full of copies of the partner answer for the key.
        possible = operation.outcome == Outcome::present
                       ? both > 0
                       : home == 0 && operation.outcome != Outcome::too_many_copies &&
                             can_insert(operation, content);
        break;
      case Kind::update:
        possible = content.copies[operation.old_key] > 0 && can_insert(operation, content);
        break;
      case Kind::erase:
        possible = operation.answer != 0 ? home > 0 : both == 0;
        if (possible && home > 0) --content.copies[operation.key];
        return possible ? std::optional(content) : std::nullopt;
      case Kind::count:
        possible = home <= operation.answer && operation.answer <= both;
        break;
      case Kind::may_contain:
        possible = operation.answer != 0 ? both > 0 : home == 0;
        break;
      case Kind::grow:
        possible = operation.answer != 0;  // histories do not grow as often as a width allows
        break;
      case Kind::shrink:  // whether it can depends on keys of no class
        possible = true;
        break;
      case Kind::clear:
        return Content{};
      case Kind::snapshot:
        possible = is_snapshot(operation, content);
        break;
      case Kind::merge:
        return merged(operation, content);
    }
    if (!possible) return std::nullopt;
    const bool inserts = operation.kind == Kind::insert || operation.kind == Kind::insert_unique ||
                         operation.kind == Kind::update;
    if (inserts && operation.outcome == Outcome::stored) {
      ++content.copies[operation.key];
      if (operation.kind == Kind::update) --content.copies[operation.old_key];
    }
    return content;
  }

 private:
  [[nodiscard]] unsigned away(std::size_t key, const Content& content) const {
    const int partner = history_.classes[key].partner;
    return partner == kNoPartner ? 0 : content.copies[static_cast<std::size_t>(partner)];
  }
  [[nodiscard]] unsigned at_both(std::size_t key, const Content& content) const {
    return content.copies[key] + away(key, content);
  }

  // Whether an insert may have ended as it did.
  [[nodiscard]] bool can_insert(const Operation& operation, const Content& content) const {
    const bool room = at_both(operation.key, content) < history_.classes[operation.key].limit;
    switch (operation.outcome) {
      case Outcome::stored:
        return room;
      case Outcome::too_many_copies:
        return at_both(operation.key, content) >= history_.classes[operation.key].least;
      case Outcome::full:
        return room && (content.size() >= history_.full_from || crowded_by_copies(content));
      default:
        return false;
    }
  }

  // Whether classes with several copies could hold all slots of a bucket. (Class 0 stands for many
  // keys with a copy each.)
  [[nodiscard]] bool crowded_by_copies(const Content& content) const {
    unsigned copies = 0;
    for (std::size_t key = 1; key < history_.classes.size(); ++key) {
      if (at_both(key, content) > 1) copies += content.copies[key];
    }
    return copies >= history_.choices;
  }

  [[nodiscard]] bool is_snapshot(const Operation& operation, const Content& content) const {
    if (operation.others != content.size()) return false;
    for (std::size_t key = 0; key < history_.classes.size(); ++key) {
      const unsigned counted = operation.copies[key];
      if (counted < content.copies[key] || counted > at_both(key, content)) return false;
    }
    return true;
  }

  [[nodiscard]] std::optional<Content> merged(const Operation& operation, Content content) const {
    Content sum = content;
    sum.others += operation.others;
    for (std::size_t key = 0; key < history_.classes.size(); ++key) {
      sum.copies[key] = static_cast<std::uint8_t>(sum.copies[key] + operation.copies[key]);
    }
    bool room = true;
    bool surely = true;
    for (std::size_t key = 0; key < history_.classes.size(); ++key) {
      room = room && at_both(key, sum) <= history_.classes[key].limit;
      surely = surely && at_both(key, sum) <= history_.classes[key].least;
    }
    if (operation.outcome == Outcome::stored) {
      return room ? std::optional(sum) : std::nullopt;
    }
    const bool full = sum.size() > history_.full_from || crowded_by_copies(sum);
    return !surely || full ? std::optional(content) : std::nullopt;
  }

  const History& history_;
};

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::stored:
      return "stored";
    case Outcome::present:
      return "present";
    case Outcome::full:
      return "full";
    case Outcome::too_many_copies:
      return "copies";
  }
  return "?";
}

void print_copies(std::ostream& out, const History& history, const Copies& copies,
                  std::uint64_t others, const char* name_of_others) {
  for (std::size_t key = 0; key < history.classes.size(); ++key) {
    out << "k" << key << ":" << unsigned{copies[key]} << " ";
  }
  out << name_of_others << ":" << others;
}

std::string to_string(const History& history, const Operation& operation) {
  std::ostringstream out;
  const auto key = [](unsigned number) { return "k" + std::to_string(number); };
  out << "thread " << unsigned{operation.thread} << "  [" << operation.start << ", "
      << operation.end << "]  ";
  switch (operation.kind) {
    case Kind::insert:
      out << "insert(" << key(operation.key) << ") = " << name_of(operation.outcome);
      break;
    case Kind::insert_unique:
      out << "insert_unique(" << key(operation.key) << ") = " << name_of(operation.outcome);
      break;
    case Kind::update:
      out << "update(" << key(operation.old_key) << ", " << key(operation.key)
          << ") = " << name_of(operation.outcome);
      break;
    case Kind::erase:
      out << "erase(" << key(operation.key) << ") = " << operation.answer;
      break;
    case Kind::count:
      out << "count(" << key(operation.key) << ") = " << operation.answer;
      break;
    case Kind::may_contain:
      out << "may_contain(" << key(operation.key) << ") = " << operation.answer;
      break;
    case Kind::grow:
      out << "grow() = " << operation.answer;
      break;
    case Kind::shrink:
      out << "shrink() = " << operation.answer;
      break;
    case Kind::clear:
      out << "clear()";
      break;
    case Kind::snapshot:
      out << "snapshot() = ";
      print_copies(out, history, operation.copies, operation.others, "size");
      break;
    case Kind::merge:
      out << "merge(";
      print_copies(out, history, operation.copies, operation.others, "others");
      out << ") = " << name_of(operation.outcome);
      break;
  }
  if (operation.hash != 0) out << "  hash 0x" << std::hex << operation.hash;
  return out.str();
}

}  // namespace

bool is_linearizable(const History& history, std::string* reason) {
  const Specification model(history);
  const auto apply = [&](const Operation& operation, const Content& content) {
    return model.apply(operation, content);
  };
  OrderSearch<Operation, Content, ContentHash> search(history.operations);
  if (search.run(apply, Content{history.copies, history.others})) return true;
  if (reason == nullptr) return false;
  std::ostringstream out;
  out << to_string(history) << "no order of all " << history.operations.size()
      << " operations explains this; the longest one found:\n";
  for (const std::size_t i : search.longest()) {
    out << "  " << to_string(history, history.operations[i]) << "\n";
  }
  out << "left over:\n";
  for (std::size_t i = 0; i < history.operations.size(); ++i) {
    const auto& longest = search.longest();
    if (std::find(longest.begin(), longest.end(), i) == longest.end()) {
      out << "  " << to_string(history, history.operations[i]) << "\n";
    }
  }
  *reason = out.str();
  return false;
}

std::string to_string(const History& history) {
  std::ostringstream out;
  out << "history, seed " << history.seed << ", " << history.scene << "\n  at the beginning: ";
  print_copies(out, history, history.copies, history.others, "others");
  out << ", full from " << history.full_from << "\n";
  for (std::size_t key = 0; key < history.classes.size(); ++key) {
    const KeyClass& key_class = history.classes[key];
    if (key_class.partner != kNoPartner) {
      out << "  k" << key << " and k" << key_class.partner << " are partners\n";
    }
  }
  std::vector<Operation> sorted = history.operations;
  std::sort(sorted.begin(), sorted.end(),
            [](const Operation& a, const Operation& b) { return a.start < b.start; });
  for (const Operation& operation : sorted) out << "  " << to_string(history, operation) << "\n";
  return out.str();
}

}  // namespace nestline::test
