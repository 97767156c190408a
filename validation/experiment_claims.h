// What an experiment says of its table: bars, others' figures to stand beside ours, and findings of
// others to check. Plain values; the keys are in validation/experiment.h.
#pragma once

#include <string>

#include "measured/evaluation.h"
#include "measured/reference_rows.h"

namespace tilecast::validation {

enum class Statistic { kMean, kWorst };  // over seeds

// As a bar's limit: whichever other column is best on the same rows.
inline constexpr std::string_view kBestOther = "best other";

// value <= limit, value >= limit, or value < limit; the limit is a number, another column or the
// best other one, and `not_above: COLUMN, by: 1 %` is value <= that column's + margin. A stratum
// "mean over class": the value is the mean of those of the classes.
struct Bar {
  enum class Kind { kAtMost, kAtLeast, kBelow };
  measured::Metric metric = measured::Metric::kMape;
  std::string column;
  std::string stratum = "all";  // "class matmul", "set ops", "every class", "mean over kernel"
  Kind kind = Kind::kAtMost;
  double limit = 0;
  std::string limit_column = {};  // kBestOther, or empty
  double margin = 0;              // on top of the column's
  Statistic over = Statistic::kMean;
};

// A figure of others to stand beside one of our columns.
struct Published {
  std::string column;
  measured::Metric metric = measured::Metric::kMape;
  measured::ReferenceRow row;
};

// A finding of others to check: over seeds, `better` has the better metric.
struct Direction {
  std::string better, than;
  measured::Metric metric = measured::Metric::kMape;
  std::string stratum = "all", finding = {};
};

}  // namespace tilecast::validation
