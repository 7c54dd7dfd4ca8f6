// What the classes have in common that answer from a file, or from bytes of somebody else.
#ifndef NESTLINE_LIB_FACES_PYTHON_MAPPED_H_
#define NESTLINE_LIB_FACES_PYTHON_MAPPED_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "lib/faces/python/members.h"

namespace nestline { inline namespace v0_3 { namespace python {

// Remembers its path, by which another process can map it, or keeps a view's memory.
template <typename T>
class MappedBox : public Box<T> {
 public:
  MappedBox(T&& mapped, std::string path, std::string verify)
      : Box<T>(std::move(mapped)), path_(std::move(path)), verify_(std::move(verify)) {}
  MappedBox(T&& mapped, Buffer&& buffer) : Box<T>(std::move(mapped)) {
    buffer_.emplace(std::move(buffer));
  }
  ~MappedBox() { end(); }

  void end() {
    this->take();
    buffer_.reset();  // not before what answers from it
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& verify() const { return verify_; }

 private:
  std::string path_, verify_;
  std::optional<Buffer> buffer_;
};

inline Verify verify_of(const std::string& verify) {
  return named<Verify>("verify", verify,
                       {{"none", Verify::none}, {"lazily", Verify::lazily}, {"all", Verify::all}});
}

template <typename Held>
std::unique_ptr<Held> mapped(py::handle file, const std::string& verify) {
  std::filesystem::path path = path_of(file);
  if (!path.empty()) path = std::filesystem::absolute(path);
  const Verify how = verify_of(verify);
  const Released released;
  return std::make_unique<Held>(Held::Value::open(path, how), path.string(), verify);
}

template <typename Held>
std::unique_ptr<Held> view_of(py::handle data, const std::string& verify) {
  const Verify how = verify_of(verify);
  Buffer buffer(data, PyBUF_SIMPLE);
  typename Held::Value view = [&] {
    const Released released;
    return Held::Value::view(std::as_bytes(std::span(buffer.text())), how);
  }();
  return std::make_unique<Held>(std::move(view), std::move(buffer));
}

template <typename Held>
void end_view(Held& held) {
  held.end();
}

template <typename Held>
py::object damage_in(Held& held) {
  const auto damage = held.shared()->damage();
  if (!damage) return py::none();
  return py::cast(std::string(damage->what()));
}

template <typename Held>
py::object path_in(const Held& held) {
  return held.path().empty() ? py::none() : path_as_text(held.path());
}

template <typename Held>
py::object place_of(Held& held) {
  if (held.path().empty()) {
    constexpr bool kHasSnapshot = requires { held.shared()->snapshot(); };
    throw py::type_error(kHasSnapshot ? "a view has no file: pickle its snapshot()"
                                      : "a view has no file: pickle the bytes of it");
  }
  return py::make_tuple(path_in(held), held.verify());
}
template <typename Held>
std::unique_ptr<Held> mapped_at(const py::object& place) {
  const auto [path, verify] = pair_in(place, "not the state of what is mapped");
  return mapped<Held>(path, py::str(verify));
}

template <typename Held>
void bind_mapped(py::class_<Held>& type, const char* view_doc) {
  using Value = typename Held::Value;
  type.def(py::init(&mapped<Held>), py::arg("path"), py::arg("verify") = "lazily");
  type.def_static("open", &mapped<Held>, py::arg("path"), py::arg("verify") = "lazily",
                  "The same as the constructor.");
  type.def_static("view", &view_of<Held>, py::arg("data"), py::arg("verify") = "lazily", view_doc);
  method(type, "verify", &unlocked<&Value::verify, false, Held>,
         "Reads and checks the whole file. FormatError for the first flaw.");
  method(type, "damage", &damage_in<Held>,
         "The first damaged section that lookups have found, as a sentence, or None.");
  bind_end<&end_view<Held>>(type, "Ends the mapping. Later calls are a ValueError.");
  type.def_property_readonly("path", &path_in<Held>, "The file's path; None of a view.");
  // What never changes is its own copy, as of a str.
  bind_state<nullptr, &place_of<Held>, &mapped_at<Held>>(type);
}

}}}  // namespace nestline::python

#endif  // NESTLINE_LIB_FACES_PYTHON_MAPPED_H_
