// What a store should hold: an exact map, and the contents it went through since the last moment
// that is known to be on disk. After a crash it must hold one of these.
#ifndef NESTLINE_TESTS_STORE_STORE_MODEL_H_
#define NESTLINE_TESTS_STORE_STORE_MODEL_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nestline/store.h"

namespace nestline::test {

using Content = std::map<std::string, std::string>;

// Changes that happen together: a value, or none for a key that is erased.
using Delta = std::vector<std::pair<std::string, std::optional<std::string>>>;

inline void apply_delta(Content& content, const Delta& delta) {
  for (const auto& [key, value] : delta) {
    if (value) {
      content[key] = *value;
    } else {
      content.erase(key);
    }
  }
}

// The same for a store, all at once.
inline Store::Batch batch_of(const Delta& delta) {
  Store::Batch batch;
  for (const auto& [key, value] : delta) {
    if (value) {
      batch.put(key, *value);
    } else {
      batch.erase(key);
    }
  }
  return batch;
}

class StoreModel {
 public:
  [[nodiscard]] const Content& now() const { return now_; }  // with every change so far
  // How many contents may be there after a crash.
  [[nodiscard]] std::size_t contents() const { return since_.size() + 1; }

  // A change that begins.
  void change(Delta delta) {
    apply_delta(now_, delta);
    since_.push_back(std::move(delta));
  }

  // The last change was refused, and has not been made.
  void take_back() {
    since_.pop_back();
    now_ = synced_;
    for (const Delta& delta : since_) apply_delta(now_, delta);
  }

  void all_has_returned() { returned_ = since_.size(); }  // every change has returned

  // Every change so far is on disk.
  void all_is_synced() {
    synced_ = now_;
    since_.clear();
    returned_ = 0;
  }

  // The process was killed: what has returned is still there, unless the power was lost before.
  void process_ended() { least_ = returned_; }
  void power_lost() { least_ = returned_ = 0; }

  // After a crash, `found` was there. If it is one of the contents that may be, the changes after
  // it are gone. Two contents can be equal: then it may be the later one.
  bool go_back_to(const Content& found) {
    Content content = synced_;
    std::optional<std::size_t> changes;
    for (std::size_t i = 0; i <= since_.size(); ++i) {
      if (i > 0) apply_delta(content, since_[i - 1]);
      if (i >= least_ && content.size() == found.size() && content == found) changes = i;
    }
    if (!changes) return false;
    since_.resize(*changes);
    returned_ = *changes;
    least_ = 0;
    now_ = found;
    return true;
  }

 private:
  Content synced_;
  std::vector<Delta> since_;
  std::size_t returned_ = 0;
  std::size_t least_ = 0;
  Content now_;
};

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_STORE_MODEL_H_
