#include "ir/verify/verifier.h"

#include "ir/verify/verify_rules.h"

namespace tilecast::ir::verification {
namespace {

class Verifier {
 public:
  Verifier(const Module& module, const base::SourceText* text) : module_(module), text_(text) {}

  void run() {
    try {
      check();
    } catch (const Error& error) {
      throw Error(located(error.what()));
    }
  }

 private:
  void check() {
    const auto at = [this](ComputationId computation, InstrId instruction) {
      computation_ = computation;
      instruction_ = instruction;
    };
    check_structure(module_, facts_, at);
    for (std::size_t i = 0; i < module_.computations.size(); ++i)
      check_computation(ComputationId(i));
    at(module_.entry, module_.entry_computation().root);
    check_entry(module_);
  }

  void check_computation(ComputationId id) {
    const Computation& computation = module_.at(id);
    computation_ = id;
    count_users(computation, users_);
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      instruction_ = InstrId(i);
      const Site site{
          {module_, computation, computation.instructions[i]}, facts_, id, instruction_, users_};
      check_instruction(site);
    }
    instruction_ = InstrId();
  }

  void check_instruction(const Site& site) {
    infer::check_operand_count(site.instruction);
    check_async(site);
    check_operation(site);
    check_result_shape(site);
    check_callees(site);
    check_collective(site);
    if (facts_.called_by_fusion[site.computation_id.index()]) check_fused(site);
  }

  void check_fused(const Site& site) const {
    const std::uint32_t users = users_.count[site.id.index()];
    if (site.is_root() && users != 0) {
      throw Error("Root of fusion " + site.computation.name + " may not have users.");
    }
  }

  [[nodiscard]] std::string located(const std::string& message) const {
    if (!computation_.valid()) return module_.name + ": " + message;
    const Computation& computation = module_.at(computation_);
    const bool known = instruction_.index() < computation.instructions.size();
    if (text_ != nullptr && known) {
      return text_->describe(computation.at(instruction_).offset, message);
    }
    std::string where = module_.name + "." + computation.name;
    if (known) where += "." + computation.at(instruction_).name;
    return where + ": " + message;
  }

  const Module& module_;
  const base::SourceText* text_;
  ModuleFacts facts_;
  Users users_;
  ComputationId computation_;
  InstrId instruction_;
};

}  // namespace

}  // namespace tilecast::ir::verification

namespace tilecast::ir {

void verify(const Module& module, const base::SourceText* text) {
  verification::Verifier(module, text).run();
}

}  // namespace tilecast::ir
