// HLO files that rows of a set name: each read, parsed and copied to kernels/ once.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "measured/importers/set_writer.h"

namespace tilecast::measured {

class ModuleCopies {
 public:
  explicit ModuleCopies(SetWriter& writer) : writer_(writer) {}

  // `cell`: a file in or below `folder`, or FILE#KERNEL; what the set calls it. Throws Error for a
  // path that leaves the folder, a file that is no HLO, and two files of one name.
  std::string take(const std::string& folder, std::string_view cell);

 private:
  SetWriter& writer_;
  std::map<std::string, std::string> known_;  // name -> folder
};

}  // namespace tilecast::measured
