// What must hold of any files in a store's folder: see try_hostile_files().
#ifndef NESTLINE_TESTS_STORE_HOSTILE_FILES_H_
#define NESTLINE_TESTS_STORE_HOSTILE_FILES_H_

#include <map>
#include <string>

#include "nestline/store.h"
#include "tests/store/simulated_disk.h"
#include "tests/store/store_model.h"

namespace nestline::test {

using HostileFiles = std::map<std::string, SimulatedMachine::Bytes>;

// Opens the files as a store, to read and to write, verifies and repairs them. Each is a StoreError
// or works: then all questions agree with each other, changes are there after another opening, and
// what repair made opens and verifies. Throws what is wrong. Returns whether the store opened.
bool try_hostile_files(const HostileFiles& files);

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_HOSTILE_FILES_H_
