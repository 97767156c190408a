#include "measured/importers/xplane_events.h"

#include <algorithm>
#include <cmath>

namespace tilecast::measured {
namespace {

// Starts and durations are in cycles and rounded to picoseconds separately.
constexpr std::int64_t kRoundingPs = 100;

}  // namespace

void SelfTimes::add(const XplaneEvent& event) {
  window_.push_back(event);
  if (window_.size() == kWindow) drain(kWindow / 2);
}

void SelfTimes::finish() {
  drain(window_.size());
  while (!open_.empty()) close();
}

// Sorts parents before the events inside them.
void SelfTimes::drain(std::size_t count) {
  const auto before = [](const XplaneEvent& a, const XplaneEvent& b) {
    return a.start_ps != b.start_ps ? a.start_ps < b.start_ps : a.duration_ps > b.duration_ps;
  };
  if (!std::is_sorted(window_.begin(), window_.end(), before)) {
    std::stable_sort(window_.begin(), window_.end(), before);
  }
  for (std::size_t i = 0; i < count; ++i) nest(window_[i]);
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(count));
}

void SelfTimes::nest(const XplaneEvent& event) {
  const bool restarts = event.start_ps < last_start_;
  // An instruction does not run inside itself, so equal events are duplicates.
  while (!open_.empty() &&
         (restarts || event.end_ps() > open_.back().event.end_ps() + kRoundingPs ||
          event.start_ps >= open_.back().event.end_ps() || event.kind == open_.back().event.kind)) {
    close();
  }
  if (!open_.empty()) open_.back().inside_ps += event.duration_ps;
  open_.push_back({event});
  last_start_ = event.start_ps;
}

void SelfTimes::close() {
  const Open open = open_.back();
  open_.pop_back();
  emit_(open.event, std::max<std::int64_t>(open.event.duration_ps - open.inside_ps, 0));
}

void XplaneTally::add(const XplaneRunKey& program, std::uint32_t instruction,
                      const XplaneEvent& event, double picoseconds) {
  Instruction& entry = programs[program].instructions[instruction];
  entry.times.add(picoseconds, event.count);
  entry.kind = event.kind;
  entry.details = event.details;
}

void XplaneTally::add_node(const XplaneRunKey& program, int device, const XplaneEvent& event) {
  auto& nodes = programs[program].graphs[{event.instruction, device, event.graph}];
  const auto [found, is_new] = nodes.try_emplace({event.node, event.kind});
  GraphNode& node = found->second;
  if (is_new) node.start_ps = event.start_ps;
  node.times.add(static_cast<double>(event.duration_ps), event.count);
  node.kind = event.kind;
  node.details = event.details;
}

bool StreamKernels::starts_occurrence(const XplaneEvent& event) const {
  if (event.instruction != first_kernel_.instruction) return true;
  if (event.scope != 0 && first_kernel_.scope != 0) return event.scope != first_kernel_.scope;
  return event.kind == first_kernel_.kind && event.node == first_kernel_.node;
}

void StreamKernels::add(const XplaneEvent& event) {
  const XplaneRunKey program{event.program.value_or(0), event.module};
  const bool same_run = running_ && program == program_;
  if (occurring_ && (!same_run || starts_occurrence(event))) end_occurrence();
  if (!occurring_) {
    if (!same_run || event.instruction == first_instruction_) {
      end_run();
      running_ = true;
      program_ = program;
      first_instruction_ = event.instruction;
      run_start_ = event.start_ps;
    }
    occurring_ = true;
    first_kernel_ = event;
    occurrence_ps_ = longest_ps_ = 0;
  }
  if (event.in_graph) tally_.add_node(program, device_, event);
  if (event.duration_ps > longest_ps_) {
    longest_ps_ = event.duration_ps;
    first_kernel_.details = event.details;
  }
  occurrence_ps_ += event.duration_ps;
  run_end_ = std::max(run_end_, event.end_ps());
}

void StreamKernels::end_occurrence() {
  if (!occurring_) return;
  occurring_ = false;
  if (first_kernel_.in_graph) return;
  tally_.add(program_, first_kernel_.instruction, first_kernel_,
             static_cast<double>(occurrence_ps_));
}

void StreamKernels::end_run() {
  end_occurrence();
  if (running_ && run_end_ >= run_start_) {
    tally_.programs[program_].runs.add(static_cast<double>(run_end_ - run_start_));
  }
  running_ = false;
  run_end_ = 0;
}

void StreamKernels::finish() {
  end_run();
}

namespace {

constexpr double kSecondsPerPicosecond = 1e-12;
const double kBucketWidth = std::log1p(0.002);  // times in a bucket differ by at most 0.2 %

}  // namespace

void TimeSamples::put_in_bucket(double picoseconds, std::int64_t count) {
  buckets_[picoseconds > 0 ? static_cast<int>(std::floor(std::log(picoseconds) / kBucketWidth))
                           : std::numeric_limits<int>::min()] += count;
}

void TimeSamples::add(double picoseconds, std::int64_t count) {
  const double each = picoseconds / static_cast<double>(count);
  min_ = count_ == 0 ? each : std::min(min_, each);
  max_ = std::max(max_, each);
  total_ += picoseconds;
  const double weight = static_cast<double>(count), all = static_cast<double>(count_) + weight;
  const double apart = each - mean_;
  mean_ += apart * weight / all;
  squares_ += apart * apart * weight * static_cast<double>(count_) / all;
  count_ += count;
  if (buckets_.empty() && count_ <= static_cast<std::int64_t>(kExact)) {
    exact_.insert(exact_.end(), static_cast<std::size_t>(count), each);
    return;
  }
  for (const double time : exact_) put_in_bucket(time, 1);
  exact_ = {};
  put_in_bucket(each, count);
}

double TimeSamples::median() const {
  if (buckets_.empty()) {
    std::vector<double> sorted = exact_;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
  std::int64_t before = 0;
  for (const auto& [bucket, count] : buckets_) {
    before += count;
    if (2 * before >= count_) {
      return std::clamp(std::exp((bucket + 0.5) * kBucketWidth), min_, max_);
    }
  }
  return max_;
}

void TimeSamples::write_to(XplaneTimes& times) const {
  times.occurrences = count_;
  times.total = total();
  if (count_ == 0) return;
  times.median = Seconds{median() * kSecondsPerPicosecond};
  times.min = Seconds{min_ * kSecondsPerPicosecond};
  times.spread = Seconds{std::sqrt(squares_ / static_cast<double>(count_)) * kSecondsPerPicosecond};
}

Seconds TimeSamples::total() const {
  return Seconds{total_ * kSecondsPerPicosecond};
}

}  // namespace tilecast::measured
