#include "learned/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ir/op_hash.h"

namespace tilecast::learned {
namespace {

constexpr std::string_view kVocabularyFormat = "tilecast.vocabulary/1";
constexpr std::string_view kFormerSetting = "text_variants,0";  // saved models hash this line
constexpr std::string_view kUnknownText = "<unk>";

std::string header_of(const TextSpec& spec) {
  std::string text = fmt::format("format,{}\n", kVocabularyFormat);
  for (const Parameter<TextSpec>& parameter : text_parameters().parameters()) {
    text += fmt::format("{},{}\n", parameter.name, parameter.get(spec));
  }
  return text + fmt::format("{}\ntokens\n", kFormerSetting);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

void TokenCounts::add(const analytical::KernelQuery& query, const hwdesc::Device& device,
                      const TextSpec& spec) {
  int left = spec.most_tokens;
  std::string text;  // reused, to avoid an allocation per token
  for_each_token(query, device, spec, [&](const Token& token) {
    if (left-- <= 0) return;
    text.assign(token.text);
    ++counts_[text];
  });
}

void TokenCounts::add(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) ++counts_[token];
}

Vocabulary::Vocabulary(const TextSpec& spec, const TokenCounts& counts) : spec_(spec) {
  std::vector<std::pair<std::size_t, std::string>> known;
  for (const auto& [token, count] : counts.counts()) {
    if (count >= static_cast<std::size_t>(spec.least_count)) known.emplace_back(count, token);
  }
  std::ranges::stable_sort(known, std::ranges::greater(),
                           [](const auto& each) { return each.first; });
  tokens_.emplace_back(kUnknownText);
  for (auto& [count, token] : known) tokens_.push_back(std::move(token));
  number_tokens();
}

void Vocabulary::number_tokens() {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    ids_.emplace(tokens_[i], static_cast<std::int32_t>(i));
  }
}

std::int32_t Vocabulary::id(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? kUnknown : found->second;
}

TokenIds Vocabulary::encode(const analytical::KernelQuery& query,
                            const hwdesc::Device& device) const {
  TokenIds text;
  const auto most = static_cast<std::size_t>(spec_.most_tokens);
  for_each_token(query, device, spec_, [&](const Token& token) {
    if (text.ids.size() == most) {
      ++text.cut;
      return;
    }
    text.ids.push_back(id(token.text));
    text.values.push_back(static_cast<float>(token.value));
  });
  if (text.ids.empty()) text = {.ids = {kUnknown}, .values = {0}};
  return text;
}

TokenIds Vocabulary::encode(const std::vector<std::string>& tokens) const {
  TokenIds text;
  for (const std::string& token : tokens) text.ids.push_back(id(token));
  const auto most = static_cast<std::size_t>(spec_.most_tokens);
  text.cut = text.ids.size() - std::min(text.ids.size(), most);
  text.ids.resize(text.ids.size() - text.cut);
  if (text.ids.empty()) text.ids = {kUnknown};
  text.values.resize(text.ids.size(), 0);
  return text;
}

std::string Vocabulary::hash() const {
  ir::Hash128 hash;
  hash.add(to_csv());
  return fmt::format("{:016x}", hash.result()[0]);
}

std::string Vocabulary::to_csv() const {
  std::string text = header_of(spec_);
  for (const std::string& token : tokens_) text += token + "\n";
  return text;
}

Vocabulary Vocabulary::from_csv(const std::string& text, const std::string& file) {
  const auto fail = [&](std::size_t line, const std::string& what) {
    throw Error(fmt::format("{}:{}: {}", file, line, what));
  };
  Vocabulary read;
  std::string_view rest = text;
  const std::string format = fmt::format("format,{}", kVocabularyFormat);
  if (take_line(rest) != format) fail(1, fmt::format("expected '{}'", format));
  std::size_t number = 2;
  for (const Parameter<TextSpec>& parameter : text_parameters().parameters()) {
    const std::string_view line = take_line(rest);
    const std::string key = fmt::format("{},", parameter.name);
    if (!line.starts_with(key)) fail(number, fmt::format("expected '{}...'", key));
    try {
      parameter.set(read.spec_, line.substr(key.size()));
    } catch (const Error& error) {
      fail(number, error.what());
    }
    ++number;
  }
  for (const std::string_view line : {kFormerSetting, std::string_view("tokens")}) {
    if (take_line(rest) != line) fail(number, fmt::format("expected '{}'", line));
    ++number;
  }
  while (!rest.empty()) read.tokens_.emplace_back(take_line(rest));
  if (read.tokens_.empty() || read.tokens_.front() != kUnknownText) {
    fail(number, fmt::format("expected '{}' as the first token", kUnknownText));
  }
  read.number_tokens();
  if (read.ids_.size() != read.tokens_.size()) fail(number, "a token occurs twice");
  return read;
}

void UnknownTokens::add(const TokenIds& text) {
  all_ += static_cast<double>(text.ids.size());
  unknown_ += static_cast<double>(std::ranges::count(text.ids, Vocabulary::kUnknown));
}

}  // namespace tilecast::learned
