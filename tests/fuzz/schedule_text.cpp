// parse_loops(to_text(p)) is p.
#include "schedule/text.h"
#include "tests/fuzz/targets.h"

void tilecast::fuzz::schedule_text(Bytes bytes) {
  answer_or_error([&] {
    const auto program = schedule::parse_loops(base::SourceText("fuzz.loops", std::string(bytes)));
    const std::string once = schedule::to_text(program);
    try {
      const auto again = schedule::parse_loops(base::SourceText("printed.loops", once));
      if (schedule::to_text(again) != once) broken("printed twice differs:\n" + once);
    } catch (const Error& error) {
      broken(std::string("printed schedule is refused: ") + error.what() + "\n" + once);
    }
  });
}
