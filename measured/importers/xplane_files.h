// The files of a profile as TensorBoard lays them out: LOGDIR/plugins/profile/RUN/HOST.xplane.pb.
#pragma once

#include <string>
#include <vector>

namespace tilecast::measured {

// A file is itself; a folder stands for all hosts of its newest run (by the run's name, which is
// its time). Throws Error where there is none.
[[nodiscard]] std::vector<std::string> xplane_files(const std::vector<std::string>& paths);

}  // namespace tilecast::measured
