// Filters in files and byte arrays: what is read and written, in which order, and what happens when
// that fails. What the bytes mean is in file_format.h.
//
// A file is read with pread into the filter's own memory, section by section, each checked while it
// is in the cache. A file that is written to or cut off meanwhile fails the checks; it cannot end
// the program, as it could if it were read through a mapping.
#include "nestline/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "lib/file/file_format.h"
#include "lib/filter/filter_state.h"
#include "lib/filter/storage.h"

namespace nestline {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& file, int error) {
  throw std::system_error(error, std::generic_category(), file);
}

void require(const std::string& file, std::optional<Flaw> flaw) {
  if (flaw) throw FormatError(file, flaw->offset, std::move(flaw->cause));
}

// Calls a system call again while signals interrupt it.
template <typename Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Owns an open file.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, ::mode_t mode = 0)
      : number_(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); })) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  // False on an error. The file is closed in any case, also when a signal interrupts it.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR;
  }

 private:
  int number_;
};

// The two sources of a filter: both have a name for errors, a length, and read() that fills `to`.
class FileSource {
 public:
  explicit FileSource(const fs::path& path)
      // Opening a pipe without O_NONBLOCK would wait for somebody to write into it.
      : name_(path.string()), file_(path, O_RDONLY | O_NONBLOCK) {
    if (!file_.is_open()) fail(name_, errno);
    struct stat status {};
    if (::fstat(file_.number(), &status) != 0) fail(name_, errno);
    if (S_ISDIR(status.st_mode)) fail(name_, EISDIR);
    if (!S_ISREG(status.st_mode)) {
      throw FormatError(name_, 0,
                        "this is a pipe or a device, but a filter is read from a file; "
                        "copy it into one first");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] int descriptor() const { return file_.number(); }

  void read(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
      const auto count = uninterrupted([&] {
        return ::pread(file_.number(), to.data(), to.size(), static_cast<::off_t>(offset));
      });
      if (count < 0) fail(name_, errno);
      if (count == 0) throw FormatError(name_, offset, "the file became shorter while it was read");
      offset += static_cast<std::uint64_t>(count);
      to = to.subspan(static_cast<std::size_t>(count));
    }
  }

 private:
  std::string name_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

class ByteSource {
 public:
  explicit ByteSource(std::string name, std::span<const std::byte> bytes)
      : name_(std::move(name)), bytes_(bytes) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t offset, std::size_t size) const {
    return bytes_.subspan(static_cast<std::size_t>(offset), size);
  }
  void read(std::uint64_t offset, std::span<std::byte> to) const {
    std::copy_n(at(offset, to.size()).begin(), to.size(), to.begin());
  }

 private:
  std::string name_;
  std::span<const std::byte> bytes_;
};

template <typename Source>
FileHeader read_header(const Source& source) {
  HeaderBytes bytes;
  const auto start = std::span(bytes).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), source.size())));
  source.read(0, start);
  FileHeader header;
  require(source.name(), decode_header(start, source.size(), header));
  return header;
}

// Checks the blocks; section(i) gives the bytes of section i.
template <typename Section>
void check_content(const std::string& name, const FileHeader& header,
                   std::span<const std::byte> checksums, Section&& section) {
  ContentCheck check(header, checksums);
  require(name, check.checksums());
  for (std::uint64_t i = 0; i < header.sections(); ++i) require(name, check.section(i, section(i)));
  require(name, check.keys());
}

Filter make_filter(const FileHeader& header, Storage storage, std::size_t offset, fs::path path) {
  auto state = std::make_unique<Filter::State>(header.bits, header.geometry, header.seed,
                                               header.capacity, std::move(storage), offset);
  state->size = header.keys;
  state->max_capacity = header.max_capacity;
  state->path = std::move(path);
  return FilterAccess::make(std::move(state));
}

template <typename Source>
Filter read_filter(const Source& source) {
  const FileHeader header = read_header(source);
  // From here on the lengths that the header tells are those of the source.
  std::vector<std::byte> checksums(static_cast<std::size_t>(header.checksums_bytes()));
  source.read(header.checksums_offset(), checksums);
  Storage storage = Storage::allocate(header.geometry.blocks());
  check_content(source.name(), header, checksums, [&](std::uint64_t i) {
    const auto section = storage.bytes().subspan(static_cast<std::size_t>(i) * kSectionBytes,
                                                 header.section_bytes(i));
    source.read(FileHeader::section_offset(i), section);
    return section;
  });
  return make_filter(header, std::move(storage), 0, {});
}

FileHeader header_of(const Filter::State& state) {
  return {state.bits, state.view.geometry, state.seed,
          state.size, state.capacity,      state.max_capacity};
}

// Gives the bytes of a filter to `write`, piece by piece.
template <typename Write>
void write_filter(const Filter::State& state, Write&& write) {
  const FileHeader header = header_of(state);
  write(std::span<const std::byte>(encode_header(header)));
  const auto* const blocks = reinterpret_cast<const std::byte*>(state.view.blocks);
  std::vector<std::byte> checksums;
  checksums.reserve(static_cast<std::size_t>(header.checksums_bytes()));
  const auto add_checksum = [&](std::span<const std::byte> bytes) {
    const ChecksumBytes checksum = encode_checksum(bytes);
    checksums.insert(checksums.end(), checksum.begin(), checksum.end());
  };
  for (std::uint64_t i = 0; i < header.sections(); ++i) {
    const std::span section(blocks + static_cast<std::size_t>(i) * kSectionBytes,
                            header.section_bytes(i));
    add_checksum(section);
    write(section);
  }
  add_checksum(checksums);
  write(checksums);
}

void write_all(const Descriptor& file, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const auto count =
        uninterrupted([&] { return ::write(file.number(), bytes.data(), bytes.size()); });
    if (count <= 0) fail(name, count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

// False on an error. Some file systems cannot be asked, which is none.
bool sync(const Descriptor& file) { return ::fsync(file.number()) == 0 || errno == EINVAL; }

// The file that `path` stands for when it is a symbolic link, there or not.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  for (int i = 0; fs::is_symlink(fs::symlink_status(path)); ++i) {
    if (i == kMostLinks) fail(path, ELOOP);
    path = path.parent_path() / fs::read_symlink(path);  // an absolute one replaces the folder
  }
  return path;
}

// A new file that takes the place of `path` when it is complete, or vanishes.
class Replacement {
 public:
  // `old`: the file that is replaced, or null.
  Replacement(const fs::path& path, const struct stat* old)
      : name_(path.string()),
        target_(follow_links(path)),
        temporary_(target_.parent_path() / unused_name()),
        // Nobody else may read what replaces a private file, not even for a moment.
        file_(temporary_, O_WRONLY | O_CREAT | O_EXCL, old == nullptr ? 0666 : 0600) {
    if (!file_.is_open()) fail(name_, errno);
    if (old == nullptr) return;
    if (const int error = copy_access(*old); error != 0) {
      remove();
      fail(name_, error);
    }
  }
  ~Replacement() { remove(); }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::span<const std::byte> bytes) { write_all(file_, bytes, name_); }

  void commit() {
    if (!sync(file_) || !file_.close()) fail(name_, errno);
    std::error_code error;
    fs::rename(temporary_, target_, error);
    if (error) fail(name_, error.value());
    temporary_.clear();
    // The new name lasts through a crash once its folder is on the disk too. A folder that may be
    // written but not read cannot be asked for that.
    const fs::path folder = target_.parent_path();
    const Descriptor directory(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
    if (directory.is_open() && !sync(directory)) fail(name_, errno);
  }

 private:
  // Short, since the file's own name may be as long as names can be; and not to be guessed.
  static std::string unused_name() {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
    std::random_device random;
    std::string name = ".nestline-";
    for (int i = 0; i < 16; ++i) name += kDigits[random() % kDigits.size()];
    return name + ".tmp";
  }

  // Gives the new file the owner, group and mode of the old one. A group that cannot be given gets
  // no more than others have. Returns an error number or 0.
  [[nodiscard]] int copy_access(const struct stat& old) const {
    ::mode_t mode = old.st_mode & 0777;
    if (::fchown(file_.number(), old.st_uid, old.st_gid) != 0 &&
        ::fchown(file_.number(), static_cast<::uid_t>(-1), old.st_gid) != 0) {
      mode &= ~static_cast<::mode_t>(S_IRWXG) | (mode & S_IRWXO) << 3;
    }
    return ::fchmod(file_.number(), mode) == 0 ? 0 : errno;
  }

  void remove() noexcept {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  std::string name_;    // what the caller calls it
  fs::path target_;     // what is replaced
  fs::path temporary_;  // empty when it is there no more
  Descriptor file_;
};

}  // namespace

void save(const Filter& filter, const fs::path& path) {
  const Filter::State& state = FilterAccess::state(filter);
  const std::string name = path.string();
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if (!exists && (errno != ENOENT || !path.has_filename())) fail(name, errno);
  if (exists && S_ISDIR(old.st_mode)) fail(name, EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    // A pipe or a device, as /dev/stdout may be, is not replaced: it gets the bytes as they come.
    Descriptor file(path, O_WRONLY);
    if (!file.is_open()) fail(name, errno);
    write_filter(state, [&](std::span<const std::byte> bytes) { write_all(file, bytes, name); });
    if (!file.close()) fail(name, errno);
    return;
  }
  // What is protected from writing is not replaced either, although its folder would allow it.
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail(name, errno);
  Replacement replacement(path, exists ? &old : nullptr);
  write_filter(state, [&](std::span<const std::byte> bytes) { replacement.write(bytes); });
  replacement.commit();
}

Filter load(const fs::path& path) { return read_filter(FileSource(path)); }

std::vector<std::byte> to_bytes(const Filter& filter) {
  const Filter::State& state = FilterAccess::state(filter);
  std::vector<std::byte> all;
  all.reserve(static_cast<std::size_t>(header_of(state).file_bytes()));
  write_filter(state, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

Filter from_bytes(std::span<const std::byte> bytes) {
  return read_filter(ByteSource("bytes", bytes));
}

MappedFilter::MappedFilter(Filter&& filter) noexcept : Filter(std::move(filter)) {}

MappedFilter MappedFilter::open(const fs::path& path) {
  // The header is read, not mapped: what was judged here is what is used later.
  const FileSource source(path);
  const FileHeader header = read_header(source);
  return MappedFilter(make_filter(header, Storage::map(source.descriptor(), source.size(), path),
                                  kHeaderBytes, path));
}

namespace {

ByteSource mapped_bytes(const Filter& filter) {
  const Filter::State& state = FilterAccess::state(filter);
  return ByteSource(state.path.string(), state.storage.bytes());
}

}  // namespace

Filter MappedFilter::snapshot() const { return read_filter(mapped_bytes(*this)); }

void MappedFilter::verify() const {
  const ByteSource source = mapped_bytes(*this);
  const FileHeader header = read_header(source);
  const auto checksums =
      source.at(header.checksums_offset(), static_cast<std::size_t>(header.checksums_bytes()));
  check_content(source.name(), header, checksums, [&](std::uint64_t i) {
    return source.at(FileHeader::section_offset(i), header.section_bytes(i));
  });
}

}  // namespace nestline
