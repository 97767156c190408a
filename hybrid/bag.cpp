#include "hybrid/bag.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilecast::hybrid {

Bag::Bag(learned::FeatureSelection selection, base::Lazy<Members> members)
    : selection_(std::move(selection)), features_(selection_), members_(std::move(members)) {}

void Bag::ask(std::span<const analytical::KernelQuery> queries, const hwdesc::Device& device,
              learned::Priors priors, std::span<Opinion> out) const {
  std::ranges::fill(out, Opinion{});
  if (members_->empty()) return;
  thread_local std::vector<float> rows;
  rows.resize(queries.size() * features_.width());
  std::vector<analytical::KernelQuery> stated;
  features_.extract(learned::with_tiles(queries, priors, stated), device, priors, rows);
  ask_rows(rows, out);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (!priors[i]) out[i] = {};
  }
}

void Bag::ask_rows(std::span<const float> rows, std::span<Opinion> out) const {
  std::ranges::fill(out, Opinion{});
  if (members_->empty()) return;
  thread_local std::vector<float> said;
  said.resize(out.size());
  for (const learned::GbtModel& member : *members_) {
    member.predict(rows, said);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto value = static_cast<double>(said[i]);
      out[i].mean += value;
      out[i].deviation += value * value;
    }
  }
  const auto n = static_cast<double>(members_->size());
  for (Opinion& opinion : out) {
    opinion.mean /= n;
    opinion.deviation =
        std::sqrt(std::max(0.0, opinion.deviation / n - opinion.mean * opinion.mean));
  }
}

std::vector<Driver> Bag::effects(const analytical::KernelQuery& query, const hwdesc::Device& device,
                                 learned::Priors priors, std::size_t most) const {
  if (members_->empty()) return {};
  const std::size_t width = features_.width();
  std::vector<float> row(width);
  const analytical::KernelQuery stated = analytical::with_tile_of(priors.front(), query);
  features_.extract({&stated, 1}, device, priors, row);
  std::vector<float> rows;  // the full row, then one row per missing feature
  for (std::size_t column = 0; column <= width; ++column) {
    rows.insert(rows.end(), row.begin(), row.end());
    if (column > 0) {
      rows[column * width + column - 1] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  std::vector<Opinion> said(width + 1);
  ask_rows(rows, said);
  std::vector<Driver> effects;
  for (std::size_t column = 0; column < width; ++column) {
    const double effect = said[0].mean - said[column + 1].mean;
    if (effect == 0 || std::isnan(row[column])) continue;
    effects.push_back(
        {features_.schema().columns[column].name, static_cast<double>(row[column]), effect});
  }
  std::ranges::stable_sort(effects, std::ranges::greater{},
                           [](const auto& each) { return std::abs(each.effect); });
  if (effects.size() > most) effects.resize(most);
  return effects;
}

}  // namespace tilecast::hybrid
