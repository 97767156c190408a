#include "tests/measured/xplane_profile.h"

#include "ir/proto/hlo.pb.h"

namespace tilecast::measured {

Plane::Plane(xplane::XSpace& space, const std::string& name) : plane_(space.add_planes()) {
  plane_->set_name(name);
}

std::int64_t Plane::stat_id(const std::string& name) {
  const auto [known, is_new] = stats_.emplace(name, std::ssize(stats_) + 1);
  if (is_new) {
    auto* entry = plane_->add_stat_metadata();
    entry->set_key(known->second);
    entry->mutable_value()->set_name(name);
  }
  return known->second;
}

void Plane::set(xplane::Stat& stat, const std::string& name, const StatValue& value) {
  stat.set_metadata_id(stat_id(name));
  if (const auto* number = std::get_if<double>(&value)) stat.set_double_value(*number);
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) stat.set_uint64_value(*integer);
  if (const auto* text = std::get_if<std::string>(&value)) stat.set_str_value(*text);
  if (const auto* ref = std::get_if<Ref>(&value)) {
    stat.set_ref_value(static_cast<std::uint64_t>(stat_id(ref->text)));
  }
}

void Plane::fact(const std::string& name, const StatValue& value) {
  set(*plane_->add_stats(), name, value);
}

void Plane::line(const std::string& name) {
  line_ = plane_->add_lines();
  line_->set_name(name);
}

xplane::Event& Plane::event(const std::string& name, std::int64_t start_ps,
                            std::int64_t duration_ps, const StatValues& stats,
                            const StatValues& of_all) {
  std::string key = name;
  for (const auto& [stat, value] : of_all) {
    if (const auto* program = std::get_if<std::uint64_t>(&value)) key += std::to_string(*program);
  }
  const auto [known, is_new] = events_.emplace(key, std::ssize(events_) + 1);
  if (is_new) {
    auto* entry = plane_->add_event_metadata();
    entry->set_key(known->second);
    entry->mutable_value()->set_name(name);
    for (const auto& [stat, value] : of_all) set(*entry->mutable_value()->add_stats(), stat, value);
  }
  xplane::Event& event = *line_->add_events();
  event.set_metadata_id(known->second);
  event.set_offset_ps(start_ps);
  event.set_duration_ps(duration_ps);
  for (const auto& [stat, value] : stats) set(*event.add_stats(), stat, value);
  return event;
}

xplane::Event& Plane::op(const std::string& instruction, std::uint64_t program,
                         std::int64_t start_ps, std::int64_t duration_ps) {
  return event("%" + instruction + " = f32[8]{0} op(f32[8]{0} %p)", start_ps, duration_ps, {},
               {{"program_id", program},
                {"hlo_category", Ref{"category of " + instruction}},
                {"flops", std::uint64_t{8}},
                {"bytes_accessed", 64.0}});
}

xplane::Event& Plane::kernel(const std::string& name, const std::string& instruction,
                             std::uint64_t program, std::int64_t start_ps,
                             std::int64_t duration_ps) {
  return event(name, start_ps, duration_ps,
               {{"hlo_op", Ref{instruction}},
                {"hlo_module", std::string("jit_f")},
                {"program_id", program}});
}

void Plane::module(std::int64_t key, const std::string& name, const std::string& proto) {
  auto* entry = plane_->add_event_metadata();
  entry->set_key(key);
  entry->mutable_value()->set_name(name);
  xplane::Stat& stat = *entry->mutable_value()->add_stats();
  stat.set_metadata_id(stat_id("Hlo Proto"));
  stat.set_bytes_value(proto);
}

std::string ProfileOnDisk::write(const std::string& file) const {
  folder_.write(file, bytes());
  return at(file);
}

std::string module_proto(const std::string& name, std::int64_t elements) {
  constexpr int kF32 = 11, kU32 = 8, kTuple = 13;
  hlo_proto::Module module;
  module.set_name(name);
  module.set_entry_computation_name("main");
  module.set_entry_computation_id(1);
  hlo_proto::Computation& main = *module.add_computations();
  main.set_name("main");
  main.set_id(1);
  hlo_proto::Shape array;
  array.set_element_type(kF32);
  array.add_dimensions(elements);
  array.mutable_layout()->add_minor_to_major(0);
  const auto add = [&](const char* op, const char* opcode, std::int64_t operand) {
    hlo_proto::Instruction& instruction = *main.add_instructions();
    instruction.set_name(op);
    instruction.set_opcode(opcode);
    instruction.set_id(main.instructions_size());
    *instruction.mutable_shape() = array;
    if (operand > 0) instruction.add_operand_ids(operand);
    return &instruction;
  };
  add("p", "parameter", 0);
  add("tanh.1", "tanh", 1);
  hlo_proto::Shape* started = add("copy-start.2", "copy-start", 2)->mutable_shape();
  started->Clear();
  started->set_element_type(kTuple);
  *started->add_tuple_shapes() = array;
  *started->add_tuple_shapes() = array;
  started->add_tuple_shapes()->set_element_type(kU32);
  add("copy-done.2", "copy-done", 3);
  main.set_root_id(4);
  *module.mutable_host_program_shape()->add_parameters() = array;
  *module.mutable_host_program_shape()->mutable_result() = array;
  return module.SerializeAsString();
}

}  // namespace tilecast::measured
