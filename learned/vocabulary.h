// Vocabulary of a model of text: numbers the tokens of its training texts, and <unk> for others.
//
//   TokenCounts counts;
//   for (const KernelQuery& query : training) counts.add(query, device, spec);
//   Vocabulary vocabulary(spec, counts);
//   vocabulary.encode(query, device)          // token numbers
//
// Stored as `vocabulary.csv` in a model's folder: format, version and settings, then one token per
// line, by number. hash() covers the whole file and is part of the model's schema. Values;
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "learned/tokens.h"

namespace tilecast::learned {

class TokenCounts {
 public:
  // Counts at most spec.most_tokens of the text.
  void add(const analytical::KernelQuery& query, const hwdesc::Device& device,
           const TextSpec& spec);
  void add(const std::vector<std::string>& tokens);
  [[nodiscard]] const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  std::map<std::string, std::size_t> counts_;
};

// Token numbers of a text, and the values of tokens that have one.
struct TokenIds {
  std::vector<std::int32_t> ids;
  std::vector<float> values;
  std::size_t cut = 0;  // number of tokens cut off after most_tokens
};

class Vocabulary {
 public:
  static constexpr std::int32_t kUnknown = 0;

  Vocabulary() = default;  // empty
  // Tokens with at least spec.least_count occurrences, most frequent first.
  Vocabulary(const TextSpec& spec, const TokenCounts& counts);

  [[nodiscard]] const TextSpec& spec() const { return spec_; }
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }  // including <unk>; 0 if empty
  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  [[nodiscard]] std::span<const std::string> tokens() const { return tokens_; }
  [[nodiscard]] std::int32_t id(std::string_view token) const;  // kUnknown if not in the vocabulary
  // Returns at least one number: <unk> for a text without tokens.
  [[nodiscard]] TokenIds encode(const analytical::KernelQuery& query,
                                const hwdesc::Device& device) const;
  [[nodiscard]] TokenIds encode(const std::vector<std::string>& tokens) const;

  [[nodiscard]] std::string hash() const;  // hex
  [[nodiscard]] std::string to_csv() const;
  // Throws Error with file and line.
  [[nodiscard]] static Vocabulary from_csv(const std::string& text, const std::string& file);
  friend bool operator==(const Vocabulary& a, const Vocabulary& b) {
    return a.spec_ == b.spec_ && a.tokens_ == b.tokens_;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  void number_tokens();

  TextSpec spec_;
  std::vector<std::string> tokens_;  // by number
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> ids_;
};

// Share of unknown tokens in the added texts; 0 without texts.
class UnknownTokens {
 public:
  void add(const TokenIds& text);
  [[nodiscard]] double share() const { return all_ > 0 ? unknown_ / all_ : 0; }

 private:
  double unknown_ = 0, all_ = 0;
};

}  // namespace tilecast::learned
