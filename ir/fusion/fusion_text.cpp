// The file format of fusion configurations: FusionSpace::text_of() and read().
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/text.h"
#include "ir/fusion/fusion_space.h"

namespace tilecast::ir {
namespace {

constexpr std::string_view kFormat = "tilecast.fusion/1";

std::string place(const FusionDecision& decision) {
  return fmt::format("{}:{}>{}", decision.computation.index(), decision.array.index(),
                     decision.reader.index());
}

template <class Names>
std::size_t index_of(const Names& names, std::string_view word) {
  return static_cast<std::size_t>(std::ranges::find(names, word) - std::begin(names));
}

// The words of a line up to `#`, with their offsets in the text.
struct Line {
  std::vector<std::string_view> words;
  std::size_t offset = 0;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view rest = text.substr(start, end - start);
    rest = rest.substr(0, rest.find('#'));
    Line line{{}, start};
    while (true) {
      const std::size_t from = rest.find_first_not_of(" \t\r");
      if (from == std::string_view::npos) break;
      rest.remove_prefix(from);
      const std::size_t length = std::min(rest.find_first_of(" \t\r"), rest.size());
      line.words.push_back(rest.substr(0, length));
      rest.remove_prefix(length);
    }
    if (!line.words.empty()) lines.push_back(std::move(line));
    start = end + 1;
  }
  return lines;
}

}  // namespace

std::string FusionSpace::name_of(const FusionDecision& decision) const {
  const Computation& computation = module_.at(decision.computation);
  return fmt::format("{} > {}", computation.at(decision.array).name,
                     computation.at(decision.reader).name);
}

std::string FusionSpace::text_of(const FusionConfiguration& chosen) const {
  std::string text =
      fmt::format("{} {} {} decisions\n", kFormat, program_hash(), decisions_.size());
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    if (chosen[i] == FusionChoice::kRule) continue;
    const FusionDecision& decision = decisions_[i];
    text += fmt::format("{} {} {}  # {}\n", kFusionChoices[static_cast<std::size_t>(chosen[i])],
                        kFusionSteps[static_cast<std::size_t>(decision.step)], place(decision),
                        name_of(decision));
  }
  return text;
}

FusionConfiguration FusionSpace::read(const base::SourceText& text) const {
  const std::vector<Line> lines = lines_of(text.text());
  const auto fail = [&](const Line& line, const std::string& what) -> Error {
    return Error(text.describe(line.offset, what));
  };
  if (lines.empty() || lines.front().words.front() != kFormat) {
    throw Error(
        fmt::format("{}: no fusion configuration; expected a first line that begins with "
                    "'{}'",
                    text.file(), kFormat));
  }
  const auto& head = lines.front().words;
  if (head.size() < 2 || head[1] != program_hash()) {
    throw fail(lines.front(),
               fmt::format("made for another program; got {}, expected {} ({}); names may change, "
                           "what is computed may not",
                           head.size() < 2 ? "nothing" : head[1], program_hash(), module_.name));
  }
  std::map<std::pair<std::string, std::string_view>, std::size_t> known;
  for (std::size_t i = 0; i < decisions_.size(); ++i) {
    const auto step = kFusionSteps[static_cast<std::size_t>(decisions_[i].step)];
    known.emplace(std::pair(place(decisions_[i]), step), i);
  }
  FusionConfiguration chosen = by_rules();
  std::vector<bool> seen(decisions_.size(), false);
  for (const Line& line : std::span(lines).subspan(1)) {
    if (line.words.size() != 3) {
      throw fail(line, "expected CHOICE STEP COMPUTATION:ARRAY>READER, as in keep into 0:17>23");
    }
    const std::size_t choice = index_of(kFusionChoices, line.words[0]);
    if (choice == std::size(kFusionChoices)) {
      throw fail(line, fmt::format("no choice is called '{}'; expected rule, keep or fuse",
                                   line.words[0]));
    }
    const auto found = known.find(std::pair(std::string(line.words[2]), line.words[1]));
    if (found == known.end()) {
      throw fail(line,
                 fmt::format("the program has no decision '{} {}'", line.words[1], line.words[2]));
    }
    if (seen[found->second]) throw fail(line, "this decision stands in the file twice");
    seen[found->second] = true;
    chosen[found->second] = static_cast<FusionChoice>(choice);
  }
  return chosen;
}

}  // namespace tilecast::ir
