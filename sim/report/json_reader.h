// Strict reader of JSON documents: every error names file, line and column of its value.
//
//   const Document document(base::SourceText::read_file("run.json"));
//   for (const Value& kernel : document.root().list("kernels")) kernel.number("time_s");
//   // run.json:40:17: error: programs[0].kernels[2].time_s: got text, expected a number
//
// Unused keys are ignored, so that a schema may be extended. A Value refers to its Document.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/source_text.h"

namespace tilecast::sim::report {

using Json = nlohmann::ordered_json;
using JsonStep = std::variant<std::string, std::size_t>;  // a key or an index

class Document;

class Value {
 public:
  // Members of an object; Error if missing or of another type.
  [[nodiscard]] double number(std::string_view key) const { return at(key).number(); }  // finite
  [[nodiscard]] std::string text(std::string_view key) const { return at(key).text(); }
  [[nodiscard]] bool truth(std::string_view key) const;
  [[nodiscard]] Value object(std::string_view key) const;
  [[nodiscard]] std::vector<Value> list(std::string_view key) const { return at(key).elements(); }

  // And it is not null.
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  // This value itself, converted.
  [[nodiscard]] double number() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<Value> elements() const;  // of a list
  [[nodiscard]] const Json& json() const { return *json_; }
  // `file:line:col: error: path: message`.
  [[nodiscard]] Error error(std::string_view message) const;

 private:
  friend class Document;
  Value(const Document& document, const Json& json, std::vector<JsonStep> path)
      : document_(&document), json_(&json), path_(std::move(path)) {}
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] Value at(std::string_view key) const;  // Error if missing
  [[nodiscard]] Error unexpected(std::string_view expected) const;

  const Document* document_;
  const Json* json_;
  std::vector<JsonStep> path_;
};

class Document {
 public:
  // Throws Error at the place where the text is not valid JSON.
  explicit Document(base::SourceText text);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  [[nodiscard]] Value root() const { return {*this, json_, {}}; }
  [[nodiscard]] const base::SourceText& text() const { return text_; }

 private:
  base::SourceText text_;
  Json json_;
};

// The offset at which objects and lists are nested deeper than `levels`, in text that need not be
// valid JSON; nullopt if nowhere. Each level would take a hundred times its size in memory.
[[nodiscard]] std::optional<std::size_t> deeper_than(std::string_view json, std::size_t levels);

// The offset of the value under `path` in `text`, which must be valid JSON with such a value.
[[nodiscard]] std::size_t offset_of(std::string_view text, const std::vector<JsonStep>& path);

}  // namespace tilecast::sim::report
