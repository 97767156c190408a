// The three texts derived from the schema: canonical YAML, flat (path, value) rows, key help.
#include <fmt/format.h>

#include "hwdesc/device_schema.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/yaml_text.h"

namespace tilecast::hwdesc {
namespace {

// Walks a complete device and passes each leaf to the derived class as text.
class LeafVisitor : public SchemaVisitor {
 public:
  void number(const Field& field, double& value) override {
    leaf(field, format_quantity(value, field.kind));
  }
  void optional_number(const Field& field, std::optional<double>& value) override {
    if (value) leaf(field, format_quantity(*value, field.kind));
  }
  void integer(const Field& field, std::int64_t& value) override {
    leaf(field, fmt::format("{}", value));
  }
  void flag(const Field& field, bool& value) override { leaf(field, value ? "true" : "false"); }
  void text(const Field& field, std::string& value) override {
    if (!value.empty()) leaf(field, value);
  }
  void choice(const Field& field, std::size_t& index) override {
    leaf(field, std::string(field.words[index]));
  }
  void word_groups(const Field& field, std::vector<std::vector<std::string>>& groups) override {
    if (groups.empty()) return;
    std::vector<std::string> texts;
    for (const auto& group : groups) texts.push_back(fmt::format("[{}]", fmt::join(group, ", ")));
    leaf(field, fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& held) override {
    return held;
  }

 protected:
  virtual void leaf(const Field& field, const std::string& value) = 0;
};

class YamlPrinter final : public LeafVisitor {
 public:
  [[nodiscard]] std::string take() { return std::move(out_); }

  void text(const Field& field, std::string& value) override {
    if (!value.empty()) leaf(field, yaml_text(value, field.key));
  }
  void numbers(const Field& field, std::map<std::string, double>& values) override {
    if (values.empty() && !field.required) return;
    std::vector<std::string> entries;
    for (const auto& [key, value] : values) {
      entries.push_back(
          fmt::format("{}: {}", yaml_text(key, field.key), format_quantity(value, field.kind)));
    }
    leaf(field, fmt::format("{{{}}}", fmt::join(entries, ", ")));
  }
  [[nodiscard]] bool enter(const Block& block, bool present) override {
    if (!present) return false;
    if (depth_ == 0) out_ += '\n';
    out_ += fmt::format("{:{}}{}:\n", "", 2 * depth_, block.key);
    ++depth_;
    return true;
  }
  void leave() override { --depth_; }

 private:
  void leaf(const Field& field, const std::string& value) override {
    out_ += fmt::format("{:{}}{}: {}\n", "", 2 * depth_, field.key, value);
  }

  std::string out_;
  int depth_ = 0;
};

class Flattener final : public LeafVisitor {
 public:
  using Rows = std::vector<std::pair<std::string, std::string>>;

  [[nodiscard]] Rows take() { return std::move(rows_); }

  void numbers(const Field& field, std::map<std::string, double>& values) override {
    for (const auto& [key, value] : values) {
      rows_.emplace_back(path(fmt::format("{}.{}", field.key, key)),
                         format_quantity(value, field.kind));
    }
  }
  [[nodiscard]] bool enter(const Block& block, bool present) override {
    if (present) blocks_.push_back(path(block.key));
    return present;
  }
  void leave() override { blocks_.pop_back(); }

 private:
  [[nodiscard]] std::string path(std::string_view key) const {
    return blocks_.empty() ? std::string(key) : fmt::format("{}.{}", blocks_.back(), key);
  }
  void leaf(const Field& field, const std::string& value) override {
    rows_.emplace_back(path(field.key), value);
  }

  std::vector<std::string> blocks_;
  Rows rows_;
};

// Lists the keys of one block of each kind; user-chosen names are in angle brackets.
class HelpPrinter final : public SchemaVisitor {
 public:
  [[nodiscard]] std::string take() { return std::move(out_); }

  void number(const Field& field, double&) override { line(field, range(field)); }
  void optional_number(const Field& field, std::optional<double>&) override {
    line(field, range(field));
  }
  void integer(const Field& field, std::int64_t&) override {
    line(field, fmt::format("whole, {}", range(field)));
  }
  void flag(const Field& field, bool&) override { line(field, "true or false"); }
  void text(const Field& field, std::string&) override { line(field, "text"); }
  void choice(const Field& field, std::size_t&) override {
    line(field, fmt::format("{}", fmt::join(field.words, " | ")));
  }
  void numbers(const Field& field, std::map<std::string, double>&) override {
    line(field, fmt::format("{{name: number}}, {}", range(field)));
  }
  void word_groups(const Field& field, std::vector<std::vector<std::string>>&) override {
    line(field, fmt::format("[[unit, ...], ...] of {}", fmt::join(field.words, ", ")));
  }
  [[nodiscard]] bool enter(const Block& block, bool) override {
    if (block.key == kInner) return false;
    const std::string label = block.key + ":";
    out_ += fmt::format("{:{}}{:<{}} {}\n", "", 2 * depth_, label, 34 - 2 * depth_, block.doc);
    entered_ = block.key;
    ++depth_;
    return true;
  }
  void leave() override { --depth_; }
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>&) override {
    if (entered_ == "published") return {"<quantity>"};
    // Memory needs two levels to have an engine between them.
    return {std::string(kOuter), std::string(kInner)};
  }

 private:
  static constexpr std::string_view kOuter = "<level>";
  static constexpr std::string_view kInner = "<next>";

  static std::string range(const Field& field) {
    return fmt::format("{} .. {}", format_quantity(field.low, field.kind),
                       format_quantity(field.high, field.kind));
  }
  void line(const Field& field, const std::string& form) {
    out_ += fmt::format("{:{}}{:<{}} {:<44} {}{}\n", "", 2 * depth_, field.key, 34 - 2 * depth_,
                        form, field.doc, field.required ? " (required)" : "");
  }

  std::string out_;
  std::string entered_;
  int depth_ = 0;
};

}  // namespace

std::string print_device(const Device& device) {
  Device copy = device;
  YamlPrinter printer;
  walk(printer, copy);
  return printer.take();
}

std::vector<std::pair<std::string, std::string>> flatten(const Device& device) {
  Device copy = device;
  Flattener flattener;
  walk(flattener, copy);
  return flattener.take();
}

std::string schema_help() {
  Device example;
  HelpPrinter printer;
  walk(printer, example);
  return printer.take();
}

}  // namespace tilecast::hwdesc
