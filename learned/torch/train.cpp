#include "learned/torch/train.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/error.h"
#include "learned/torch/checkpoint.h"
#include "learned/torch/sampler.h"

namespace tilecast::learned::torch_module {
namespace {

// Graphs per prediction bucket: enough to make the overhead of operations small.
constexpr std::size_t kPredictedTogether = 256;
// Separates the random stream of dropout from that of draws.
constexpr std::uint64_t kDropoutStream = 0x64726f70;

class Trainer {
 public:
  Trainer(const NetworkSpec& spec, const NetworkWidths& widths, const TrainingSpec& training,
          std::span<const GraphExample> train, std::span<const GraphExample> validation,
          const TrainingHooks& hooks)
      : widths_(widths),
        training_(training),
        train_(train),
        validation_(validation),
        hooks_(hooks),
        sampler_(train, training, pads(spec.reduction)),
        network_(std::make_unique<Network>(spec, widths, training.seed)),
        adam_(network_->parameters(), training.weight_decay, training.clip) {
    if (hooks.checkpoint.empty()) return;
    so_far_.fingerprint = fingerprint(spec, widths, training, train, validation);
    resume();
  }

  std::unique_ptr<Network> run() && {
    bool goes_on = report_history();
    for (int epoch = done() + 1; goes_on && !over() && !stale(); ++epoch) {
      const double mean = run_epoch(epoch);
      keep(epoch, mean);
      if (!hooks_.checkpoint.empty()) save();
      if (hooks_.epoch) goes_on = hooks_.epoch(so_far_.history.back());
    }
    if (so_far_.best_epoch != 0) load_weights(*network_, so_far_.best_weights);
    return std::move(network_);
  }

 private:
  [[nodiscard]] int done() const { return static_cast<int>(so_far_.history.size()); }
  [[nodiscard]] int steps() const { return static_cast<int>(adam_.state().steps); }
  [[nodiscard]] bool over() const {
    return training_.steps > 0 ? steps() >= training_.steps : done() >= training_.epochs;
  }
  [[nodiscard]] bool stale() const {
    return training_.patience > 0 && so_far_.best_epoch != 0 &&
           done() - so_far_.best_epoch >= training_.patience;
  }

  [[nodiscard]] double learning_rate(int epoch) const;
  [[noreturn]] void not_finite(std::string_view what, int epoch) const {
    throw Error(
        fmt::format("train: the {} is not finite in epoch {} at a learning rate of {}; "
                    "lower learning_rate{}",
                    what, epoch, learning_rate(epoch), training_.clip > 0 ? "" : " or set clip"));
  }

  void resume();
  bool report_history() const;
  double run_epoch(int epoch);
  double step(const Rows& rows, double rate, torch::Generator& dropout);
  void keep(int epoch, double mean);
  void save();
  [[nodiscard]] double seconds() const {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    return seconds_before_ + passed.count();
  }

  NetworkWidths widths_;
  TrainingSpec training_;
  std::span<const GraphExample> train_, validation_;
  const TrainingHooks& hooks_;
  Sampler sampler_;
  std::unique_ptr<Network> network_;
  Adam adam_;
  Checkpoint so_far_;  // weights and moments are only set while it is saved
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double seconds_before_ = 0;  // training time of the runs before
};

void Trainer::resume() {
  std::optional<Checkpoint> found = load_checkpoint(hooks_.checkpoint, so_far_.fingerprint);
  if (!found) return;
  const std::size_t weights = adam_.state().mean.size();
  if (found->adam.mean.size() != weights || found->adam.square.size() != weights) {
    throw Error(fmt::format("{}: corrupted checkpoint; got {} moments, expected {}",
                            hooks_.checkpoint, found->adam.mean.size(), weights));
  }
  so_far_ = std::move(*found);
  if (training_.steps == 0 && done() > training_.epochs) {
    throw Error(
        fmt::format("{}: checkpoint of a longer training; got {} epochs, expected at most "
                    "{}; remove the file to train anew",
                    hooks_.checkpoint, done(), training_.epochs));
  }
  load_weights(*network_, so_far_.weights);
  adam_.restore(std::move(so_far_.adam));
  if (!so_far_.history.empty()) seconds_before_ = so_far_.history.back().seconds;
}

// False if the hook stops the training here.
bool Trainer::report_history() const {
  bool goes_on = true;
  if (!hooks_.epoch) return goes_on;
  for (const EpochReport& report : so_far_.history) goes_on = hooks_.epoch(report);
  return goes_on;
}

double Trainer::learning_rate(int epoch) const {
  double rate = training_.learning_rate * std::pow(training_.decay, epoch - 1);
  if (training_.plateau == 0 || so_far_.best_epoch == 0) return rate;
  double best = std::numeric_limits<double>::infinity();
  int waited = 0;
  for (const EpochReport& report : so_far_.history) {
    if (report.epoch >= epoch) break;
    if (report.validation < best * (1 - training_.plateau_gain)) {
      best = report.validation;
      waited = 0;
    } else if (++waited >= training_.plateau) {
      rate *= training_.plateau_decay;
      waited = 0;
    }
  }
  return std::max(rate, std::min(training_.least_rate, training_.learning_rate));
}

// Runs an epoch; returns the mean loss of its batches.
double Trainer::run_epoch(int epoch) {
  const double rate = learning_rate(epoch);
  torch::Generator dropout = torch::make_generator<at::CPUGeneratorImpl>(
      mix(mix(training_.seed, kDropoutStream), static_cast<std::uint64_t>(epoch)));
  double sum = 0, rows = 0;
  for (const Rows& batch : sampler_.epoch(epoch)) {
    const double value = step(batch, rate, dropout);
    if (!std::isfinite(value)) not_finite("loss or its gradient", epoch);
    sum += value * static_cast<double>(batch.size());
    rows += static_cast<double>(batch.size());
    if (training_.steps > 0 && over()) break;
  }
  return sum / rows;
}

// Returns the loss, or a non-finite number if the loss or its gradient is not finite.
double Trainer::step(const Rows& rows, double rate, torch::Generator& dropout) {
  std::vector<GraphInput> inputs;
  std::vector<float> targets, margins, weights;
  std::vector<std::int64_t> kernels;
  for (const std::uint32_t row : rows) {
    const GraphExample& example = train_[row];
    inputs.push_back(example.input);
    targets.push_back(example.target);
    margins.push_back(example.margin);
    kernels.push_back(example.kernel);
    if (!sampler_.weights().empty()) weights.push_back(sampler_.weights()[row]);
  }
  const torch::Tensor predicted = network_->forward(make_batch(inputs, widths_), &dropout);
  const torch::Tensor objective =
      loss(training_, predicted + torch::tensor(margins), torch::tensor(targets),
           torch::tensor(kernels), weights.empty() ? torch::Tensor() : torch::tensor(weights));
  const auto value = static_cast<double>(objective.item<float>());
  if (!std::isfinite(value)) return value;
  objective.backward();
  const double norm = adam_.step(rate);
  return std::isfinite(norm) ? value : norm;
}

void Trainer::keep(int epoch, double mean) {
  std::vector<GraphInput> inputs;
  for (const GraphExample& example : validation_) inputs.push_back(example.input);
  std::vector<float> predicted(inputs.size());
  predict_network(*network_, widths_, inputs, predicted);
  for (std::size_t i = 0; i < predicted.size(); ++i) predicted[i] += validation_[i].margin;
  const std::optional<double> error = validation_error(training_, validation_, predicted);
  if (error && !std::isfinite(*error)) not_finite("validation", epoch);
  EpochReport report{
      .epoch = epoch, .steps = steps(), .loss = mean, .validation = error.value_or(0)};
  const bool is_first = so_far_.best_epoch == 0;
  report.best = so_far_.history.empty() ? report.validation : so_far_.history.back().best;
  if (error && (is_first || *error < report.best)) {
    report.best = *error;
    so_far_.best_epoch = epoch;
    so_far_.best_weights = save_weights(*network_);
  }
  report.seconds = seconds();
  so_far_.history.push_back(report);
}

void Trainer::save() {
  so_far_.weights = save_weights(*network_);
  so_far_.adam = adam_.state();
  save_checkpoint(hooks_.checkpoint, so_far_);
}

std::map<std::uint32_t, Rows> by_kernel(std::span<const GraphExample> examples) {
  std::map<std::uint32_t, Rows> kernels;
  for (std::uint32_t row = 0; row < examples.size(); ++row) {
    kernels[examples[row].kernel].push_back(row);
  }
  return kernels;
}

struct ErrorSum {
  double sum = 0, count = 0;  // count: sum of weights, if rows have any

  [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
};

double row_error(const TrainingSpec& training, double error) {
  const double size = std::abs(error);
  switch (training.loss) {
    case NetworkLoss::kQuantile:
      return error < 0 ? training.quantile * size : (1 - training.quantile) * size;
    case NetworkLoss::kHuber:
      return size <= 1 ? size * size / 2 : size - 0.5;
    default:
      return error * error;
  }
}

ErrorSum row_errors(const TrainingSpec& training, const Rows& rows,
                    std::span<const GraphExample> examples, std::span<const float> predicted) {
  ErrorSum errors;
  for (const std::uint32_t row : rows) {
    const double error = static_cast<double>(predicted[row]) - examples[row].target;
    errors.sum += examples[row].weight * row_error(training, error);
    errors.count += examples[row].weight;
  }
  return errors;
}

// Misordered pairs, and all pairs.
ErrorSum misplaced_pairs(const Rows& rows, std::span<const GraphExample> examples,
                         std::span<const float> predicted) {
  ErrorSum errors;
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      const float measured = examples[rows[a]].target - examples[rows[b]].target;
      if (measured == 0) continue;
      const float difference = predicted[rows[a]] - predicted[rows[b]];
      if (difference == 0) {
        errors.sum += 0.5;
      } else if ((difference > 0) != (measured > 0)) {
        errors.sum += 1;
      }
      ++errors.count;
    }
  }
  return errors;
}

// OpenBLAS, which is libblas.so.3 on Debian if installed; nullptr if it is not loaded.
void* openblas() {
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  return library;
}

template <class Function>
Function* openblas_function(const char* name) {
  return openblas() == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(openblas(), name));
}

}  // namespace

std::unique_ptr<Network> train_network(const NetworkSpec& spec, const NetworkWidths& widths,
                                       const TrainingSpec& training,
                                       std::span<const GraphExample> train,
                                       std::span<const GraphExample> validation,
                                       const TrainingHooks& hooks) {
  return Trainer(spec, widths, training, train, validation, hooks).run();
}

void predict_network(Network& network, const NetworkWidths& widths,
                     std::span<const GraphInput> inputs, std::span<float> out) {
  TC_CHECK(inputs.size() == out.size(), "one prediction per input");
  const torch::NoGradGuard no_gradients;
  std::vector<std::size_t> nodes;
  for (const GraphInput& input : inputs) nodes.push_back(input.graph->nodes());
  for (const Rows& rows : buckets(nodes, kPredictedTogether, network.nodes_together())) {
    std::vector<GraphInput> bucket;
    for (const std::uint32_t row : rows) bucket.push_back(inputs[row]);
    const torch::Tensor predicted = network.forward(make_batch(bucket, widths)).contiguous();
    const float* values = predicted.data_ptr<float>();
    for (std::size_t i = 0; i < rows.size(); ++i) out[rows[i]] = values[i];
  }
}

std::optional<double> validation_error(const TrainingSpec& training,
                                       std::span<const GraphExample> examples,
                                       std::span<const float> predicted) {
  TC_CHECK(examples.size() == predicted.size(), "one prediction per example");
  const double rank_weight = ranks(training.loss) ? training.rank_weight : 0;
  ErrorSum of_rows, of_pairs;
  // `whole`: the kernel's weight, if all kernels weigh the same.
  const auto add = [&](ErrorSum& sum, const ErrorSum& of_kernel, double whole) {
    if (of_kernel.count == 0) return;
    const double divisor = training.weigh_kernels ? whole : 1;
    sum.sum += of_kernel.sum / divisor;
    sum.count += of_kernel.count / divisor;
  };
  for (const auto& [kernel, rows] : by_kernel(examples)) {
    const ErrorSum pairs =
        rank_weight > 0 ? misplaced_pairs(rows, examples, predicted) : ErrorSum{};
    add(of_pairs, pairs, pairs.count);
    add(of_rows, row_errors(training, rows, examples, predicted), static_cast<double>(rows.size()));
  }
  if ((rank_weight == 1 ? of_pairs : of_rows).count == 0) return std::nullopt;
  const bool is_square =
      training.loss != NetworkLoss::kQuantile && training.loss != NetworkLoss::kHuber;
  const double of_row = is_square ? std::sqrt(of_rows.mean()) : of_rows.mean();
  return rank_weight * of_pairs.mean() + (1 - rank_weight) * of_row;
}

void set_threads(int threads) {
  at::set_num_threads(threads);
  if (auto* set = openblas_function<void(int)>("openblas_set_num_threads")) set(threads);
}

std::string blas_name() {
  if (openblas() != nullptr) return "OpenBLAS";
  Dl_info info;
  void* const multiply = dlsym(RTLD_DEFAULT, "sgemm_");
  if (multiply != nullptr && dladdr(multiply, &info) != 0 && info.dli_fname != nullptr) {
    const std::string path = info.dli_fname;
    if (path.find("libblas.so") == std::string::npos) return path.substr(path.rfind('/') + 1);
  }
  return "reference BLAS: slow, install libopenblas0-pthread";
}

namespace {

// slower[p] and faster[p] are rows of one kernel; `share` is a pair's weight in the mean.
struct Pairs {
  std::vector<std::int64_t> slower, faster;
  std::vector<double> share;
};

std::vector<double> numbers(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kDouble).contiguous();
  const double* begin = flat.data_ptr<double>();
  return {begin, begin + flat.numel()};
}

// Appends the pairs among `rows`; returns their number.
std::size_t add_pairs(Pairs& pairs, std::span<const std::int64_t> rows,
                      const std::vector<double>& target) {
  const std::size_t before = pairs.slower.size();
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = a + 1; b < rows.size(); ++b) {
      const double difference =
          target[static_cast<std::size_t>(rows[a])] - target[static_cast<std::size_t>(rows[b])];
      if (difference == 0) continue;
      pairs.slower.push_back(difference > 0 ? rows[a] : rows[b]);
      pairs.faster.push_back(difference > 0 ? rows[b] : rows[a]);
    }
  }
  return pairs.slower.size() - before;
}

Pairs pairs_of(const torch::Tensor& target, const torch::Tensor& kernel,
               const torch::Tensor& weights) {
  const std::vector<double> times = numbers(target);
  const std::vector<double> weight = weights.defined() ? numbers(weights) : std::vector<double>{};
  const torch::Tensor kernels = kernel.contiguous();
  const std::int64_t* name = kernels.data_ptr<std::int64_t>();
  std::vector<std::int64_t> rows(times.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::ranges::stable_sort(rows, {}, [&](std::int64_t row) { return name[row]; });

  Pairs pairs;
  std::size_t ranked = 0;  // kernels with a pair
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    double sum = 0;
    for (end = first; end < rows.size() && name[rows[end]] == name[rows[first]]; ++end) {
      if (!weight.empty()) sum += weight[static_cast<std::size_t>(rows[end])];
    }
    const std::size_t added = add_pairs(pairs, std::span(rows).subspan(first, end - first), times);
    if (added == 0) continue;
    ++ranked;
    const double mean = sum / static_cast<double>(end - first);
    pairs.share.insert(pairs.share.end(), added, mean / static_cast<double>(added));
  }
  const auto count = static_cast<double>(pairs.slower.size());
  for (double& share : pairs.share) {
    share = weight.empty() ? 1 / count : share / static_cast<double>(ranked);
  }
  return pairs;
}

torch::Tensor rank_loss(NetworkLoss kind, const torch::Tensor& predicted,
                        const torch::Tensor& target, const torch::Tensor& kernel,
                        const torch::Tensor& weights) {
  const Pairs pairs = pairs_of(target, kernel, weights);
  if (pairs.slower.empty()) return predicted.sum() * 0;
  const torch::Tensor slower = torch::tensor(pairs.slower), faster = torch::tensor(pairs.faster);
  const auto difference = [&](const torch::Tensor& of) {
    return of.index_select(0, slower) - of.index_select(0, faster);
  };
  const torch::Tensor margin = difference(predicted);
  const torch::Tensor phi = kind == NetworkLoss::kRankHinge ? torch::relu(1 - margin)
                            : kind == NetworkLoss::kRankLogistic
                                ? torch::softplus(-margin)
                                : torch::relu(difference(target) - margin).square() / 2;
  return phi.dot(torch::tensor(pairs.share, torch::kDouble).to(predicted.dtype()));
}

torch::Tensor row_losses(const TrainingSpec& training, const torch::Tensor& predicted,
                         const torch::Tensor& target) {
  switch (training.loss) {
    case NetworkLoss::kHuber:
      return torch::huber_loss(predicted, target, at::Reduction::None, /*delta=*/1);
    case NetworkLoss::kQuantile: {
      const torch::Tensor above = target - predicted;
      return torch::maximum(training.quantile * above, (training.quantile - 1) * above);
    }
    default:
      return (predicted - target).square();
  }
}

}  // namespace

torch::Tensor loss(const TrainingSpec& training, const torch::Tensor& predicted,
                   const torch::Tensor& target, const torch::Tensor& kernel,
                   const torch::Tensor& weights) {
  TC_CHECK(predicted.dim() == 1 && predicted.sizes() == target.sizes(), "one target per row");
  TC_CHECK(predicted.numel() > 0, "a mean needs a row");
  const double rank_weight = ranks(training.loss) ? training.rank_weight : 0;
  torch::Tensor sum = predicted.new_zeros({});
  if (rank_weight > 0) {
    sum = sum + rank_weight * rank_loss(training.loss, predicted, target, kernel, weights);
  }
  if (rank_weight < 1) {
    const torch::Tensor each = row_losses(training, predicted, target);
    sum = sum + (1 - rank_weight) * (weights.defined() ? (each * weights).mean() : each.mean());
  }
  return sum;
}

}  // namespace tilecast::learned::torch_module
