// The names of all public types, declared. Include this where you would write
// `namespace nestline { class Filter; }`: the types are in an inline namespace of the version, so
// such a line declares another class.
#ifndef NESTLINE_FORWARD_H_
#define NESTLINE_FORWARD_H_

#include <cstdint>

#include "nestline/export.h"

namespace nestline { inline namespace v0_3 {

struct Hash;
class Key;
class KeySpan;
struct Options;
class Filter;
class Reader;
enum class Outcome : std::uint8_t;
struct Inserted;
enum class Copies : std::uint8_t;
struct Overlap;
class PassRate;
class ConcurrentFilter;
class ConcurrentReader;
struct ExpiringOptions;
class ExpiringFilter;
class ExpiringClock;
struct MapletOptions;
class Maplet;
class Input;
class Output;
enum class Head : std::uint8_t;
enum class Verify : std::uint8_t;
class MappedFilter;
class MappedExpiringFilter;
class MappedMaplet;
struct FormatError;
class Guard;
class ZeroedMemory;
struct StoreOptions;
enum class Sync : std::uint8_t;
class Store;
struct StoreStats;
struct StoreReport;
struct StoreError;
struct StoreBusy;
struct FilePieces;
struct StoredFile;
struct ClusterOptions;
class ClusterFilter;
class ClusterCopy;
enum class Upload : std::uint8_t;
struct ClusterStats;
struct ClusterPart;
class ClusterError;

namespace parallel {
struct Cancelled;
}

}}  // namespace nestline

#endif  // NESTLINE_FORWARD_H_
