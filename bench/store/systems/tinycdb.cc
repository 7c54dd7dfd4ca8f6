// tinycdb: a constant database, written once by settle() and then read through a map.
#include <cdb.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/store/systems/system.h"

namespace nestline::bench {
namespace {

void check(bool fine) {
  if (!fine) throw std::runtime_error(std::string("tinycdb: ") + std::strerror(errno));
}

class TinyCdbReader final : public Reader {
 public:
  explicit TinyCdbReader(const cdb& mapped) : mapped_(mapped) {}  // a copy: it has a position
  bool get(std::string_view key, Taken& taken) override {
    const int found = cdb_find(&mapped_, key.data(), static_cast<unsigned>(key.size()));
    check(found >= 0);
    if (found == 0) return false;
    const auto* value = static_cast<const char*>(cdb_getdata(&mapped_));
    check(value != nullptr);
    taken.look_at({value, cdb_datalen(&mapped_)});
    return true;
  }

 private:
  cdb mapped_;
};

class TinyCdb final : public Database {
 public:
  explicit TinyCdb(const Opening& opening) : path_(opening.folder / "records.cdb") {
    mapped_.cdb_fd = -1;
    if (std::filesystem::exists(path_)) {
      map();
      return;
    }
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    check(file_ >= 0 && cdb_make_start(&maker_, file_) == 0);
  }
  ~TinyCdb() override {
    if (mapped_.cdb_fd >= 0) cdb_free(&mapped_);
    if (file_ >= 0) ::close(file_);
  }
  std::unique_ptr<Reader> reader() override { return std::make_unique<TinyCdbReader>(mapped_); }
  void put(std::string_view key, std::string_view value) override {
    check(cdb_make_add(&maker_, key.data(), static_cast<unsigned>(key.size()), value.data(),
                       static_cast<unsigned>(value.size())) == 0);
  }
  void erase(std::string_view) override {
    throw std::runtime_error("tinycdb: a constant database");
  }
  void settle() override {
    check(cdb_make_finish(&maker_) == 0);
    ::close(file_);
    map();
  }

 private:
  void map() {
    file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    check(file_ >= 0 && cdb_init(&mapped_, file_) == 0);
  }

  std::filesystem::path path_;
  int file_ = -1;
  cdb_make maker_{};
  cdb mapped_{};
};

}  // namespace

System tinycdb_system() {
  return {"tinycdb", "mmap", "mapped, built once", false,
          [](const Opening& opening) -> std::unique_ptr<Database> {
            return std::make_unique<TinyCdb>(opening);
          }};
}

}  // namespace nestline::bench
