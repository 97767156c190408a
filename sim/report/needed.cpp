#include "sim/report/needed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tilecast::sim::report {
namespace {

// Members of an object, by type; one whose name ends in '?' may be missing or null.
struct Needed {
  std::vector<std::string_view> text = {}, size = {}, number = {}, truth = {}, texts = {};
  std::map<std::string_view, Needed> object = {}, list = {};  // members are objects
};

const Needed& simulations() {
  static const Needed kernel{
      .text = {"name", "opcode", "class", "lane", "computation?", "content?"},
      .size = {"multiplicity", "time_s", "total_s", "start_s", "end_s"},
      .truth = {"skipped"}};
  static const Needed roofs{
      .list = {{"peaks", {.text = {"unit", "dtype"}, .size = {"flops_per_s"}}},
               {"memory", {.text = {"name"}, .size = {"read_bytes_per_s"}}}}};
  static const Needed program{
      .text = {"file", "program", "device", "model?"},
      .size = {"time_s", "timeline_s", "host_dispatch_s"},
      .number = {"low_s?", "high_s?", "energy_J?"},
      .object = {{"memory?", {.number = {"peak_bytes?", "capacity_bytes?"}}}, {"roofs?", roofs}},
      .list = {{"kernels", kernel}, {"notes", {.text = {"what"}, .number = {"count?"}}}}};
  static const Needed root{.text = {"version?"}, .list = {{"programs", program}}};
  return root;
}

// For kernels that were not skipped.
const Needed& estimate() {
  static const Needed needed{
      .text = {"bound", "next_bound"},
      .size = {"next_time_s", "speed_of_light_s", "flops", "hbm_read_bytes", "hbm_write_bytes"},
      .number = {"low_s?", "high_s?", "weight?"},
      .texts = {"flags?"},
      .object = {{"bounds_s", {}}, {"tile?", {}}}};
  return needed;
}

const Needed& comparison() {
  static const Needed time{
      .text = {"side", "bound?"}, .size = {"time_s"}, .number = {"low_s?", "high_s?"}};
  static const Needed row{.text = {"group", "name", "class", "tile"},
                          .size = {"launches"},
                          .object = {{"profile?", {.truth = {"overlaps"}}}},
                          .list = {{"times", time}}};
  static const Needed root{.texts = {"notes"},
                           .list = {{"sides", {.text = {"name", "kind", "device", "against"}}},
                                    {"rows", row},
                                    {"unmatched?", {.text = {"name"}}}}};
  return root;
}

const Needed& evaluation() {
  static const Needed score{.text = {"by", "stratum", "model", "metric"},
                            .size = {"rows"},
                            .number = {"value?", "low?", "high?"}};
  static const Needed set{.text = {"name", "measured_on", "source"}, .number = {"rows"}};
  static const Needed root{.texts = {"notes"}, .list = {{"sets", set}, {"scores", score}}};
  return root;
}

// Calls use(key) for required members and for optional members that exist.
template <class Names, class Use>
void each(const Value& object, const Names& names, const Use& use) {
  for (std::string_view name : names) {
    const bool optional = name.ends_with('?');
    if (optional) name.remove_suffix(1);
    if (!optional || object.has(name)) use(name);
  }
}

double size_of(const Value& object, std::string_view key) {
  const double value = object.number(key);
  if (value < 0) throw object.error(fmt::format("{}: got {}, expected 0 or more", key, value));
  return value;
}

void check(const Value& object, const Needed& needed) {
  each(object, needed.text, [&](auto key) { static_cast<void>(object.text(key)); });
  each(object, needed.size, [&](auto key) { static_cast<void>(size_of(object, key)); });
  each(object, needed.number, [&](auto key) { static_cast<void>(object.number(key)); });
  each(object, needed.truth, [&](auto key) { static_cast<void>(object.truth(key)); });
  each(object, needed.texts, [&](auto key) {
    for (const Value& text : object.list(key)) static_cast<void>(text.text());
  });
  for (const auto& [name, of] : needed.object) {
    each(object, std::array{name}, [&](auto key) { check(object.object(key), of); });
  }
  for (const auto& [name, of] : needed.list) {
    each(object, std::array{name}, [&](auto key) {
      for (const Value& record : object.list(key)) check(record, of);
    });
  }
}

// The kernels must sum to the total, so that attributions add up to it.
void check_kernels(const Value& program) {
  constexpr double kRounding = 1e-9;  // for sums of up to millions of terms
  double sum = 0;
  for (const Value& kernel : program.list("kernels")) {
    sum += kernel.number("total_s");
    if (!kernel.truth("skipped")) check(kernel, estimate());
  }
  const double time_s = program.number("time_s");
  if (std::abs(sum - time_s) > kRounding * std::max(sum, time_s)) {
    throw program.error(fmt::format(
        "time_s: got {} s, but its kernels' total_s add up to {} s; was the file edited?", time_s,
        sum));
  }
}

}  // namespace

void check_needed(const Value& root, std::string_view schema) {
  if (schema == "tilecast.compare/1") check(root, comparison());
  if (schema == "tilecast.evaluate/1") check(root, evaluation());
  if (!schema.starts_with("tilecast.simulate/")) return;
  check(root, simulations());
  const std::vector<Value> programs = root.list("programs");
  if (programs.empty()) throw root.error("programs: got none, expected one or more");
  for (const Value& program : programs) check_kernels(program);
}

}  // namespace tilecast::sim::report
