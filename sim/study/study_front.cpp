#include "sim/study/study_front.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace tilecast::sim {

std::vector<StudyObjective> named_objectives(const std::string& columns) {
  std::vector<StudyObjective> objectives;
  std::size_t begin = 0;
  while (begin <= columns.size()) {
    const std::size_t end = std::min(columns.find(',', begin), columns.size());
    std::string name(base::trim(std::string_view(columns).substr(begin, end - begin)));
    const bool larger = name.starts_with('-');
    if (larger) name.erase(0, 1);
    objectives.push_back({std::move(name), larger});
    begin = end + 1;
  }
  return objectives;
}

std::vector<StudyObjective> front_objectives(const Study& study, const std::string& pareto,
                                             bool front) {
  std::vector<StudyObjective> objectives;
  if (!pareto.empty()) objectives = named_objectives(pareto);
  if (front) objectives = study.objectives;
  if (front && objectives.empty()) {
    throw UsageError(fmt::format("{}: --front: the study has no objectives", study.file));
  }
  for (const StudyObjective& objective : objectives) check_objective(study, objective);
  return objectives;
}

}  // namespace tilecast::sim
