#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ir/load_program.h"
#include "sim/python/bindings.h"

namespace tilecast::sim::python {
namespace {

// The class tilecast.Error; lives as long as the interpreter.
PyObject* error_class = nullptr;

void raise(const Error& error) {
  const ErrorPlace place = error_place(error.what());
  py::object instance = py::handle(error_class)(py::str(base::printable(error.what())));
  instance.attr("file") = place.file.empty() ? py::object(py::none()) : py::str(place.file);
  instance.attr("line") = place.line == 0 ? py::object(py::none()) : py::int_(place.line);
  instance.attr("column") = place.column == 0 ? py::object(py::none()) : py::int_(place.column);
  PyErr_SetObject(error_class, instance.ptr());
}

void bind_error(py::module_& m) {
  error_class = PyErr_NewException("tilecast.Error", PyExc_ValueError, nullptr);
  m.attr("Error") = py::reinterpret_borrow<py::object>(error_class);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

ir::LoadOptions load_options(bool fuse, double trip_count) {
  constexpr double kMaxTripCount = 1e12;
  if (!(trip_count >= 0 && trip_count <= kMaxTripCount)) {
    throw Error(fmt::format("trip_count: got {}, expected a number from 0 to {}", trip_count,
                            kMaxTripCount));
  }
  return {.fuse = fuse, .trip_count = trip_count};
}

ReadProgram read_file(const std::string& path, bool fuse, double trip_count) {
  const ir::LoadOptions load = load_options(fuse, trip_count);
  return {ir::load_module(path, load), load};
}

ReadProgram read_text(std::string text, const std::string& name, bool fuse, double trip_count) {
  const ir::LoadOptions load = load_options(fuse, trip_count);
  return {ir::load_module(base::SourceText(name, std::move(text)), load), load};
}

std::vector<std::string> kernel_names(const ReadProgram& program, const hwdesc::Device& device) {
  const PlacedProgram placed = placed_on(program, device);
  std::vector<std::string> names;
  for (const auto& scheduled : placed.built.program.kernels()) {
    names.push_back(scheduled.kernel.name());
  }
  return names;
}

}  // namespace

PlacedProgram placed_on(const ReadProgram& program, const hwdesc::Device& device) {
  return place(program.module, device, program.load);
}

void bind_devices(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  bind_error(m);
  m.def("devices", &hwdesc::preset_names, "Names of the presets.");
  py::class_<hwdesc::Device>(m, "_Device")
      .def(py::init([](const std::string& name, const std::vector<std::string>& set) {
             return hwdesc::load_device(name, device_overrides(set));
           }),
           Released())
      .def_readonly("name", &hwdesc::Device::name)
      .def("yaml", &hwdesc::print_device, Released());
  py::class_<ReadProgram>(m, "_Program")
      .def(py::init(&read_file), Released())
      .def_static("from_text", &read_text, Released())
      .def_property_readonly("file", [](const ReadProgram& p) { return p.module.file; })
      .def("kernels", &kernel_names, Released());
  py::class_<ChosenModel>(m, "_Model")
      .def(py::init([](const std::string& name, const hwdesc::Device& device) {
             return choose_model(name, {&device, 1});
           }),
           Released())
      .def_readonly("name", &ChosenModel::name)
      .def_readonly("note", &ChosenModel::note);
}

}  // namespace tilecast::sim::python
