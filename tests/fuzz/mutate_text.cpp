#include "tests/fuzz/mutate_text.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace tilecast::fuzz {
namespace {

using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t count) {
  return count == 0 ? 0 : random() % count;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string with_other_lines(std::string_view text, Random& random) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.empty()) return std::string(text);
  const std::size_t a = below(random, lines.size()), b = below(random, lines.size());
  switch (random() % 4) {
    case 0:
      std::swap(lines[a], lines[b]);
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(b), std::string(lines[a]));
      break;
    case 2:
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(a));
      break;
    default:
      lines[a] = lines[b];
  }
  return joined(lines);
}

struct Span {
  std::size_t begin, length;
};

// Maximal runs of characters for which `is` is true.
template <typename Is>
std::vector<Span> runs(std::string_view text, Is is) {
  std::vector<Span> found;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && is(text[end])) ++end;
    found.push_back({at, end - at});
    at = end;
  }
  return found;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         c == '%';
}

std::string with_other_number(std::string text, Random& random) {
  static constexpr const char* kNumbers[] = {
      "0",    "1",  "2",     "3",          "7",          "128",
      "4096", "-1", "65536", "2147483648", "4294967296", "9223372036854775807"};
  const std::vector<Span> numbers = runs(text, is_digit);
  if (numbers.empty()) return text;
  const Span at = numbers[below(random, numbers.size())];
  return text.replace(at.begin, at.length, kNumbers[random() % std::size(kNumbers)]);
}

// Swaps words: names of operands, opcodes, types, keys and values.
std::string with_other_word(std::string text, Random& random) {
  const std::vector<Span> words = runs(text, is_word);
  if (words.size() < 2) return text;
  const Span to = words[below(random, words.size())], from = words[below(random, words.size())];
  const std::string word = text.substr(from.begin, from.length);
  return text.replace(to.begin, to.length, word);
}

}  // namespace

std::string mutated_text(std::string text, unsigned seed) {
  Random random(seed);
  switch (random() % 3) {
    case 0:
      return with_other_lines(text, random);
    case 1:
      return with_other_number(std::move(text), random);
    default:
      return with_other_word(std::move(text), random);
  }
}

}  // namespace tilecast::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string made = tilecast::fuzz::mutated_text(text, seed / 4);
  const std::size_t kept = std::min(made.size(), most);
  std::memcpy(data, made.data(), kept);
  return kept;
}
