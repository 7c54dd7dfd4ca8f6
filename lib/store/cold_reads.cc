#include "lib/store/cold_reads.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#ifdef NESTLINE_LIBURING
#include <liburing.h>
#endif

namespace nestline {
namespace {

// Reads are cut into pieces of this size.
constexpr std::uint32_t kColdPiece = 16384;

// Reads that are under way at once.
constexpr std::size_t kDepth = 256;

using Range = ColdReads::Range;

void start(const Range& range) noexcept {
  ::readahead(range.descriptor, static_cast<::off64_t>(range.offset), range.bytes);
}

void wait_for(const Range& range) noexcept {
  std::byte nowhere[kColdPiece];
  ::iovec pieces[16];
  std::uint32_t done = 0;
  while (done < range.bytes) {
    int count = 0;
    for (std::uint32_t at = done; at < range.bytes && count < 16; ++count) {
      pieces[count] = {nowhere, std::min(range.bytes - at, kColdPiece)};
      at += static_cast<std::uint32_t>(pieces[count].iov_len);
    }
    const ::ssize_t got =
        ::preadv(range.descriptor, pieces, count, static_cast<::off_t>(range.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    done += static_cast<std::uint32_t>(got);
  }
}

void read_by_preadv(std::span<const Range> ranges) noexcept {
  while (!ranges.empty()) {
    const std::span<const Range> some = ranges.first(std::min(ranges.size(), kDepth));
    for (const Range& range : some) start(range);
    for (const Range& range : some) wait_for(range);
    ranges = ranges.subspan(some.size());
  }
}

}  // namespace

#ifdef NESTLINE_LIBURING

namespace {

// Where all rings of all threads read to. Nobody looks at it, so it does not matter that reads
// write over each other; and it is always there, also for reads of a ring that has been given up.
std::byte nowhere[kColdPiece];

}  // namespace

struct ColdReads::Ring {
  Ring() noexcept : process(::getpid()) {
    if (io_uring_queue_init(kDepth, &ring, 0) != 0) return;
    io_uring_probe* probe = io_uring_get_probe_ring(&ring);
    usable = probe != nullptr && io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
    io_uring_free_probe(probe);
    if (!usable) io_uring_queue_exit(&ring);
  }
  ~Ring() {
    if (usable) io_uring_queue_exit(&ring);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // False when the ring does not work any more.
  bool read(std::span<const Range> ranges) noexcept {
    std::size_t next = 0;
    std::uint32_t done = 0;  // of range `next`
    unsigned under_way = 0;
    while (next < ranges.size() || under_way > 0) {
      while (next < ranges.size() && under_way < kDepth) {
        const Range& range = ranges[next];
        const std::uint32_t bytes = std::min(range.bytes - done, kColdPiece);
        io_uring_sqe* entry = bytes == 0 ? nullptr : io_uring_get_sqe(&ring);
        if (bytes != 0 && entry == nullptr) break;
        if (entry != nullptr) {
          io_uring_prep_read(entry, range.descriptor, nowhere, bytes, range.offset + done);
          ++under_way;
        }
        done += bytes;
        if (done == range.bytes) {
          ++next;
          done = 0;
        }
      }
      // Not for each single one: that would be a call each.
      const unsigned wait = next < ranges.size() ? (under_way + 3) / 4 : under_way;
      const int submitted = io_uring_submit_and_wait(&ring, wait);
      if (submitted < 0 && submitted != -EINTR) return false;
      io_uring_cqe* answer = nullptr;
      while (under_way > 0 && io_uring_peek_cqe(&ring, &answer) == 0) {
        io_uring_cqe_seen(&ring, answer);
        --under_way;
      }
    }
    return true;
  }

  io_uring ring{};
  ::pid_t process;  // a ring must not be used by two
  bool usable = false;
};

ColdReads::ColdReads(Way way) noexcept : uring_(false) {
  if (way == Way::preadv) return;
  Ring* ring = new (std::nothrow) Ring();
  uring_ = ring != nullptr && ring->usable;
  if (uring_) {
    give_back(ring);
  } else {
    delete ring;
  }
}

ColdReads::~ColdReads() {
  for (std::atomic<Ring*>& place : idle_) delete place.load();
}

ColdReads::Ring* ColdReads::take() const noexcept {
  if (!uring_) return nullptr;
  for (std::atomic<Ring*>& place : idle_) {
    if (place.load() == nullptr) continue;
    Ring* ring = place.exchange(nullptr);
    if (ring == nullptr) continue;
    if (ring->process == ::getpid()) return ring;
    delete ring;  // the parent's: only this process' descriptor and mappings of it go away
  }
  Ring* ring = new (std::nothrow) Ring();
  if (ring != nullptr && ring->usable) return ring;
  delete ring;
  return nullptr;
}

void ColdReads::give_back(Ring* ring) const noexcept {
  for (std::atomic<Ring*>& place : idle_) {
    Ring* nobody = nullptr;
    if (place.compare_exchange_strong(nobody, ring)) return;
  }
  delete ring;
}

void ColdReads::read_ahead(std::span<const Range> ranges) const noexcept {
  Ring* ring = take();
  if (ring == nullptr) {
    read_by_preadv(ranges);
  } else if (ring->read(ranges)) {
    give_back(ring);
  } else {
    delete ring;
    read_by_preadv(ranges);
  }
}

#else

struct ColdReads::Ring {};

ColdReads::ColdReads(Way /*way*/) noexcept : uring_(false) {}

ColdReads::~ColdReads() = default;

void ColdReads::read_ahead(std::span<const Range> ranges) const noexcept { read_by_preadv(ranges); }

#endif  // NESTLINE_LIBURING

bool ColdReads::is_cold(const Range& range) noexcept {
  std::byte first{};
  const ::iovec piece{&first, 1};
  return ::preadv2(range.descriptor, &piece, 1, static_cast<::off_t>(range.offset), RWF_NOWAIT) <
             0 &&
         errno == EAGAIN;
}

const char* ColdReads::name() const noexcept { return uring_ ? "io_uring" : "preadv"; }

}  // namespace nestline
