// A batch of questions that the worker threads answer while the server goes on.
//
//   server's thread   begin: makes a View of the value, blocks the client
//   workers           ask the View, slice by slice (workers.h)
//   server's thread   answers what the View left open, kMostAtOnce questions at a time, between
//                     other events; mostly there is none
//   a worker          writes the reply, lets go of the value, unblocks the client
//   server's thread   moves the reply to the client, if it is still there, and frees the batch
//
// Every answer is right for some instant between the arrival of the command and its reply (view.h).
// The value is held by reference: deleting, replacing or flushing its key does not wait for the
// batch, which goes on asking the value that the key had when the command arrived. If nothing else
// holds the value in the end, a worker frees it.
//
// The workers touch of the server's data only the bytes of an argument, which the batch holds, and
// the reply, which belongs to the blocked client.
#ifndef NESTLINE_LIB_REDIS_SERVER_BATCH_H_
#define NESTLINE_LIB_REDIS_SERVER_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/redis/server/commands.h"

namespace nestline::redis {

// What the reply is: whether each item is there, as a string of bits or an array of booleans, or a
// string of counts.
enum class Reply : std::uint8_t { bits, booleans, counts };

// Whether the workers are to answer a command with so many questions. Not where its reply has to be
// there at its end: in transactions and scripts, for other modules, for commands that are replayed.
bool is_for_workers(const Call& call, std::size_t questions);

// Hands the questions over, so that the command needs no reply any more. False where the workers
// cannot answer them now; nothing has happened then. Throws std::bad_alloc. The hashes are in
// argument 2, or are given.
bool hand_over(const Call& call, const OpenedKey& key, Reply reply);
bool hand_over(const Call& call, const OpenedKey& key, Reply reply,
               std::vector<std::uint64_t> hashes);

}  // namespace nestline::redis

#endif  // NESTLINE_LIB_REDIS_SERVER_BATCH_H_
