// The parser of MLIR text; internal to ir/mlir. Grammar: mlir.llvm.org/docs/LangRef; pretty forms:
// the assembly formats of each dialect's op definitions.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/mlir/mlir_forms.h"
#include "ir/mlir/mlir_scanner.h"
#include "ir/mlir/mlir_tree.h"

namespace tilecast::ir::mlir {

struct BlockArgument {
  Draft::Name name;
  TypeId type;
};

class Reader {
 public:
  explicit Reader(const base::SourceText& source);
  Tree read();

  Attribute integer_attribute(std::int64_t value, std::string_view type);
  static Attribute string_attribute(std::string_view text);
  static Attribute list_attribute(const std::vector<std::int64_t>& values);
  static Attribute custom_attribute(std::string name, std::string_view body);
  static Attribute enum_attribute(std::string name, std::string_view word);  // #name<WORD>

 private:
  friend class PrettyForm;
  class Nesting;

  // mlir_attributes.cpp
  TypeId type();
  TypeId intern(std::string text);  // a scalar or ranked tensor type not in the source
  TypeId add_type(Type type);
  Type spelled_type(std::string_view text);
  Type tensor_type();
  Type tuple_type();
  std::string_view type_text();
  TypeId function_type();
  void type_list(TypeList& types);            // a, b or (a, b)
  void parenthesised_types(TypeList& types);  // (a, b)
  void result_types(TypeList& types);         // a or (a, b)

  // mlir_attributes.cpp
  Attribute attribute();
  std::vector<NamedAttribute> dictionary();
  Attribute array_attribute();
  Attribute number();
  Attribute word_attribute();
  Attribute dense_attribute();
  Attribute hash_attribute();
  void read_body(Attribute& custom, std::string_view body);
  Attribute body_value();
  std::vector<NamedAttribute> body_fields(char close);
  std::string symbol();  // after `@`, nested ones joined by ::
  std::vector<std::int64_t> integer_list();

  // mlir_parser.cpp
  void find_aliases();
  void find_alias(Scanner& line, std::size_t begin);
  // Calls `read` at the definition of an alias, then returns to the current position.
  template <class Read>
  auto at_alias(std::string_view name, Read read) {
    const std::size_t resume = enter_alias(name);
    auto value = read();
    leave_alias(name, resume);
    return value;
  }
  std::size_t enter_alias(std::string_view name);
  void leave_alias(std::string_view name, std::size_t resume);
  bool starts_operation();
  void top_level(Block& block);
  void operation(Block& block);
  void generic(Draft& draft);
  void pretty(Draft& draft);
  void read_items(Draft& draft, const Form& form);
  void finish(Draft& draft);
  void use(Operation& op);  // %name or %name#1
  void uses(Operation& op);
  void successor(Operation& op);  // ^bb1 or ^bb1(%a, %b : t, u)
  void check_operand(const Operation& op, std::size_t operand, TypeId written);
  void signature(Draft& draft);  // (a, b) -> c
  std::string_view location();   // trailing loc(...), empty where there is none
  Draft::Name value_name();
  ValueId define(const Draft::Name& name, const TypeId* types);
  void region(Operation& op, const std::vector<BlockArgument>& arguments);
  void isolated_region(Operation& op, const std::vector<BlockArgument>& arguments);
  void block_label(Block& block);
  BlockArgument block_argument();
  std::vector<BlockArgument> block_arguments();  // (%a: t, %b: u)
  static void add(Operation& op, std::string_view name, Attribute value) {
    op.attributes.push_back({name, std::move(value)});
  }
  void check_attributes(const Operation& op);

  // mlir_structured.cpp: forms that are not a list of items
  void module_form(Draft& draft);
  void function_form(Draft& draft);
  void while_form(Draft& draft);
  void reduce_form(Draft& draft);
  void assuming_form(Draft& draft);
  void manual_computation_form(Draft& draft);
  void foreign_form(Draft& draft);
  bool foreign_goes_on(char last);
  void applied_region(Operation& reduce, std::string_view op_name);
  std::vector<BlockArgument> reducer_arguments();
  BlockArgument function_argument(std::vector<Attribute>& attributes);
  void function_result(TypeList& results, std::vector<Attribute>& attributes);
  friend struct FormTable;

  const base::SourceText& source_;
  Scanner in_;
  Tree tree_;
  ValueNames names_;
  std::unordered_map<std::string_view, TypeId> type_ids_;
  std::unordered_map<std::string_view, std::size_t> aliases_;  // `#map`: where its value begins
  std::size_t part_end_ = 0;  // end of the part whose aliases were collected
  std::size_t alias_bytes_ = 0;
  std::size_t operations_ = 0;
  int depth_ = 0;
};

// Counts one level of recursion; throws Error beyond kMaxDepth.
class Reader::Nesting {
 public:
  explicit Nesting(Reader& reader) : reader_(reader) {
    if (++reader_.depth_ > kMaxNesting) {
      --reader_.depth_;
      reader_.in_.fail("nested deeper than 128 levels");
    }
  }
  ~Nesting() { --reader_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  static constexpr int kMaxNesting = 128;

 private:
  Reader& reader_;
};

}  // namespace tilecast::ir::mlir
