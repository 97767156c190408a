#include "sim/python/bindings.h"
#include "sim/views/explain.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::python {
namespace {

Simulation run_program(const ReadProgram& program, const hwdesc::Device& device,
                       const ChosenModel& model, bool skip_unknown) {
  const UnknownOp unknown = skip_unknown ? UnknownOp::kSkip : UnknownOp::kError;
  return simulate(placed_on(program, device), model, {.unknown_op = unknown, .contents = true});
}

Explanation run_explain(const ReadProgram& program, const hwdesc::Device& device,
                        const ChosenModel& model, const std::string& kernel,
                        const std::string& tile, std::size_t top) {
  analytical::TileConfig given;
  if (!tile.empty()) given = analytical::parse_tile(tile);
  return explain(placed_on(program, device), kernel, model, tile.empty() ? nullptr : &given, top);
}

// Python reads their numbers from the JSON (tilecast/__init__.py).
void bind_simulation(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<Simulation>(m, "_Simulation")
      .def("text", [](const Simulation& run) { return views::table(run); })
      .def("json", [](const Simulation& run) {
        return views::json({&run, 1});
      });
  m.def("_simulate", &run_program, Released());
  py::class_<Explanation>(m, "_Explanation")
      .def("text", &views::explain_text)
      .def("json", &views::explain_json);
  m.def("_explain", &run_explain, Released());
}

}  // namespace
}  // namespace tilecast::sim::python

PYBIND11_MODULE(_tilecast, m) {
  tilecast::sim::python::bind_devices(m);
  tilecast::sim::python::bind_simulation(m);
  tilecast::sim::python::bind_tables(m);
  tilecast::sim::python::bind_studies(m);
}
