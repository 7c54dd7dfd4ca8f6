// The file of a ClusterCopy.
//
// Little-endian. A head of 64 bytes:
//
//     0  magic: 8e 'N' 'C' 'L' 0d 0a 1a 0a    24  u64 fpr: the bits of the double
//     8  u32 version, 1                       32  u64 capacity
//    12  u32 parts                            40  u64 max capacity
//    16  u64 seed                             48  u64 0
//                                             56  u64 checksum of bytes 0 to 55
//
// Then the parts one after the other. Each is the pieces of its image (lib/redis/value/image.h),
// its head first, every piece as a record, and then a record without bytes:
//
//     0  u64 length of the bytes
//     8  the bytes
//   end  u64 checksum of four numbers of 64 bits: the checksum of the record before (at the
//        beginning that of the head), the part's number, the length, and the checksum of the bytes
//
// So every byte counts, and no record can be left out, doubled or moved. A checksum is XXH3-64.
#ifndef NESTLINE_LIB_CLUSTER_COPY_FILE_H_
#define NESTLINE_LIB_CLUSTER_COPY_FILE_H_

#include <filesystem>

#include "lib/cluster/part_set.h"

namespace nestline::cluster {

/// Throws std::system_error, std::bad_alloc.
void write_copy(const std::filesystem::path& path, const PartSet& parts);
/// Throws FormatError, std::system_error, std::bad_alloc. Takes no more memory than the file has
/// bytes, about.
PartSet read_copy(const std::filesystem::path& path);

}  // namespace nestline::cluster

#endif  // NESTLINE_LIB_CLUSTER_COPY_FILE_H_
