// A kernel is what the device launches: one scheduled instruction with its interior graph.
//
// The computation that a fusion calls (and fusions inside it) is inlined into one DAG; an unfused
// op becomes a DAG of itself and its parameters. Ops are in topological order (operands first), so
// `OpId` order is a valid evaluation order. Immutable after KernelBuilder::build(); analyses keep
// side tables indexed by OpId. Reading is thread-safe. Shapes carry the device layouts. Copies, and
// equal kernels of one program, share everything but names and device groups
// (ir/kernels/kernel_fingerprint.h). Tuples are flattened: an op with several results (variadic
// reduce, sort ...) keeps its tuple shape, and get-tuple-element ops select its leaves by flat
// position. Parameters are the array leaves of the instruction's operands that are used, with their
// outside shapes; scalar constants among them become constant ops.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/compiler_notes.h"
#include "ir/counts/work_counts.h"
#include "ir/device_groups.h"
#include "ir/hlo.h"

namespace tilecast::ir {

using OpId = StrongId<struct OpTag>;

struct Op {
  Opcode opcode = Opcode::kParameter;
  Shape shape;
  std::vector<OpId> operands;
  Dims dimensions;
  OpAttrs attrs;  // as ir::Instruction
  // reduce-like ops: FLOPs of one application of the called computations (summed)
  double applied_flops = 0;
  double applied_transcendentals = 0;
  // reduce-like ops: the called computation, if it is one op applied to its two parameters
  std::optional<Opcode> applied;

  template <class T>
  [[nodiscard]] const T& as() const {
    return attrs.as<T>();
  }
  template <class T>
  [[nodiscard]] const T* get() const {
    return attrs.get<T>();
  }
};

class Kernel {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  // The scheduled instruction's opcode (kFusion, kCopy, kAllReduce ...).
  [[nodiscard]] Opcode opcode() const { return content_->opcode; }
  [[nodiscard]] std::string_view op_name() const { return op_name_; }  // metadata, may be ""
  [[nodiscard]] std::span<const Op> ops() const { return content_->ops; }
  [[nodiscard]] const Op& op(OpId id) const { return content_->ops[id.index()]; }
  [[nodiscard]] const std::string& name_of(OpId id) const { return op_names_[id.index()]; }
  [[nodiscard]] std::span<const OpId> users(OpId id) const {
    const std::uint32_t begin = content_->first_user[id.index()];
    return std::span(content_->users).subspan(begin, content_->first_user[id.index() + 1] - begin);
  }
  [[nodiscard]] std::span<const OpId> parameters() const { return content_->parameters; }  // leaves
  [[nodiscard]] std::span<const OpId> outputs() const { return content_->outputs; }        // leaves
  [[nodiscard]] const WorkCounts& work() const { return content_->work; }
  [[nodiscard]] const std::optional<CompilerTile>& compiler_tile() const { return content_->tile; }
  [[nodiscard]] const std::optional<GpuCode>& gpu_code() const { return content_->gpu_code; }
  [[nodiscard]] const auto& custom_call_cost() const { return content_->custom_cost; }  // optional
  // Most bytes that its tiles may take, where nothing states a tile; 0: not known.
  [[nodiscard]] std::int64_t window_bytes() const { return content_->window_bytes; }
  // Collectives: the number of devices in one group; 1 for other kernels.
  [[nodiscard]] std::int64_t group_size() const { return content_->group_size; }
  [[nodiscard]] const DeviceGroups& device_groups() const;
  // Runs on the host (`execution_thread="host"`).
  [[nodiscard]] bool on_host() const { return content_->on_host; }
  // Pairs {i, j}: outputs[i] shares the buffer of parameters[j] (dynamic-update-slice, aliasing).
  [[nodiscard]] std::span<const std::pair<std::size_t, std::size_t>> in_place() const {
    return content_->in_place;
  }
  // Identifies the shared content: equal for kernels that share everything but names and device
  // groups.
  [[nodiscard]] const void* content() const { return content_.identity(); }

 private:
  friend class KernelBuilder;
  friend class KernelContents;
  struct Content {
    Opcode opcode = Opcode::kFusion;
    std::vector<Op> ops;
    std::vector<OpId> parameters, outputs, users;  // users: the lists of all ops, concatenated
    std::vector<std::uint32_t> first_user;         // offset into `users` per op, plus the end
    WorkCounts work;
    std::optional<CompilerTile> tile;
    std::optional<GpuCode> gpu_code;
    std::optional<CustomCallCost> custom_cost;
    std::int64_t window_bytes = 0;
    std::int64_t group_size = 1;
    bool on_host = false;
    std::vector<std::pair<std::size_t, std::size_t>> in_place;
  };
  std::string name_, op_name_;
  std::vector<std::string> op_names_;
  Shared<DeviceGroups> device_groups_;  // none: empty
  Shared<Content> content_;
};

// Builds a kernel op by op (operator tables, tests, the program builder). build() verifies that the
// graph is a DAG whose parameters and outputs are arrays, and throws Error otherwise.
//   KernelBuilder b("matmul", Opcode::kDot);
//   OpId x = b.parameter(Shape::array(DType::kBF16, {512, 256}));  // ...
//   Kernel k = b.build({dot});
class KernelBuilder {
 public:
  KernelBuilder(std::string name, Opcode opcode);
  OpId parameter(Shape shape, std::string name = {});
  OpId add(Op op, std::string name = {});
  void reserve(std::size_t ops);
  void set_opcode(Opcode opcode) { content_.opcode = opcode; }
  void set_op_name(std::string op_name) { kernel_.op_name_ = std::move(op_name); }
  void set_work(WorkCounts work) { content_.work = std::move(work); }
  void set_compiler_tile(CompilerTile tile) { content_.tile = std::move(tile); }
  void set_gpu_code(std::optional<GpuCode> code) { content_.gpu_code = std::move(code); }
  void set_custom_call_cost(CustomCallCost cost) { content_.custom_cost = std::move(cost); }
  void set_window_bytes(std::int64_t bytes) { content_.window_bytes = bytes; }
  void set_group_size(std::int64_t devices) { content_.group_size = devices; }
  void set_on_host(bool on_host) { content_.on_host = on_host; }
  void set_device_groups(DeviceGroups groups);
  void add_in_place(std::size_t output, std::size_t parameter) {
    content_.in_place.emplace_back(output, parameter);
  }
  [[nodiscard]] Kernel build(std::vector<OpId> outputs);
  // Access to the ops added so far, by the ids that add() and parameter() returned.
  [[nodiscard]] const Op& op(OpId id) const { return content_.ops[id.index()]; }
  [[nodiscard]] Op& op(OpId id) { return content_.ops[id.index()]; }
  [[nodiscard]] const std::string& name_of(OpId id) const { return kernel_.name_of(id); }
  [[nodiscard]] std::span<const OpId> parameters() const { return content_.parameters; }
  [[nodiscard]] std::size_t size() const { return content_.ops.size(); }

 private:
  void check_edges(const std::vector<OpId>& outputs) const;
  Kernel kernel_;
  Kernel::Content content_;
};

// The kernel of one instruction of `computation` (fusions inlined, backend_config read).
// `gpu_code`: XLA:GPU compiled the module, so that fusions say how they are written.
[[nodiscard]] Kernel make_kernel(const Module& module, ComputationId computation,
                                 InstrId instruction, WorkCounter& counter, bool gpu_code = false);

}  // namespace tilecast::ir
