#include "learned/training/quantity_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace tilecast::learned {
namespace {

using Rows = std::vector<std::size_t>;

QuantityStratum stratum_of(const std::string& name, const Examples& examples, const Rows& rows,
                           const std::vector<QuantityColumn>& columns, double range) {
  const std::vector<double> values = quantity_values(examples);
  QuantityStratum stratum{.name = name, .rows = rows.size(), .scores = {}};
  std::set<std::uint32_t> works;
  for (const std::size_t row : rows) works.insert(examples.rows[row].kernel);
  stratum.works = works.size();
  for (const QuantityColumn& column : columns) {
    std::vector<measured::QuantityPair> pairs;
    for (const std::size_t row : rows) pairs.push_back({column.answers.at(row), values[row]});
    stratum.scores.push_back(measured::quantity_scores(pairs, range, examples.target.count));
  }
  return stratum;
}

}  // namespace

std::vector<double> quantity_values(const Examples& examples) {
  std::vector<double> values;
  for (const Example& row : examples.rows) values.push_back(unscaled(examples.target, row.target));
  return values;
}

std::vector<double> quantity_answers(const Predictor& predictor, const Examples& examples) {
  TC_CHECK(predictor.target().quantity == examples.target.quantity, "rows of another quantity");
  std::vector<double> answers(examples.rows.size());
  Rows all(answers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const auto& [first, end] : device_runs(examples, all, all.size())) {
    const auto part = [first = first, count = end - first](const auto& values) {
      return values.empty() ? std::span(values) : std::span(values).subspan(first, count);
    };
    predictor.predict(part(examples.queries), *examples.rows[first].device, part(examples.priors),
                      std::span(answers).subspan(first, end - first));
  }
  return answers;
}

QuantityReport quantity_report(const Examples& examples,
                               const std::vector<QuantityColumn>& columns) {
  QuantityReport report{.target = examples.target, .columns = {}, .strata = {}};
  for (const QuantityColumn& column : columns) report.columns.push_back(column.name);
  Rows answered;
  std::map<std::string, Rows> classes;
  const std::vector<double> values = quantity_values(examples);
  std::vector<measured::QuantityPair> pairs;
  for (std::size_t row = 0; row < examples.rows.size(); ++row) {
    const bool by_all = std::ranges::all_of(
        columns, [&](const QuantityColumn& c) { return std::isfinite(c.answers.at(row)); });
    if (!by_all) {
      ++report.unanswered;
      continue;
    }
    answered.push_back(row);
    pairs.push_back({values[row], values[row]});
    classes[measured::op_class(examples.queries[row].kernel)].push_back(row);
  }
  const double range = measured::measured_range(pairs);
  report.strata.push_back(stratum_of("all", examples, answered, columns, range));
  if (classes.size() < 2) return report;
  for (const auto& [name, rows] : classes) {
    report.strata.push_back(stratum_of(name, examples, rows, columns, range));
  }
  return report;
}

}  // namespace tilecast::learned
