// Reads HLO protos: detects which of the three messages it is, and converts the module to text for
// the HLO text parser.
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "ir/proto/hlo_proto.h"
#include "ir/proto/proto_text.h"
#include "ir/text/hlo_parser.h"

namespace tilecast::ir {
namespace proto_text {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The first length-delimited field numbered `number`; nullopt if there is none or the message is
// damaged before it.
std::optional<std::string_view> find_field(std::string_view message, int number) {
  if (message.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(message.data()),
                         static_cast<int>(message.size()));
  while (const std::uint32_t tag = input.ReadTag()) {
    const bool bytes =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!bytes || WireFormatLite::GetTagFieldNumber(tag) != number) {
      if (!WireFormatLite::SkipField(&input, tag)) return {};
      continue;
    }
    std::uint32_t length = 0;
    if (!input.ReadVarint32(&length)) return {};
    const auto begin = static_cast<std::size_t>(input.CurrentPosition());
    if (length > message.size() - begin) return {};
    return message.substr(begin, length);
  }
  return {};
}

// True if the message has computations with instructions whose second field is an opcode.
bool is_module(std::string_view message) {
  const auto computation = find_field(message, hlo_proto::Module::kComputationsFieldNumber);
  if (!computation) return false;
  const auto instruction =
      find_field(*computation, hlo_proto::Computation::kInstructionsFieldNumber);
  if (!instruction) return false;
  const auto opcode = find_field(*instruction, hlo_proto::Instruction::kOpcodeFieldNumber);
  return opcode && !opcode->empty() && std::all_of(opcode->begin(), opcode->end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

// The bytes of the module: the whole message, the module in an HloProto, or that in an
// HloSnapshot's HloProto.
std::optional<std::string_view> find_module(std::string_view bytes) {
  constexpr int kModuleOrProto = 1;  // field number in both wrappers
  std::optional<std::string_view> message = bytes;
  for (int level = 0; level < 3 && message; ++level) {
    if (is_module(*message)) return message;
    message = find_field(*message, kModuleOrProto);
  }
  return {};
}

// A printable name, converted as in XLA, and unique.
std::string legal_name(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string legal = name.empty() ? "_" : name;
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  for (char& c : legal) {
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '-') c = '_';
  }
  if (!is_letter(legal[0])) legal.insert(0, "_");
  std::string candidate = legal;
  for (int i = 1; !taken.insert(candidate).second; ++i) candidate = fmt::format("{}.{}", legal, i);
  return candidate;
}

class ModuleText {
 public:
  explicit ModuleText(const hlo_proto::Module& module) : module_(module) {}

  std::string write() {
    std::unordered_set<std::string> taken;
    for (const hlo_proto::Computation& computation : module_.computations()) {
      if (!names_.computations.try_emplace(computation.id(), legal_name(computation.name(), taken))
               .second) {
        throw Error(fmt::format("two computations have the id {}", computation.id()));
      }
    }
    write_header();
    write_tables();
    const hlo_proto::Computation& entry = find_entry();
    for (const hlo_proto::Computation& computation : module_.computations()) {
      if (&computation == &entry) out_ += "ENTRY ";
      write_computation(computation);
    }
    return std::move(out_);
  }

 private:
  void write_header();
  void write_tables();
  void write_computation(const hlo_proto::Computation& computation);
  void write_instruction(const hlo_proto::Instruction& instruction);
  [[nodiscard]] const hlo_proto::Computation& find_entry() const;
  [[nodiscard]] std::vector<const hlo_proto::Instruction*> in_order(
      const hlo_proto::Computation& computation) const;

  const hlo_proto::Module& module_;
  Names names_;
  std::unordered_map<std::int64_t, const hlo_proto::Instruction*> instructions_;  // of one
  std::string out_;
};

const hlo_proto::Computation& ModuleText::find_entry() const {
  const auto& computations = module_.computations();
  const auto find = [&](auto&& matches) {
    return std::find_if(computations.begin(), computations.end(), matches);
  };
  auto found = find([&](const hlo_proto::Computation& c) {
    return c.id() == module_.entry_computation_id() && module_.has_entry_computation_id();
  });
  if (found == computations.end()) {
    found = find([&](const auto& c) { return c.name() == module_.entry_computation_name(); });
  }
  if (found == computations.end()) {
    throw Error(fmt::format("the entry computation '{}' (id {}) is not in the module",
                            module_.entry_computation_name(), module_.entry_computation_id()));
  }
  return *found;
}

void ModuleText::write_header() {
  std::unordered_set<std::string> taken;
  out_ += "HloModule " + legal_name(module_.name(), taken);
  if (module_.has_schedule()) out_ += ", is_scheduled=true";
  std::string aliases;
  for (const hlo_proto::AliasEntry& alias : module_.input_output_alias().entries()) {
    constexpr int kMustAlias = 2;
    aliases += fmt::format("{}{}: ({}, {}, {})", aliases.empty() ? "" : ", ",
                           list(alias.output_shape_index()), alias.parameter_number(),
                           list(alias.parameter_shape_index()),
                           alias.kind() == kMustAlias ? "must-alias" : "may-alias");
  }
  if (!aliases.empty()) out_ += ", input_output_alias={ " + aliases + " }";
  std::string donors;
  for (const hlo_proto::BufferDonorEntry& donor : module_.buffer_donor().entries()) {
    donors += fmt::format("{}({}, {})", donors.empty() ? "" : ", ", donor.parameter_number(),
                          list(donor.parameter_shape_index()));
  }
  if (!donors.empty()) out_ += ", buffer_donor={ " + donors + " }";
  if (module_.host_program_shape().has_result()) {
    Shape parameters = Shape::tuple({});
    for (const hlo_proto::Shape& parameter : module_.host_program_shape().parameters()) {
      parameters.elements.push_back(shape_of(parameter));
    }
    out_ += fmt::format(", entry_computation_layout={{{}->{}}}", to_string(parameters),
                        to_string(shape_of(module_.host_program_shape().result())));
  }
  const hlo_proto::DeviceAssignment& devices = module_.device_assignment();
  if (devices.replica_count() > 1) {
    out_ += fmt::format(", replica_count={}", devices.replica_count());
  }
  if (devices.computation_count() > 1) {
    out_ += fmt::format(", num_partitions={}", devices.computation_count());
  }
  if (!module_.frontend_attributes().map().empty()) {
    out_ += ", frontend_attributes=" + frontend_attributes(module_.frontend_attributes());
  }
  out_ += "\n\n";
}

// Writes the tables to which stack_frame_id in metadata refers. A frame without a parent has parent
// id 1.
void ModuleText::write_tables() {
  const hlo_proto::StackFrameIndex& index = module_.stack_frame_index();
  const auto table = [this](std::string_view title, const auto& rows, auto&& print) {
    if (rows.empty()) return;
    out_ += fmt::format("{}\n", title);
    for (int i = 0; i < rows.size(); ++i) out_ += fmt::format("{} {}\n", i + 1, print(rows.Get(i)));
    out_ += '\n';
  };
  table("FileNames", index.file_names(), quoted_text);
  table("FunctionNames", index.function_names(), quoted_text);
  table("FileLocations", index.file_locations(), [](const hlo_proto::FileLocation& at) {
    return fmt::format(
        "{{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}",
        at.file_name_id(), at.function_name_id(), at.line(), at.end_line(), at.column(),
        at.end_column());
  });
  table("StackFrames", index.stack_frames(), [](const hlo_proto::StackFrame& frame) {
    return fmt::format("{{file_location_id={} parent_frame_id={}}}", frame.file_location_id(),
                       std::int64_t{frame.parent_frame_id()} + 1);
  });
}

// The instructions in schedule order, or in the proto's order if the schedule is not a permutation
// of them.
std::vector<const hlo_proto::Instruction*> ModuleText::in_order(
    const hlo_proto::Computation& computation) const {
  std::vector<const hlo_proto::Instruction*> order;
  for (const hlo_proto::SequenceEntry& entry : module_.schedule().sequences()) {
    if (entry.key() != computation.id()) continue;
    std::unordered_set<std::int64_t> seen;
    for (const std::int64_t id : entry.value().instruction_ids()) {
      const auto found = instructions_.find(id);
      if (found != instructions_.end() && seen.insert(id).second) order.push_back(found->second);
    }
  }
  if (order.size() == static_cast<std::size_t>(computation.instructions_size())) return order;
  order.clear();
  for (const hlo_proto::Instruction& instruction : computation.instructions()) {
    order.push_back(&instruction);
  }
  return order;
}

void ModuleText::write_computation(const hlo_proto::Computation& computation) {
  const std::string& name = names_.computations.at(computation.id());
  names_.instructions.clear();
  instructions_.clear();
  std::unordered_set<std::string> taken;
  for (const hlo_proto::Instruction& instruction : computation.instructions()) {
    if (!instructions_.try_emplace(instruction.id(), &instruction).second) {
      throw Error(
          fmt::format("computation {}: two instructions have the id {}", name, instruction.id()));
    }
    names_.instructions.emplace(instruction.id(), legal_name(instruction.name(), taken));
  }
  if (!instructions_.contains(computation.root_id())) {
    throw Error(fmt::format("computation {}: there is no instruction with id {}, its root", name,
                            computation.root_id()));
  }
  out_ += "%" + name + " {\n";
  for (const hlo_proto::Instruction* instruction : in_order(computation)) {
    out_ += instruction->id() == computation.root_id() ? "  ROOT " : "  ";
    try {
      write_instruction(*instruction);
    } catch (const Error& error) {
      throw Error(fmt::format("computation {}, instruction {}: {}", name,
                              names_.instructions.at(instruction->id()), error.what()));
    }
    out_ += '\n';
  }
  out_ += '}';
  if (!computation.execution_thread().empty()) {
    out_ += ", execution_thread=" + quoted_text(computation.execution_thread());
  }
  out_ += "\n\n";
}

void ModuleText::write_instruction(const hlo_proto::Instruction& instruction) {
  const std::optional<Opcode> opcode = parse_opcode(instruction.opcode());
  if (!opcode) throw Error(fmt::format("unknown opcode '{}'", instruction.opcode()));
  out_ += fmt::format("%{} = {} {}(", names_.instructions.at(instruction.id()),
                      to_string(shape_of(instruction.shape())), name(*opcode));
  bool predicated = false;
  if (*opcode == Opcode::kParameter) {
    out_ += std::to_string(instruction.parameter_number());
  } else if (*opcode == Opcode::kConstant) {
    out_ += instruction.has_literal() ? literal(instruction.literal()) : "{...}";
  }
  for (int i = 0; i < instruction.operand_ids_size(); ++i) {
    const std::int64_t id = instruction.operand_ids(i);
    const auto operand = instructions_.find(id);
    if (operand == instructions_.end()) {
      throw Error(fmt::format("operand {}: there is no instruction with id {}", i, id));
    }
    const DType type = shape_of(operand->second->shape()).dtype;
    predicated = predicated || (i == 0 && type == DType::kPred);
    out_ += (i == 0 ? "%" : ", %") + names_.instructions.at(id);
  }
  out_ += ')';
  append_attributes(out_, instruction, *opcode, predicated, names_);
}

std::string module_text(std::string_view bytes) {
  const std::optional<std::string_view> module = find_module(bytes);
  if (!module) throw Error("not an HLO proto: expects an HloProto, HloModuleProto or HloSnapshot");
  hlo_proto::Module proto;
  if (!proto.ParseFromArray(module->data(), static_cast<int>(module->size()))) {
    throw Error("the HLO proto is damaged or cut off, or nested more than 100 levels deep");
  }
  return ModuleText(proto).write();
}

}  // namespace
}  // namespace proto_text

bool is_hlo_proto(std::string_view bytes) {
  return proto_text::find_module(bytes).has_value();
}

Module read_hlo_proto(std::string_view bytes, const std::string& file) {
  std::string text;
  try {
    text = proto_text::module_text(bytes);
  } catch (const Error& error) {
    throw Error(base::printable(fmt::format("{}: {}", file, error.what())));
  }
  Module module = parse_hlo(base::SourceText(file + " (as HLO text)", std::move(text)));
  module.file = file;
  return module;
}

}  // namespace tilecast::ir
