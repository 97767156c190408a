// Finds the files of a profile in TensorBoard's layout: LOGDIR/plugins/profile/RUN/HOST.xplane.pb.
#pragma once

#include <string>
#include <vector>

namespace tilecast::measured {

// The path of a file stands for itself, that of a folder for all hosts of its newest run (by run
// name, which is a time stamp). Throws Error if there are none.
[[nodiscard]] std::vector<std::string> xplane_files(const std::vector<std::string>& paths);

}  // namespace tilecast::measured
