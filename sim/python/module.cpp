#include "base/error.h"
#include "sim/program_numbers.h"
#include "sim/python/bindings.h"
#include "sim/views/explain.h"
#include "sim/views/simulation.h"

namespace tilecast::sim::python {
namespace {

template <class Function>
py::array_t<double> numbers(const Simulation& run, const Function& of) {
  py::array_t<double> out(static_cast<py::ssize_t>(run.kernels.size()));
  auto cells = out.mutable_unchecked<1>();
  for (std::size_t i = 0; i < run.kernels.size(); ++i) {
    cells(static_cast<py::ssize_t>(i)) = of(run.kernels[i]);
  }
  return out;
}

template <class Function>
py::list texts(const Simulation& run, const Function& of) {
  py::list out;
  for (const SimulatedKernel& kernel : run.kernels) out.append(of(kernel));
  return out;
}

// A row per kernel; seconds, bytes and FLOPs of one launch.
py::dict columns(const Simulation& run) {
  using Kernel = const SimulatedKernel&;
  py::dict out;
  out["name"] = texts(run, [](Kernel k) { return py::str(k.name); });
  out["opcode"] = texts(run, [](Kernel k) { return py::str(std::string(ir::name(k.opcode))); });
  out["launches"] = numbers(run, [](Kernel k) { return k.multiplicity; });
  out["time_s"] = numbers(run, [](Kernel k) { return k.estimate->time.value; });
  out["total_s"] = numbers(run, [](Kernel k) { return k.total().value; });
  out["start_s"] = numbers(run, [](Kernel k) { return k.start.value; });
  out["end_s"] = numbers(run, [](Kernel k) { return k.end.value; });
  out["bound"] = texts(
      run, [](Kernel k) { return py::str(std::string(analytical::name(k.estimate->bound))); });
  out["utilisation"] = numbers(run, [](Kernel k) { return k.estimate->utilisation; });
  out["flops"] = numbers(run, [](Kernel k) { return k.estimate->flops.value; });
  out["hbm_read_bytes"] = numbers(run, [](Kernel k) { return k.estimate->hbm_read.value; });
  out["hbm_write_bytes"] = numbers(run, [](Kernel k) { return k.estimate->hbm_write.value; });
  out["tile"] = texts(run, [](Kernel k) { return py::str(to_string(k.estimate->tile)); });
  return out;
}

std::optional<std::pair<double, double>> interval(const Simulation& run) {
  if (!run.interval) return std::nullopt;
  return std::pair(run.interval->low, run.interval->high);
}

// Shares of time_s by the weight of corrections; None where nothing was corrected.
std::optional<py::dict> believed(const Simulation& run) {
  const auto shares = belief_shares(run);
  if (!shares) return std::nullopt;
  const auto part = [&](const BeliefShare& share) {
    return run.time.value > 0 ? share.time / run.time : 0.0;
  };
  py::dict out;
  out["above_half"] = part(shares->most);
  out["up_to_half"] = part(shares->some);
  out["physics_alone"] = part(shares->none);
  return out;
}

std::vector<std::string> notes(const Simulation& run) {
  std::vector<std::string> out;
  for (const ir::Note& note : run.notes) out.push_back(note.what);
  return out;
}

// Energy and memory, of which the device or the program says something.
py::dict other_numbers(const Simulation& run) {
  py::dict out;
  for (const auto& numbers : {energy_numbers(), memory_numbers()}) {
    for (const ProgramNumber& number : numbers) {
      if (const auto value = number.of(run)) out[py::str(std::string(number.name))] = *value;
    }
  }
  return out;
}

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

void bind_simulation(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<Simulation>(m, "_Simulation")
      .def_readonly("program", &Simulation::program)
      .def_readonly("file", &Simulation::file)
      .def_readonly("device", &Simulation::device)
      .def_readonly("model", &Simulation::model)
      .def_property_readonly("time_s", [](const Simulation& run) { return run.time.value; })
      .def_property_readonly("timeline_s", [](const Simulation& run) { return run.timeline.value; })
      .def_property_readonly("host_dispatch_s",
                             [](const Simulation& run) { return run.host_dispatch.value; })
      .def_property_readonly("interval_s", &interval)
      .def_property_readonly("believed", &believed)
      .def_property_readonly("notes", &notes)
      .def_property_readonly("numbers", &other_numbers)
      .def("columns", &columns)
      .def("text", [](const Simulation& run) { return views::table(run); })
      .def("json", [](const Simulation& run) {
        return views::json({&run, 1});
      });
  m.def("_simulate", &run_program, Released());
  py::class_<Explanation>(m, "_Explanation")
      .def_readonly("kernel", &Explanation::kernel)
      .def_property_readonly("time_s",
                             [](const Explanation& why) { return why.estimate.time.value; })
      .def_readonly("infeasible", &Explanation::infeasible)
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
