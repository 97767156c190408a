#include "ir/dump_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <tuple>

#include "base/error.h"

namespace tilecast::ir {
namespace {

namespace fs = std::filesystem;

// From last to first; a stage's proto ranks after its text.
constexpr std::array<std::string_view, 5> kStages = {
    "after_codegen", "after_optimizations_after_buffer_assignment", "after_optimizations",
    "after_optimizations_before_buffer_assignment", "before_optimizations"};

struct Candidate {
  DumpedModule module;
  std::size_t stage = 0;  // in kStages
  bool is_proto = false;
};

// Parses a file name; nullopt if it does not denote a module.
std::optional<Candidate> read_file_name(const fs::path& path) {
  // The number, the module's name, its change list, the target, the stage.
  static const std::regex kName(
      R"(module_(\d{1,9})(?:\.(.+?))?(?:\.cl_\d+)?\.(?:[\w.+-]*_)??)"
      R"((after_codegen|(?:after|before)_optimizations(?:_(?:after|before)_buffer_assignment)?))"
      R"((\.txt|\.hlo|\.hlo\.pb|\.pb)(?:\.gz)?)");
  const std::string file = path.filename().string();
  std::smatch match;
  constexpr std::size_t kLongestName = 255;  // std::regex recurses per character
  if (file.size() > kLongestName || !std::regex_match(file, match, kName)) return {};
  Candidate found{{path.string(), match[2], 0, match[3]}, 0, match[4].str().ends_with("pb")};
  const std::string digits = match[1];
  std::from_chars(digits.data(), digits.data() + digits.size(), found.module.id);
  const auto* stage = std::find(kStages.begin(), kStages.end(), found.module.stage);
  if (stage == kStages.end()) return {};
  found.stage = static_cast<std::size_t>(stage - kStages.begin());
  return found;
}

}  // namespace

DumpFolder read_dump_folder(const std::string& folder) {
  std::error_code failure;
  std::vector<std::string> paths;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    if (at->is_regular_file(failure)) paths.push_back(at->path().string());
  }
  if (failure) throw Error(fmt::format("{}: cannot read: {}", folder, failure.message()));
  std::sort(paths.begin(), paths.end());

  std::map<std::pair<int, std::string>, Candidate> best;
  bool any_after = false;
  for (const std::string& path : paths) {
    const std::optional<Candidate> found = read_file_name(path);
    if (!found) continue;
    any_after = any_after || found->stage + 1 < kStages.size();
    const auto [kept, is_new] = best.try_emplace({found->module.id, found->module.name}, *found);
    const auto rank = [](const Candidate& c) { return std::tuple(c.stage, c.is_proto); };
    if (!is_new && rank(*found) < rank(kept->second)) kept->second = *found;
  }

  DumpFolder dump;
  for (auto& [key, found] : best) {
    const bool after = found.stage + 1 < kStages.size();
    if (after == any_after) dump.modules.push_back(std::move(found.module));
  }
  if (dump.modules.empty()) {
    throw Error(
        fmt::format("{}: no modules; expects what XLA_FLAGS=--xla_dump_to=DIR writes, for example "
                    "module_0001.jit_f.after_optimizations.txt",
                    folder));
  }
  for (std::string& path : paths) {
    const bool chosen = std::any_of(dump.modules.begin(), dump.modules.end(),
                                    [&](const DumpedModule& m) { return m.path == path; });
    if (!chosen) dump.others.push_back(std::move(path));
  }
  return dump;
}

}  // namespace tilecast::ir
