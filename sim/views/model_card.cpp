#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/views/evaluation.h"

namespace tilecast::sim::views {
namespace {

using measured::Metric;
using measured::Stratum;

// Others' text for a Markdown table: removes bars and line ends.
std::string cell(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text.empty() ? "-" : text;
}

std::string line(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& text : cells) out += " " + cell(text) + " |";
  return out + "\n";
}

std::string table_head(const std::vector<std::string>& titles) {
  std::string rule = "|";
  for (std::size_t i = 0; i < titles.size(); ++i) rule += "---|";
  return line(titles) + rule + "\n";
}

std::string models(const EvaluationReport& report) {
  std::string out = "## Models\n\n" + table_head({"name", "model", "device", "calibrated on"});
  for (const ModelColumn& column : report.columns) {
    const hwdesc::Device& device = report.devices[column.device];
    const std::string& source = device.calibration.source;
    out += line({column.name, column.model, fmt::format("{}: {}", device.name, device.description),
                 source.empty() ? "nothing: as described" : source});
  }
  return out;
}

std::string splits(const measured::ScoreSheet& sheet, std::size_t set) {
  std::set<std::string> names;
  for (const measured::ScoredRow& row : sheet.rows) {
    if (row.set == set && !row.split.empty()) names.insert(row.split);
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none named" : out;
}

std::string data(const EvaluationReport& report) {
  std::string out = "\n## Data\n\n";
  out += table_head(
      {"set", "measured on", "rows", "left out", "split", "timing", "source", "licence", "hash"});
  for (std::size_t i = 0; i < report.sheet.sets.size(); ++i) {
    const measured::ScoredSet& set = report.sheet.sets[i];
    out += line({set.name, set.device, std::to_string(set.rows),
                 set.faults.empty() ? "0" : fault_summary(set.faults), splits(report.sheet, i),
                 fmt::format("{}{}{}", measured::name(set.manifest.timing),
                             set.manifest.how_timed.empty() ? "" : ": ", set.manifest.how_timed),
                 set.manifest.source, set.manifest.licence, "`" + set.hash + "`"});
  }
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) out += "- " + note + "\n";
  return out;
}

std::string of_measured(const Stratum& stratum) {
  return stratum.rows == stratum.rows_measured
             ? std::to_string(stratum.rows)
             : fmt::format("{} of {}", stratum.rows, stratum.rows_measured);
}

std::string accuracy(const EvaluationReport& report) {
  std::string out =
      "\n## Accuracy\n\nAll models on the same rows. APE is |predicted / measured - 1|; bias is "
      "the "
      "geometric mean of predicted / measured; brackets hold 95 % bootstrap intervals over works "
      "(over rows where there is one work).\n\n";
  std::vector<std::string> titles{"stratum", "n", "works", "model"};
  const std::vector<Metric> metrics = error_metrics(report.evaluation);
  for (const Metric metric : metrics) titles.push_back(metric_title(metric));
  out += table_head(titles);
  for (const Stratum& stratum : report.evaluation.strata) {
    if (repeats_all(report.evaluation, stratum)) continue;
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      std::vector<std::string> cells{stratum_title(report.evaluation, stratum),
                                     of_measured(stratum), std::to_string(stratum.works),
                                     report.columns[i].name};
      for (const Metric metric : metrics) {
        cells.push_back(metric_cell(metric, stratum.columns[i][metric]));
      }
      out += line(cells);
    }
  }
  return out;
}

std::string choice_of_tiles(const EvaluationReport& report) {
  if (report.evaluation.strata.front().kernels_with_tiles == 0) return "";
  std::string out =
      "\n## Choice of tiles\n\nWithin kernels of which at least two tiles were measured. Tile-Size "
      "APE: time lost by the tile the model chooses, over the time of the best ones (Kaufman et "
      "al., MLSys 2021, Eq. 2); top-k slowdown: of the best among the k it likes best.\n\n";
  std::vector<std::string> titles{"stratum", "kernels", "model"};
  for (const Metric metric : kRankingMetrics) titles.push_back(metric_title(metric));
  out += table_head(titles);
  for (const Stratum& stratum : report.evaluation.strata) {
    if (stratum.kernels_with_tiles == 0 || repeats_all(report.evaluation, stratum)) continue;
    for (std::size_t i = 0; i < report.columns.size(); ++i) {
      const measured::Scores& scores = stratum.columns[i];
      std::vector<std::string> cells{stratum_title(report.evaluation, stratum),
                                     std::to_string(stratum.kernels_with_tiles),
                                     report.columns[i].name};
      for (const Metric metric : kRankingMetrics) {
        cells.push_back(metric_cell(metric, scores[metric]));
      }
      if (scores.kernels_ranked == 0) cells[3] = "cannot rank";
      out += line(cells);
    }
  }
  return out;
}

std::string limits(const EvaluationReport& report) {
  std::string out =
      "\n## What these numbers are not\n\n"
      "- Not a promise for other kernels, shapes or machines: they hold for the rows above.\n"
      "- The intervals say how much the numbers would move with other works drawn like these; "
      "they hold no systematic error of the measurements, and are too narrow for few works.\n"
      "- Rows that were left out, or that one model did not answer, count for no model.\n";
  const bool calibrated = std::ranges::any_of(
      report.devices, [](const auto& device) { return !device.calibration.source.empty(); });
  if (calibrated) {
    out +=
        "- A calibrated device may have been fitted to some of these rows: only rows of a split "
        "that its provenance leaves out are held out.\n";
  }
  const bool with_dispatch = std::ranges::any_of(
      report.sheet.sets, [](const measured::ScoredSet& set) { return set.with_dispatch > 0; });
  if (with_dispatch) {
    out +=
        "- Where a time holds the host's dispatch, its error mixes the kernel's with that of an "
        "assumed dispatch.\n";
  }
  return out;
}

}  // namespace

std::string model_card(const EvaluationReport& report) {
  std::string names;
  for (const ModelColumn& column : report.columns) {
    names += (names.empty() ? "" : ", ") + column.name;
  }
  std::string out = fmt::format("# Model card: {}\n\n", names);
  out +=
      models(report) + data(report) + accuracy(report) + choice_of_tiles(report) + limits(report);
  if (!report.references.empty()) {
    out += "\n## Others' numbers\n\n" + reference_markdown(report.references);
  }
  return out;
}

}  // namespace tilecast::sim::views
