#include "learned/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "base/error.h"
#include "ir/kernels/kernel_module.h"
#include "ir/stablehlo/stablehlo.h"
#include "schedule/text.h"
#include "schedule/tile_schedule.h"

namespace tilecast::learned {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string_view take_digits(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && (is_digit(text[size]) || text[size] == '?')) ++size;
  const std::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

// The text of the kernel's schedule; empty if it has none. Tokens are read from the printed text,
// because printing takes only 2 of the 30 us for building the loops of a kernel with ten ops.
std::string loop_text(const analytical::KernelQuery& query, const hwdesc::Device& device) {
  try {
    return to_text(schedule::loops_of(query.kernel, query.tile, schedule::target_of(device)));
  } catch (const Error&) {  // the tile does not fit the loops
  }
  try {
    return to_text(schedule::loops_of(query.kernel, nullptr));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void TokenWriter::number(std::string_view digits) const {
  if (spec_.numbers == NumberTokens::kWhole || digits == "?") return sink_({digits});
  if (spec_.numbers == NumberTokens::kDigits) {
    for (std::size_t i = 0; i < digits.size(); ++i) sink_({digits.substr(i, 1)});
    return;
  }
  double value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  sink_({"#", value});
}

void TokenWriter::shape(std::string_view text) const {
  if (spec_.shapes == ShapeTokens::kWhole) return sink_({text});
  std::string_view dims = text, type;
  if (const std::size_t open = text.find('['); open != std::string_view::npos) {
    type = text.substr(0, open);
    dims = text.substr(open + 1, text.size() - open - 2);
  } else if (text.starts_with("tensor<")) {
    dims = text.substr(7, text.find_last_of('>') - 7);
    dims = dims.substr(0, dims.find(", #"));  // bounds of dynamic sizes
  }
  while (!dims.empty()) {
    std::string_view rest = dims;
    const std::string_view digits = take_digits(rest);
    if (digits.empty()) break;
    number(digits);
    dims = rest.substr(std::min<std::size_t>(rest.size(), 1));
    if (!dims.empty() || !type.empty()) sink_({"x"});
  }
  if (!dims.empty()) type = dims;
  if (!type.empty()) sink_({type});
}

void for_each_token(const analytical::KernelQuery& query, const hwdesc::Device& device,
                    const TextSpec& spec, const TokenSink& sink) {
  if (spec.level == TextLevel::kStablehlo) return stablehlo_tokens(query.kernel, spec, sink);
  const std::string text = loop_text(query, device);
  if (!text.empty()) return loop_tokens(text, spec, sink);
  sink({"no_loops"});
  stablehlo_tokens(query.kernel, spec, sink);
}

namespace {

// Characters of names and of constants with their type.
bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@';
}
bool is_constant_char(char c) {
  return is_name_char(c) || c == ':' || c == '-' || c == '+';
}
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes the word before the next blank off the line.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

class LoopTokens {
 public:
  LoopTokens(const TextSpec& spec, const TokenSink& sink) : write_(spec, sink) {}

  void line(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("program ") || line == "{" || line.empty()) return;
    if (line == "}") return close();
    std::string_view rest = line;
    const std::string_view head = take_word(rest);
    if (head == "input" || head == "output" || head == "temporary") {
      write_.word(head);
      buffer(rest);
    } else if (head == "loop" || head == "parallel" || head == "unroll" || head == "vector") {
      write_.word(head);
      loop(rest);
    } else if (head == "guard") {
      write_.word(head);
      if (write_.operands()) expression(rest);
      open_.emplace_back();
    } else if (head == "copy" || head == "multiply") {
      write_.word(head);
      box(rest);
    } else if (rest.find(' ') == std::string_view::npos) {  // producer_acquire a.shared
      write_.word(head);
      if (write_.operands()) write_.word(name_of(rest));
    } else {
      expression(line);
    }
  }

 private:
  // "main a f32[512,256] strides 1,512 stages 3"
  void buffer(std::string_view rest) {
    write_.word(take_word(rest));
    const std::string name(take_word(rest));
    const std::size_t number = buffers_.size();
    buffers_.emplace(name, fmt::format("${}", number));
    if (write_.operands()) write_.word(name_of(name));
    write_.shape(take_word(rest));
    while (!rest.empty()) {
      write_.word(take_word(rest));
      numbers(take_word(rest), ',');
    }
  }

  // "io < 8 {"
  void loop(std::string_view rest) {
    const std::string variable(take_word(rest));
    const std::string called = fmt::format("i{}", depth_++);
    open_.push_back(variable);
    variables_[variable] = called;
    if (write_.operands()) write_.word(called);
    take_word(rest);
    write_.number(take_word(rest));
  }

  void close() {
    if (open_.empty()) return;  // end of the program
    write_.word("}");
    if (!open_.back().empty()) --depth_;
    open_.pop_back();
  }

  // "a[0] = b[0] size 64x32 async"
  void box(std::string_view rest) {
    const std::size_t size = rest.rfind(" size ");
    if (write_.operands()) expression(rest.substr(0, size));
    rest.remove_prefix(size + 1);
    write_.word(take_word(rest));
    write_.shape(take_word(rest));
    while (!rest.empty()) write_.word(take_word(rest));
  }

  void numbers(std::string_view list, char separator) const {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(separator), list.size());
      write_.number(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }

  [[nodiscard]] std::string_view name_of(std::string_view name) const {
    if (const auto found = buffers_.find(name); found != buffers_.end()) return found->second;
    if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
    return name;
  }

  void expression(std::string_view text) {
    while (!text.empty()) {
      std::size_t size = 0;
      while (size < text.size() && is_constant_char(text[size])) ++size;
      if (text.substr(0, size).find(':') == std::string_view::npos) {
        size = 0;
        while (size < text.size() &&
               (is_name_char(text[size]) || (text[size] == '-' && size > 0))) {
          ++size;
        }
      }
      if (size == 0) {
        size = mark(text);
      } else {
        part(text.substr(0, size), text.substr(size));
      }
      if (!write_.operands() && text.substr(0, size) == "where") return;
      text.remove_prefix(size);
    }
  }

  // Length of a punctuation mark of one or two characters, or a blank.
  std::size_t mark(std::string_view text) {
    const std::size_t size = text.starts_with("<=") || text.starts_with("+=") ? 2 : 1;
    const bool assigns = text[0] == '=';
    if (text[0] != ' ' && (write_.operands() || assigns)) write_.word(text.substr(0, size));
    return size;
  }

  void part(std::string_view text, std::string_view rest) {
    const bool is_op = rest.starts_with('(') || rest.starts_with('=');
    if (is_op || text == "where") return write_.word(text);
    if (!write_.operands()) return;
    if (is_number(text)) return write_.number(text);
    write_.word(name_of(text));
  }

  TokenWriter write_;
  std::map<std::string, std::string, std::less<>> buffers_, variables_;
  std::vector<std::string> open_;  // variables of open loops; empty for guards
  int depth_ = 0;
};

}  // namespace

void loop_tokens(std::string_view text, const TextSpec& spec, const TokenSink& sink) {
  LoopTokens tokens(spec, sink);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    tokens.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

namespace {

using ir::Computation;
using ir::InstrId;
using ir::Instruction;

class StablehloTokens {
 public:
  StablehloTokens(const ir::Module& module, const TextSpec& spec, const TokenSink& sink)
      : module_(module), write_(spec, sink) {}

  void function(const Computation& computation) {
    std::vector<int> numbers(computation.instructions.size(), -1);
    arguments(computation, numbers);
    write_.word("->");
    types(computation.root_instruction().shape);
    body(computation, numbers);
  }

 private:
  void value(int number) const {
    if (write_.operands()) write_.word(fmt::format("%{}", number));
  }
  void types(const ir::Shape& shape) const {
    ir::for_each_leaf(shape, [&](const ir::Shape& leaf) { write_.shape(ir::printed_type(leaf)); });
  }

  void arguments(const Computation& computation, std::vector<int>& numbers) {
    for (const InstrId id : computation.parameters) {
      value(numbers[id.index()] = next_++);
      types(computation.at(id).shape);
    }
  }

  void body(const Computation& computation, std::vector<int>& numbers) {
    for (std::size_t i = 0; i < computation.instructions.size(); ++i) {
      const Instruction& instruction = computation.instructions[i];
      if (instruction.opcode == ir::Opcode::kParameter) continue;
      numbers[i] = op(computation, instruction, numbers);
    }
  }

  // Writes an op; returns the number of its value.
  int op(const Computation& computation, const Instruction& instruction,
         const std::vector<int>& numbers) {
    const ir::PrintedOp printed = ir::printed_op(computation, instruction);
    const int number = next_++;
    value(number);
    write_.word(printed.name);
    for (const InstrId operand : instruction.operands) value(numbers[operand.index()]);
    for (const ir::ComputationId id : instruction.called) {
      if (!printed.regions) break;
      const Computation& region = module_.at(id);
      std::vector<int> inner(region.instructions.size(), -1);
      arguments(region, inner);
      body(region, inner);
    }
    types(instruction.shape);
    if (!printed.several) return number;
    const int whole = next_++;
    value(whole);
    write_.word("stablehlo.tuple");
    for (std::size_t i = 0; write_.operands() && i < instruction.shape.elements.size(); ++i) {
      write_.word(fmt::format("%{}#{}", number, i));
    }
    types(instruction.shape);
    return whole;
  }

  const ir::Module& module_;
  TokenWriter write_;
  int next_ = 0;
};

}  // namespace

void stablehlo_tokens(const ir::Kernel& kernel, const TextSpec& spec, const TokenSink& sink) {
  const ir::Module module = ir::module_of(kernel);
  StablehloTokens(module, spec, sink).function(module.entry_computation());
}

const ParameterTable<TextSpec>& text_parameters() {
  static const ParameterTable<TextSpec> table = [] {
    ParameterTable<TextSpec> rows;
    rows.choice("text", &TextSpec::level, kTextLevels, "What tokens are read from.")
        .choice("text_tokens", &TextSpec::tokens, kTextTokens, "What of it is a token.")
        .choice("text_shapes", &TextSpec::shapes, kShapeTokens, "A shape: one token, or several.")
        .choice("text_numbers", &TextSpec::numbers, kNumberTokens,
                "A number: a token, its digits, or a feature of one token.")
        .number("text_least_count", &TextSpec::least_count, 1, 1e6,
                "Times a token stands in the training texts to be known.")
        .number("text_most_tokens", &TextSpec::most_tokens, 8, 8192,
                "Of a text; the rest is cut off.");
    return rows;
  }();
  return table;
}

}  // namespace tilecast::learned
