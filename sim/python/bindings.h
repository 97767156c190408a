// Shared by the sources of the Python module. The GIL is released during computations.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measured/csv.h"
#include "sim/answers.h"

namespace tilecast::sim::python {

namespace py = pybind11;

// A program as read; it is split into kernels once a device is given.
struct ReadProgram {
  ir::LoadedModule module;
  ir::LoadOptions load;
};
[[nodiscard]] PlacedProgram placed_on(const ReadProgram& program, const hwdesc::Device& device);

void bind_devices(py::module_& m);  // Error, Device, Program, Model
void bind_tables(py::module_& m);   // tiles and operators
void bind_studies(py::module_& m);  // evaluations, calibrations, trainings and sweeps

// A table by columns, in the form that Python passes and receives.
using Columns = std::vector<std::pair<std::string, std::vector<std::string>>>;
[[nodiscard]] Columns columns_of(const measured::CsvTable& table);

}  // namespace tilecast::sim::python
