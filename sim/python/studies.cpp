#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/jobs.h"
#include "sim/calibration.h"
#include "sim/evaluation_request.h"
#include "sim/python/bindings.h"
#include "sim/quantity_evaluation.h"
#include "sim/study/study_front.h"
#include "sim/study/study_run.h"
#include "sim/training.h"
#include "sim/views/calibration.h"
#include "sim/views/evaluation.h"
#include "sim/views/quantities.h"

namespace tilecast::sim::python {
namespace {

using Texts = std::vector<std::string>;

// The output of a call as the command prints it: text, JSON and, for evaluations, all rows (CSV).
struct Answer {
  std::string text, json, rows = {};
};

// Checks for Ctrl-C in the calling thread, which does not hold the GIL.
bool interrupted() {
  const py::gil_scoped_acquire held;
  return PyErr_CheckSignals() != 0;  // the Python exception stays set
}

[[noreturn]] void raise_interrupt() {
  const py::gil_scoped_acquire held;
  throw py::error_already_set();
}

Answer evaluate_named(const Texts& sets, const std::vector<hwdesc::Device>& devices,
                      const Texts& models, const Texts& by, bool doubted,
                      const measured::BootstrapOptions& bootstrap, int jobs) {
  if (std::ranges::any_of(models, predicts_quantity)) {
    if (devices.size() > 1) throw Error("devices: got several; models of quantities take one");
    const QuantityEvaluation of = evaluate_quantity(sets, devices.front(), models, jobs);
    return {views::quantity_evaluation_text(of.report, of.notes),
            views::quantity_evaluation_json(of.report, of.notes)};
  }
  EvaluateSetsOptions options;
  options.evaluation = {.by = named_breakdowns(by), .bootstrap = bootstrap, .jobs = jobs};
  options.check_physics = !doubted;
  const EvaluationReport report =
      evaluate_sets(sets, devices, named_columns(models, devices), options);
  return {views::evaluation_text(report), views::evaluation_json(report),
          views::evaluation_rows_csv(report)};
}

Answer run_evaluate(const Texts& sets, const std::vector<hwdesc::Device>& devices,
                    const Texts& models, const Texts& by, bool doubted, int draws,
                    std::uint64_t seed, int jobs) {
  constexpr int kMostDraws = 100'000;
  if (draws < 1 || draws > kMostDraws) {
    throw Error(fmt::format("draws: got {}, expected 1 to {}", draws, kMostDraws));
  }
  if (sets.empty() || devices.empty()) throw Error("expected at least one set and one device");
  return evaluate_named(sets, devices, models, by, doubted, {.draws = draws, .seed = seed}, jobs);
}

struct Calibration {
  Answer answer;
  bool accepted = false;
  Texts notes;
  std::string yaml;  // "": refused, or no file given
};

struct CalibrationFiles {
  std::string parent, file, name, then_train;
  bool force = false;
};

Calibration run_calibrate(const CalibrationRequest& request, const CalibrationFiles& files) {
  Calibration result;
  CalibrationHooks hooks;
  hooks.note = [&](const std::string& note) { result.notes.push_back(note); };
  if (!files.then_train.empty()) check_model_folder(files.then_train, files.force);
  const hybrid::PreparedFit fit = calibrate_device(request, hooks);
  if (!files.file.empty()) {
    result.yaml = calibrated_description(fit, files.parent, files.file, files.name);
  }
  std::optional<hybrid::FittedHybrid> trained;
  if (!files.then_train.empty()) {
    trained = train_calibrated(fit, files.then_train, {.force = files.force, .jobs = request.jobs});
  }
  const hybrid::FittedHybrid* model = trained ? &*trained : nullptr;
  result.answer = {views::calibration_text(fit, model), views::calibration_json(fit, model)};
  result.accepted = fit.calibrated.front().accepted;
  return result;
}

Answer run_train(const TrainingRequest& request) {
  const TrainedModel made = train_module().train(request, {});
  return {made.text, made.json};
}

struct SweepFiles {
  std::string study, journal, pareto;
  bool resume = false, front = false;
};

measured::CsvTable run_sweep(const SweepFiles& files, int jobs) {
  if (files.resume && files.journal.empty()) throw Error("resume: expected a journal");
  if (files.front && !files.pareto.empty()) throw Error("pareto and front: expected one of them");
  const Study study = load_study(files.study);
  const auto objectives = front_objectives(study, files.pareto, files.front);
  const StudyRun run(study);
  const base::JobResults done =
      base::run_jobs({.count = run.points(),
                      .run = [&run](std::size_t point) { return run.rows(point); },
                      .threads = jobs,
                      .journal = files.journal,
                      .identity = run.identity(),
                      .resume = files.resume,
                      .stop = interrupted});
  if (!done.complete) raise_interrupt();
  const measured::CsvTable table = run.table(done.results);
  return objectives.empty() ? table : pareto_rows(study, table, objectives);
}

void check_jobs(int jobs) {
  constexpr int kMostJobs = 1024;
  if (jobs < 1 || jobs > kMostJobs) {
    throw Error(fmt::format("jobs: got {}, expected 1 to {}", jobs, kMostJobs));
  }
}

void bind_answers(py::module_& m) {
  py::class_<Answer>(m, "_Answer")
      .def("text", [](const Answer& answer) { return answer.text; })
      .def("json", [](const Answer& answer) { return answer.json; })
      .def("rows", [](const Answer& answer) {
        return columns_of(measured::read_csv(base::SourceText("rows", answer.rows)));
      });
  py::class_<Calibration>(m, "_Calibration")
      .def_readonly("answer", &Calibration::answer)
      .def_readonly("accepted", &Calibration::accepted)
      .def_readonly("notes", &Calibration::notes)
      .def_readonly("yaml", &Calibration::yaml);
}

void bind_calibrate(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  m.def(
      "_calibrate",
      [](const Texts& sets, const hwdesc::Device& device, const std::string& parent,
         const std::string& file, const std::string& name, const Texts& classes,
         const Texts& kernels, const Texts& fix, std::size_t rows, bool other_machine,
         bool accept_suspicious, const std::string& then_train, bool force, int jobs) {
        check_jobs(jobs);
        if (rows < hybrid::kLeastRows) {
          throw Error(fmt::format("rows: got {}, expected at least {}", rows, hybrid::kLeastRows));
        }
        if (sets.empty()) throw Error("expected at least one set");
        return run_calibrate({.sets = sets,
                              .device = device,
                              .classes = classes,
                              .kernels = kernels,
                              .fixed = fix,
                              .other_machine = other_machine,
                              .accept_suspicious = accept_suspicious,
                              .most_rows = rows,
                              .jobs = jobs},
                             {parent, file, name, then_train, force});
      },
      Released());
}

}  // namespace

void bind_studies(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  bind_answers(m);
  bind_calibrate(m);
  m.def(
      "_evaluate",
      [](const Texts& sets, const std::vector<hwdesc::Device>& devices, const Texts& models,
         const Texts& by, bool doubted, int draws, std::uint64_t seed, int jobs) {
        check_jobs(jobs);
        return run_evaluate(sets, devices, models, by, doubted, draws, seed, jobs);
      },
      Released());
  m.def(
      "_train",
      [](const std::string& experiment, const std::string& out, const std::string& learner,
         const std::string& data, bool force, bool resume, int jobs) {
        check_jobs(jobs);
        return run_train({experiment, learner, out, data, force, resume, jobs});
      },
      Released());
  m.def(
      "_sweep",
      [](const std::string& study, const std::string& pareto, bool front,
         const std::string& journal, bool resume, int jobs) {
        check_jobs(jobs);
        return columns_of(run_sweep({study, journal, pareto, resume, front}, jobs));
      },
      Released());
}

}  // namespace tilecast::sim::python
