// A measurement set of matmuls with tiles whose times follow a formula, for tests of learners.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "analytical/analytical_model.h"
#include "hwdesc/config_reader.h"
#include "hwdesc/device_yaml.h"
#include "learned/training/learner.h"
#include "tests/measured/set_on_disk.h"

namespace tilecast::learned {

class SyntheticSet {
 public:
  // `kernels` matmuls, each with `tiles` tiles. Deterministic.
  explicit SyntheticSet(int kernels = 24, int tiles = 4) {
    disk_.write_manifest(
        "dtype: bf16\nquantities: {registers: {unit: registers, count: yes}, balance: {unit: "
        "steps}}\n");
    std::string table = "op,m,n,k,runtime_ns,output_bounds,family,q_registers,q_balance\n";
    std::mt19937_64 engine(7);
    for (int i = 0; i < kernels; ++i) {
      const auto size = [&] { return 128 << (engine() % 6); };
      const int m = size() + 8 * i, n = size(), k = size();
      for (int tile = 1; tile <= tiles; ++tile) {
        table += fmt::format("matmul,{},{},{},{},{} {},family{},{},{}\n", m, n, k,
                             time_ns(m, n, k, tile), tile, 1 + tile % 2, i % 5, registers(n, tile),
                             i == 1 ? "" : fmt::format("{}", tile - 2));
      }
    }
    disk_.write("measurements.csv", table);
    devices_.push_back(hwdesc::load_device("tpu_v3"));
    sets_.push_back(measured::make_samples(measured::read_measurement_set(disk_.path()),
                                           devices_.front(), {.check_physics = false}));
  }

  [[nodiscard]] static double time_ns(double m, double n, double k, int tile) {
    return 2000 + 2 * m * n * k / 40e3 * (1 + 0.5 / tile);
  }
  // Value of the quantity registers, a count. The quantity balance is negative for tile 1 and
  // absent for kernel 1.
  [[nodiscard]] static double registers(double n, int tile) {
    return std::round(2 * tile + std::log2(n));
  }
  [[nodiscard]] Examples examples(bool with_priors = false, int jobs = 1,
                                  const Target& target = {}) const {
    static const analytical::AnalyticalModel kPhysics;
    return make_examples(sets_, devices_, kPhysics, with_priors, jobs, target);
  }
  [[nodiscard]] const measured::SampleSet& samples() const { return sets_.front(); }
  [[nodiscard]] const hwdesc::Device& device() const { return devices_.front(); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return disk_.path() + "/" + name;
  }

 private:
  measured::SetOnDisk disk_;
  std::vector<hwdesc::Device> devices_;
  std::vector<measured::SampleSet> sets_;
};

inline LearnerSpec learner(const std::string& yaml) {
  return read_learner(hwdesc::read_config(yaml, "learner.yaml"));
}
inline LearnerSpec small_trees(const std::string& more = {}, int trees = 60) {
  return learner(
      fmt::format("name: trees\nmodel: xgboost\nfeatures: [static, ops, shape, tile]\ntrees: {}\n"
                  "depth: 4\nlearning_rate: 0.2\nsubsample: 1\ncolumn_sample: 1\n{}",
                  trees, more));
}

inline std::vector<double> predictions(const Predictor& predictor, const Examples& examples,
                                       const hwdesc::Device& device) {
  std::vector<double> out(examples.queries.size());
  predictor.predict(examples.queries, device, examples.priors, out);
  return out;
}

inline double rmse(const std::vector<double>& predicted, const Examples& examples) {
  double sum = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    sum += std::pow(predicted[i] - examples.rows[i].target, 2);
  }
  return std::sqrt(sum / static_cast<double>(predicted.size()));
}

}  // namespace tilecast::learned
