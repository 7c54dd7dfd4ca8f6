// The kinds of keys that a filter names: those that it was built of, where values have types. So a
// question with a value whose key is another, though SQL may call the two equal, is an error and
// not the answer "no". A filter that names none answers everybody.
//
// docs/FORMAT.md, section 2, has the bits. A row or an array is a key of several values. The kinds
// of its members have bits of their own, 16 higher, so that a filter of rows of numbers is none of
// numbers.
#ifndef NESTLINE_LIB_FACES_EMBED_KEY_KINDS_H_
#define NESTLINE_LIB_FACES_EMBED_KEY_KINDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace nestline { inline namespace v0_3 {

using KeyKinds = std::uint32_t;  // a set
constexpr KeyKinds kNumberKeys = 1 << 0;
constexpr KeyKinds kTextKeys = 1 << 1;
constexpr KeyKinds kBytesKeys = 1 << 2;
constexpr KeyKinds kUuidKeys = 1 << 3;
constexpr KeyKinds kDateKeys = 1 << 4;
constexpr KeyKinds kTimestampKeys = 1 << 5;
constexpr KeyKinds kTimestampWithZoneKeys = 1 << 6;
constexpr KeyKinds kTimeKeys = 1 << 7;
constexpr KeyKinds kTimeWithZoneKeys = 1 << 8;
constexpr KeyKinds kIntervalKeys = 1 << 9;
constexpr KeyKinds kRowKeys = 1 << 10;
constexpr KeyKinds kFloatKeys = 1 << 11;
constexpr KeyKinds kJsonKeys = 1 << 12;
constexpr KeyKinds kNetworkKeys = 1 << 13;
constexpr KeyKinds kArrayKeys = 1 << 14;
constexpr unsigned kMemberShift = 16;
constexpr std::array<const char*, 15> kKeyKindNames = {
    "number", "text",           "bytes",    "uuid", "date",  "timestamp", "timestamp with zone",
    "time",   "time with zone", "interval", "row",  "float", "json",      "network address",
    "array"};

// The kinds of rows whose members have these, and of arrays.
constexpr KeyKinds row_of(KeyKinds members) {
  return kRowKeys | (members | members >> kMemberShift) << kMemberShift;
}
constexpr KeyKinds array_of(KeyKinds members) { return (row_of(members) & ~kRowKeys) | kArrayKeys; }

// "date, row of (number, text)"; empty for none.
inline std::string key_kinds_text(KeyKinds kinds) {
  std::string text;
  for (std::size_t kind = 0; kind < kKeyKindNames.size(); ++kind) {
    if ((kinds >> kind & 1) == 0) continue;
    text.append(text.empty() ? "" : ", ").append(kKeyKindNames[kind]);
    const KeyKinds members = kinds >> kMemberShift;
    if ((1U << kind & (kRowKeys | kArrayKeys)) != 0 && members != 0)
      text += " of (" + key_kinds_text(members) + ")";
  }
  return text;
}

}}  // namespace nestline

#endif  // NESTLINE_LIB_FACES_EMBED_KEY_KINDS_H_
