// The tokens a model of text knows, by number: those of its training texts, and <unk> for others.
//
//   TokenCounts counts;
//   for (const KernelQuery& query : training) counts.add(query, device, spec);
//   Vocabulary vocabulary(spec, counts);
//   vocabulary.encode(query, device)          // numbers of its tokens
//
// On disk `vocabulary.csv` of a model's folder: format, version and settings, then a token a line,
// by number. hash() is of all of it and part of the model's schema. Values; thread-safe.
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
  // At most spec.most_tokens of the text.
  void add(const analytical::KernelQuery& query, const hwdesc::Device& device,
           const TextSpec& spec);
  void add(const std::vector<std::string>& tokens);
  [[nodiscard]] const std::map<std::string, std::size_t>& counts() const { return counts_; }

 private:
  std::map<std::string, std::size_t> counts_;
};

// The numbers of a text's tokens, and the values of those that have one.
struct TokenIds {
  std::vector<std::int32_t> ids;
  std::vector<float> values;
  std::size_t cut = 0;  // tokens behind most_tokens, left out
};

class Vocabulary {
 public:
  static constexpr std::int32_t kUnknown = 0;

  Vocabulary() = default;  // of no text
  // Tokens that stand there at least spec.least_count times, the most frequent first.
  Vocabulary(const TextSpec& spec, const TokenCounts& counts);

  [[nodiscard]] const TextSpec& spec() const { return spec_; }
  [[nodiscard]] std::size_t size() const { return tokens_.size(); }  // <unk> among them; or 0
  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  [[nodiscard]] std::span<const std::string> tokens() const { return tokens_; }
  [[nodiscard]] std::int32_t id(std::string_view token) const;  // or kUnknown
  // At least one number: of a text without tokens <unk>.
  [[nodiscard]] TokenIds encode(const analytical::KernelQuery& query,
                                const hwdesc::Device& device) const;
  [[nodiscard]] TokenIds encode(const std::vector<std::string>& tokens) const;

  [[nodiscard]] std::string hash() const;  // hex
  [[nodiscard]] std::string to_csv() const;
  // Throws Error that names the file and the line.
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

// Share of the tokens of these texts that the vocabulary does not know: unknown / all; none: 0.
class UnknownTokens {
 public:
  void add(const TokenIds& text);
  [[nodiscard]] double share() const { return all_ > 0 ? unknown_ / all_ : 0; }

 private:
  double unknown_ = 0, all_ = 0;
};

}  // namespace tilecast::learned
