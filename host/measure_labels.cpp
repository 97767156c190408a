#include "host/measure_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/parallel.h"
#include "ir/text/hlo_printer.h"

namespace tilecast::host {
namespace {

constexpr std::size_t kFilesPerCompiler = 2;  // of a wave, after which rows are written
constexpr std::string_view kParallel = "#pragma GCC ivdep\n";

Seconds clock_now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds{now.count()};
}

// What came of one file's items.
struct LabelledItems {
  std::vector<LabelledRow> rows;
  std::vector<SkippedRow> skipped;
};

// One file of the plan, on one thread.
class LabelFile {
 public:
  LabelFile(const hwdesc::Device& device, const LabelBench& bench, const LabelOptions& options)
      : device_(device), bench_(bench), options_(options) {}

  [[nodiscard]] LabelledItems make(std::span<const WorkItem> items) const {
    LabelledItems made;
    std::vector<Written> written;
    for (std::size_t i = 0; i < items.size(); ++i) write(items[i], i, written, made);
    label(written, made);
    return made;
  }

 private:
  // An item as C: a function for each way to unroll it.
  struct Written {
    const WorkItem* item = nullptr;
    std::vector<std::string> functions;
    std::string source;
  };

  void write(const WorkItem& item, std::size_t number, std::vector<Written>& written,
             LabelledItems& made) const {
    if (std::string why = not_readable(*item.workload, device_); !why.empty()) {
      made.skipped.push_back({&item, "not readable", std::move(why)});
      return;
    }
    Written result{.item = &item, .functions = {}, .source = {}};
    for (const int factor : options_.unroll) {
      result.functions.push_back(fmt::format("kernel_{}_{}", number, factor));
      auto code = bench_.generate(item.workload->kernel, item.tile, result.functions.back());
      if (const auto* unsupported = std::get_if<Unsupported>(&code)) {
        made.skipped.push_back({&item, "unsupported", unsupported->reason});
        return;
      }
      result.source += unrolled(std::get<CKernel>(std::move(code)).source, factor);
    }
    written.push_back(std::move(result));
  }

  // One kernel the compiler cannot take must not cost those beside it.
  void label(std::span<const Written> written, LabelledItems& made) const {
    if (written.empty()) return;
    std::string source(c_prelude());
    std::vector<std::string> functions;
    for (const Written& each : written) {
      source += each.source;
      functions.insert(functions.end(), each.functions.begin(), each.functions.end());
    }
    LabelledFile file = bench_.label(source, functions);
    if (!file.error.empty() && written.size() == 1) {
      made.skipped.push_back({written.front().item, "compile error", std::move(file.error)});
    } else if (!file.error.empty()) {
      for (std::size_t i = 0; i < written.size(); ++i) label(written.subspan(i, 1), made);
    } else {
      TC_CHECK(file.kernels.size() == functions.size(), "labels of every function");
      std::size_t next = 0;
      for (const Written& each : written) {
        for (const int factor : options_.unroll) {
          made.rows.push_back({each.item, factor, std::move(file.kernels[next++])});
        }
      }
    }
  }

  const hwdesc::Device& device_;
  const LabelBench& bench_;
  const LabelOptions& options_;
};

class LabelSession {
 public:
  LabelSession(std::span<const WorkItem> plan, const hwdesc::Device& device, GrowingSet& set,
               const LabelBench& bench, const LabelOptions& options, const SessionEvents& events)
      : plan_(plan),
        set_(set),
        options_(options),
        events_(events),
        file_(device, bench, options),
        start_(clock_now()) {
    report_.planned = plan.size() * options.unroll.size();
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
  [[nodiscard]] bool is_known(const WorkItem& item, int factor) const {
    return set_.holds(label_key(item, factor)) ||
           set_.holds(work_key(item.workload->hash, item.tile));
  }
  // Counts what the set holds of the file; whether that is all.
  bool count_known(std::span<const WorkItem> file) {
    std::size_t known = 0;
    for (const WorkItem& item : file) {
      for (const int factor : options_.unroll) known += is_known(item, factor) ? 1 : 0;
    }
    report_.known += known;
    settled_ += known;
    return known == file.size() * options_.unroll.size();
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
      std::erase_if(items.rows,
                    [&](const LabelledRow& row) { return is_known(*row.item, row.unroll); });
      std::erase_if(items.skipped, [&](const SkippedRow& row) {
        return set_.holds(work_key(row.item->workload->hash, row.item->tile));
      });
      for (const LabelledRow& row : items.rows) {
        const Workload& workload = *row.item->workload;
        set_.add_kernel(workload.hash, ir::print_hlo(workload.module));
      }
      set_.append(items.rows, items.skipped);
      report_.measured += items.rows.size();
      for (const SkippedRow& row : items.skipped) {
        report_.skipped[row.reason] += options_.unroll.size();
      }
      settled_ += items.rows.size() + items.skipped.size() * options_.unroll.size();
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

std::string unrolled(std::string source, int factor) {
  if (factor <= 1) return source;
  const std::string pragma = fmt::format("#pragma GCC unroll {}\n", factor);
  for (std::size_t at = source.find(kParallel); at != std::string::npos;
       at = source.find(kParallel, at)) {
    at += kParallel.size();
    source.insert(at, pragma);
    at += pragma.size();
  }
  return source;
}

SessionReport make_labels(std::span<const WorkItem> plan, const hwdesc::Device& device,
                          GrowingSet& set, const LabelBench& bench, const LabelOptions& options,
                          const SessionEvents& events) {
  TC_CHECK(!options.unroll.empty(), "one way to unroll at least");
  return LabelSession(plan, device, set, bench, options, events).run();
}

}  // namespace tilecast::host
