// What a process did to the files of one folder, as recorder.cc writes it down and others read it.
// The recorder is a library that is loaded before all others (LD_PRELOAD). It has the functions of
// the C library that the store calls. Before and after each such call it compares all files of the
// folder with what it knew of them, so that it also sees what was written through memory: sectors
// that changed, from the first byte that did, and lengths.
#ifndef NESTLINE_TESTS_STORE_RECORDING_H_
#define NESTLINE_TESTS_STORE_RECORDING_H_

#include <cstdint>

namespace nestline::test {

inline constexpr const char* kRecordFolder = "NESTLINE_RECORD_FOLDER";  // what to watch
inline constexpr const char* kRecordTo = "NESTLINE_RECORD_TO";          // where to write it down

enum class Recorded : std::uint32_t {
  write,        // of `file`: `bytes` bytes at `offset`; it has `size` bytes then
  resize,       // of `file`, to `size`
  sync,         // of `file`
  create,       // of `file`, with a name
  rename,       // a name, a line feed, and the new name
  remove,       // of a name
  sync_folder,  //
  note,         // what the process says
};

// `bytes` bytes follow: those that were written, or a text.
struct RecordedCall {
  Recorded kind = Recorded::note;
  std::uint32_t bytes = 0;
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// The recorder has it: writes down what the process says.
using RecordNote = void (*)(const char* text);
inline constexpr const char* kRecordNote = "nestline_record_note";

}  // namespace nestline::test

#endif  // NESTLINE_TESTS_STORE_RECORDING_H_
