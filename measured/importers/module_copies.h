// Copies the HLO files named in rows to the set's kernels/ folder; each is read and parsed once.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "measured/importers/set_writer.h"

namespace tilecast::measured {

class ModuleCopies {
 public:
  explicit ModuleCopies(SetWriter& writer) : writer_(writer) {}

  // `cell`: a file in or below `folder`, or FILE#KERNEL. Returns its name in the set. Throws Error
  // for a path outside the folder, a file that is not HLO, and two files with the same name.
  std::string take(const std::string& folder, std::string_view cell);

 private:
  SetWriter& writer_;
  std::map<std::string, std::string> known_;  // name -> folder
};

}  // namespace tilecast::measured
