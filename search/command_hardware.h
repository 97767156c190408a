// Hardware for a search that runs a user's shell command, for example on another machine.
//
//   CommandHardware there({"ssh board run {hlo} {tiles}", Seconds{60}});
//
// The answer is the last line of its output that is a time ("12.3 us", or a number of seconds). The
// command must check results itself and fail if they are wrong.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/units.h"
#include "search/hardware.h"

namespace tilecast::search {

struct Command {
  std::string text;
  Seconds timeout;
};
// Runs the command once. `placeholders`: text to replace and its replacement, e.g. {"{tile}",
// "out=2x26"}. A failure reports how the command ended and the end of its output.
using Placeholders = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] HardwareTime time_by(const Command& command, const Placeholders& placeholders);

// {hlo} and {tiles} are replaced by file names: the fused program as HLO text, and its tiles as
// written by search::text_of().
class CommandHardware final : public Hardware {
 public:
  explicit CommandHardware(Command command) : command_(std::move(command)) {}
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;

 private:
  Command command_;
};

}  // namespace tilecast::search
