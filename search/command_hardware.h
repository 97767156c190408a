// A shell command as hardware of a search: what a user has to run programs, or tiles, elsewhere.
//
//   CommandHardware there({"ssh board run {hlo} {tiles}", Seconds{60}});
//
// The last line of what it prints that is a time ("12.3 us", or a number of seconds) is the answer.
// Whether results are right is for the command to say: it fails where they are not.
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
// `placeholders`: what stands for what in the text, as {"{tile}", "out=2x26"}. The failure says how
// it ended, and the end of what it printed.
using Placeholders = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] HardwareTime time_by(const Command& command, const Placeholders& placeholders);

// {hlo} and {tiles} stand for files: the fused program as HLO text; the tiles it has, as
// search::text_of() writes them.
class CommandHardware final : public Hardware {
 public:
  explicit CommandHardware(Command command) : command_(std::move(command)) {}
  [[nodiscard]] std::vector<HardwareTime> time(std::span<const HardwareJob> jobs) override;

 private:
  Command command_;
};

}  // namespace tilecast::search
