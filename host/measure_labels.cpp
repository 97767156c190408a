#include "host/measure_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::host {
namespace {

constexpr std::size_t kFilesPerCompiler = 2;  // files per compiler between writes of rows

Seconds clock_now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds{now.count()};
}

// Results of one file's items.
struct LabelledItems {
  std::vector<LabelledRow> rows;
  std::vector<SkippedRow> skipped;
};

// Labels one file of the plan, on one thread.
class LabelFile {
 public:
  LabelFile(const hwdesc::Device& device, const LabelBench& bench)
      : device_(device), bench_(bench) {}

  [[nodiscard]] LabelledItems make(std::span<const WorkItem> items) const {
    LabelledItems made;
    std::vector<Written> written;
    for (std::size_t i = 0; i < items.size(); ++i) write(items[i], i, written, made);
    label(written, made);
    return made;
  }

 private:
  struct Written {
    const WorkItem* item = nullptr;
    std::string function, source;
  };

  void write(const WorkItem& item, std::size_t number, std::vector<Written>& written,
             LabelledItems& made) const {
    if (std::string why = not_readable(*item.workload, device_); !why.empty()) {
      made.skipped.push_back({&item, "not readable", std::move(why)});
      return;
    }
    std::string function = fmt::format("kernel_{}", number);
    auto code = bench_.generate(item.workload->kernel, item.tile, function);
    if (const auto* unsupported = std::get_if<Unsupported>(&code)) {
      made.skipped.push_back({&item, "unsupported", unsupported->reason});
      return;
    }
    std::string source = unrolled(std::get<CKernel>(std::move(code)).source, item.unroll);
    written.push_back({&item, std::move(function), std::move(source)});
  }

  // A kernel that does not compile must not fail the others in its file.
  void label(std::span<const Written> written, LabelledItems& made) const {
    if (written.empty()) return;
    std::string source(c_prelude());
    std::vector<std::string> functions;
    for (const Written& each : written) {
      source += each.source;
      functions.push_back(each.function);
    }
    LabelledFile file = bench_.label(source, functions);
    if (!file.error.empty() && written.size() == 1) {
      made.skipped.push_back({written.front().item, "compile error", std::move(file.error)});
    } else if (!file.error.empty()) {
      for (std::size_t i = 0; i < written.size(); ++i) label(written.subspan(i, 1), made);
    } else {
      TC_CHECK(file.kernels.size() == functions.size(), "labels of every function");
      for (std::size_t i = 0; i < written.size(); ++i) {
        made.rows.push_back({written[i].item, std::move(file.kernels[i])});
      }
    }
  }

  const hwdesc::Device& device_;
  const LabelBench& bench_;
};

class LabelSession {
 public:
  LabelSession(std::span<const WorkItem> plan, const hwdesc::Device& device, GrowingSet& set,
               const LabelBench& bench, const LabelOptions& options, const SessionEvents& events)
      : plan_(plan),
        set_(set),
        options_(options),
        events_(events),
        file_(device, bench),
        start_(clock_now()) {
    report_.planned = plan.size();
  }

  SessionReport run() {
    const std::size_t per_file = std::max<std::size_t>(options_.kernels_per_file, 1);
    const std::size_t wave =
        kFilesPerCompiler * static_cast<std::size_t>(std::max(options_.jobs, 1));
    std::vector<std::span<const WorkItem>> files;
    for (std::size_t first = 0; first < plan_.size(); first += per_file) {
      const auto file = plan_.subspan(first, std::min(per_file, plan_.size() - first));
      if (count_known(file)) continue;
      files.push_back(file);
      if (files.size() < wave) continue;
      if (must_end()) return finish();
      make(files);
      files.clear();
    }
    if (!files.empty() && !must_end()) make(files);
    return finish();
  }

 private:
  [[nodiscard]] bool is_known(const WorkItem* item) const { return set_.holds(item->key()); }
  // Counts the file's items that the set has; returns whether it has all.
  bool count_known(std::span<const WorkItem> file) {
    const auto known = static_cast<std::size_t>(
        std::ranges::count_if(file, [&](const WorkItem& item) { return is_known(&item); }));
    report_.known += known;
    settled_ += known;
    return known == file.size();
  }

  bool must_end() {
    if (events_.stop()) {
      report_.end = SessionEnd::kStopped;
    } else if (options_.budget && clock_now() - start_ >= *options_.budget) {
      report_.end = SessionEnd::kOutOfTime;
    }
    return report_.end != SessionEnd::kFinished;
  }

  void make(std::span<const std::span<const WorkItem>> files) {
    std::vector<LabelledItems> made(files.size());
    base::parallel_for(files.size(), options_.jobs,
                       [&](std::size_t i) { made[i] = file_.make(files[i]); });
    for (LabelledItems& items : made) {
      const auto before = [&](const auto& row) { return is_known(row.item); };
      std::erase_if(items.rows, before);
      std::erase_if(items.skipped, before);
      for (const LabelledRow& row : items.rows) {
        const Workload& workload = *row.item->workload;
        set_.add_kernel(workload.hash, ir::print_hlo(workload.module));
      }
      set_.append(items.rows, items.skipped);
      report_.measured += items.rows.size();
      for (const SkippedRow& row : items.skipped) ++report_.skipped[row.reason];
      settled_ += items.rows.size() + items.skipped.size();
    }
    events_.progress(settled_, std::nullopt);
  }

  SessionReport finish() {
    report_.compiling = clock_now() - start_;
    return report_;
  }

  std::span<const WorkItem> plan_;
  GrowingSet& set_;
  const LabelOptions& options_;
  const SessionEvents& events_;
  LabelFile file_;
  Seconds start_;
  std::size_t settled_ = 0;
  SessionReport report_;
};

}  // namespace

SessionReport make_labels(std::span<const WorkItem> plan, const hwdesc::Device& device,
                          GrowingSet& set, const LabelBench& bench, const LabelOptions& options,
                          const SessionEvents& events) {
  return LabelSession(plan, device, set, bench, options, events).run();
}

}  // namespace tilecast::host
