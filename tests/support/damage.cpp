#include "tests/support/damage.h"

#include <string_view>

#include "base/error.h"
#include "base/random.h"

namespace tilecast::support {
namespace {

constexpr std::string_view kTelling = "{}()[]<>=,:;*#?%\"\\/-+._0123456789abefinx@!^~ \n\t\r";

std::size_t place(const std::string& bytes, std::mt19937_64& random) {
  return base::draw(random, bytes.size());
}

// A random part of up to 64 bytes.
std::string part_of(const std::string& bytes, std::mt19937_64& random) {
  return bytes.substr(place(bytes, random), 1 + base::draw(random, 64));
}

void edit(std::string& bytes, std::mt19937_64& random, const std::string& other) {
  const std::size_t at = place(bytes, random);
  switch (base::draw(random, 8)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << base::draw(random, 8));
      break;
    case 1:
      bytes[at] = "\x00\x7f\x80\xff"[base::draw(random, 4)];
      break;
    case 2:
      bytes[at] = kTelling[base::draw(random, kTelling.size())];
      break;
    case 3:
      bytes.insert(at, 1, kTelling[base::draw(random, kTelling.size())]);
      break;
    case 4:
      bytes.erase(at, 1 + base::draw(random, 16));
      break;
    case 5:
      bytes.insert(at, part_of(bytes, random));
      break;
    case 6:
      bytes.insert(at, part_of(other.empty() ? bytes : other, random));
      break;
    default:
      bytes.resize(at);
  }
  if (bytes.empty()) bytes = "\n";
}

// Whether all bytes form valid UTF-8 sequences (RFC 3629, lead bytes and counts).
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80   ? 0
                             : lead < 0xc2 ? 9
                             : lead < 0xe0 ? 1
                             : lead < 0xf0 ? 2
                             : lead < 0xf5 ? 3
                                           : 9;
    if (more > 3 || i + more >= text.size()) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += 1 + more;
  }
  return true;
}

}  // namespace

std::string damaged(const std::string& bytes, std::mt19937_64& random, const std::string& other) {
  std::string result = bytes.empty() ? "\n" : bytes;
  const auto edits = 1 + base::draw(random, 4);
  for (std::uint64_t i = 0; i < edits; ++i) edit(result, random, other);
  return result;
}

void expect_answer_or_error(const std::vector<std::string>& sources, int count, std::uint64_t seed,
                            const std::function<void(const std::string&)>& read) {
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    const std::string& source = sources[base::draw(random, sources.size())];
    const std::string& other = sources[base::draw(random, sources.size())];
    const std::string bytes = damaged(source, random, other);
    try {
      read(bytes);
    } catch (const Error& error) {
      ++refused;
      EXPECT_TRUE(is_utf8(error.what())) << "input " << i << ": " << error.what();
      EXPECT_FALSE(std::string_view(error.what()).empty()) << "input " << i;
    }
  }
  EXPECT_GT(refused, 0) << "of " << count << " damaged inputs none was refused";
}

}  // namespace tilecast::support
