#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "learned/model_dir.h"

namespace tilecast::learned {
namespace {

constexpr std::size_t kMostListed = 20;

// Text of others in a table or list: one line, no cell ends.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    shown.push_back(cell(names[i]));
  }
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kMostListed) text += fmt::format(" and {} more", names.size() - kMostListed);
  return text;
}

void append_data(std::string& text, const ModelCard& card) {
  text += "\n## Data\n\n";
  if (card.data.empty()) text += "Not recorded.\n";
  if (!card.data.empty()) {
    text +=
        "| set | device | rows trained | validated | tested | licence | content |\n"
        "|---|---|---:|---:|---:|---|---|\n";
  }
  for (const ModelData& data : card.data) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(data.name), cell(data.device),
                    data.train, data.validation, data.test, cell(data.licence), cell(data.hash));
  }
  if (!card.split.empty()) text += fmt::format("\nSplit: {}.\n", cell(card.split));
}

void append_metrics(std::string& text, const ModelCard& card) {
  text += "\n## On the test rows\n\n";
  if (card.metrics.empty()) {
    text += "Not evaluated.\n";
    return;
  }
  text += "| metric | n | model | analytical |\n|---|---:|---:|---:|\n";
  for (const ModelMetric& metric : card.metrics) {
    const std::string baseline =
        metric.baseline ? fmt::format("{:.4g}", *metric.baseline) : std::string("-");
    text += fmt::format("| {} | {} | {:.4g} | {} |\n", cell(metric.metric), metric.n, metric.value,
                        baseline);
  }
}

void append_limits(std::string& text, const ModelCard& card) {
  text += "\n## Limits\n\n";
  text +=
      fmt::format("- {} of these classes only: {}.\n",
                  card.hybrid ? "Corrects kernels" : "Answers kernels", listed(card.op_classes));
  text += fmt::format("- Trained on {}; elsewhere it {}.\n", listed(card.devices),
                      card.hybrid ? "is mostly physics" : "extrapolates");
  text += fmt::format("- Families seen in training: {}.\n", listed(card.families));
  if (card.ranks_only) {
    text += "- Orders the tiles of one kernel; its numbers are no times.\n";
  }
}

}  // namespace

std::string card_markdown(const ModelCard& card) {
  std::string text = fmt::format("# {}\n\nKind: {}. Seed {}. Trained in {:.3g} s", cell(card.name),
                                 cell(card.kind), card.seed, card.training_seconds);
  text += card.created.empty() ? ".\n" : fmt::format(", {}.\n", cell(card.created));
  if (card.hybrid) {
    text +=
        "\nA hybrid: analytical times, corrected near what was measured (domain.csv, "
        "trust.yaml).\n";
  }
  append_data(text, card);
  append_metrics(text, card);
  append_limits(text, card);
  text += "\n## Settings\n\n";
  for (const auto& [key, value] : card.settings) {
    text += fmt::format("- {}: {}\n", cell(key), cell(value));
  }
  text += "\n## Versions\n\n";
  for (const auto& [library, version] : card.versions) {
    text += fmt::format("- {} {}\n", cell(library), cell(version));
  }
  return text;
}

}  // namespace tilecast::learned
