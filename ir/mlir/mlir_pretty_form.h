// Reads an operation in a pretty form that is a list of items (mlir_form_table.cpp) followed by
// types.
#pragma once

#include "ir/mlir/mlir_reader.h"

namespace tilecast::ir::mlir {

class PrettyForm {
 public:
  PrettyForm(Reader& reader, Draft& draft, const Form& form)
      : reader_(reader),
        in_(reader.in_),
        draft_(draft),
        op_(draft.op),
        form_(form),
        item_end_(in_.offset_before_space()) {}

  void read();

 private:
  struct Item {
    std::string_view attribute;
    std::string_view kind;
    std::string_view argument;  // after the dot of the kind
  };
  using ReadKind = void (PrettyForm::*)(const Item& item);

  bool read_item();
  bool read_word(bool continues);
  [[nodiscard]] bool on_new_line() { return in_.text_from(item_end_).find('\n') != npos; }
  [[nodiscard]] const Item* find_item(std::string_view key);
  void read_kind(const Item& item);
  bool read_bracket(char sign);
  void more_attributes();  // {a = 1}
  void types();
  void types_without_arrow(const TypeList& written);
  void check_all(TypeId type, std::size_t first);
  TypeId value_type(const Attribute& value);
  [[nodiscard]] std::string dialect_name(std::string_view kind) const {
    return fmt::format("{}.{}", op_.name.substr(0, op_.name.find('.')), kind);
  }
  void add(const Item& item, Attribute value) {
    Reader::add(op_, item.attribute, std::move(value));
  }

  void ints(const Item& item) { add(item, Reader::list_attribute(reader_.integer_list())); }
  void i64(const Item& item) { add(item, reader_.integer_attribute(in_.integer(), "i64")); }
  void attr(const Item& item) { add(item, reader_.attribute()); }
  void name(const Item& item);
  void word(const Item& item);
  void string(const Item& item) { add(item, Reader::string_attribute(in_.quoted())); }
  void bracketed(const Item& item);
  void enumeration(const Item& item);
  void enumerations(const Item& item);
  void dims(const Item& item);
  void custom(const Item& item);
  void raw(const Item& item);
  void format(const Item& item);
  void ranges(const Item& item);
  void indices(const Item& item);
  void region(const Item& item);
  void keyword(const Item& item);
  void conv(const Item& item);
  void window(const Item& item);
  void window_field(std::string_view key);

  static constexpr std::size_t npos = std::string_view::npos;
  static const std::pair<std::string_view, ReadKind> kKinds[];

  Reader& reader_;
  Scanner& in_;
  Draft& draft_;
  Operation& op_;
  const Form& form_;
  Item item_;
  std::size_t item_end_;
  char words_ = '0';  // bare words so far
  bool after_comma_ = true;
};

}  // namespace tilecast::ir::mlir
