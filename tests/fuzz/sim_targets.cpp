// Experiments, studies, requests of the server, and programs for the advice on unrolling.
#include <array>
#include <cmath>

#include "analytical/layout_rules.h"
#include "hwdesc/device_yaml.h"
#include "ir/load_program.h"
#include "sim/advice.h"
#include "sim/model_choice.h"
#include "sim/serve/answer.h"
#include "sim/study/study.h"
#include "tests/fuzz/targets.h"
#include "validation/experiment.h"

namespace tilecast::fuzz {

void experiment_yaml(Bytes bytes) {
  answer_or_error(
      [&] { (void)validation::parse_experiment(std::string(bytes), "/nowhere/fuzz.yaml"); });
}

void study_yaml(Bytes bytes) {
  answer_or_error([&] { (void)sim::read_study(std::string(bytes), "/nowhere/fuzz.yaml"); });
}

void advise(Bytes bytes) {
  static const sim::Advisor advisor(sim::shipped_folder("advice"));
  static const hwdesc::Device device = hwdesc::load_device("cpu_generic");
  constexpr std::array kFactors{1, 4};
  answer_or_error([&] {
    const ir::LoadOptions load;
    const ir::DeviceProgram built =
        ir::program_for(ir::load_module(base::SourceText("fuzz.hlo", std::string(bytes)), load),
                        analytical::layout_rules(device), load);
    for (const ir::ScheduledKernel& one : built.program.kernels()) {
      for (const sim::Prospect& way : advisor.unrolled(one.kernel, device, kFactors)) {
        if (way.time && !(std::isfinite(way.time->value) && way.time->value >= 0)) {
          broken("a time of " + std::to_string(way.time->value));
        }
      }
    }
  });
}

// The path on the first line, then the body. The reply is JSON with a status.
void http_body(Bytes bytes) {
  static const sim::serve::Answerer answerer(
      {}, {.batch = 4, .rows = 64, .answer_bytes = 1 << 16, .batch_seconds = 1});
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const std::string path(bytes.substr(0, end));
  const std::string body(bytes.substr(std::min(end + 1, bytes.size())));
  const sim::serve::Reply reply = answerer.post(path, body);
  if (reply.status < 200 || reply.status > 599)
    broken("a status of " + std::to_string(reply.status));
  if (reply.status == 500) broken("a request made an internal error: " + reply.body);
  constexpr std::size_t kMostFor = 100;  // times the request, plus a batch of tables
  if (reply.body.size() > (1 << 19) + kMostFor * bytes.size()) broken("an answer without a bound");
  if (reply.body.empty()) broken("an answer without a body");
}

}  // namespace tilecast::fuzz
