#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "hwdesc/config_reader.h"
#include "measured/importers/npz_reader.h"

namespace tilecast::measured {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::size_t kMaxRank = 8;

// {'descr': '<f4', 'fortran_order': False, 'shape': (372, 70), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        read_dtype(quoted(), header);
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = read_bool();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = read_shape();
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (!rest_.empty() || !descr || !order || !shape) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(where_ +
                ": not a header of a .npy array; expected {'descr': '<f4', "
                "'fortran_order': False, 'shape': (3, 4), }");
  }
  void skip() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  bool accept(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string quoted() {
    expect('\'');
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) fail();
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool read_bool() {
    skip();
    for (const std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return word == "True";
    }
    fail();
  }

  void read_dtype(const std::string& text, NpyHeader& header) const {
    const bool sized = text.size() == 3 && (text[0] == '<' || text[0] == '|');
    const std::string_view rest = sized ? std::string_view(text).substr(1) : "";
    constexpr std::string_view kKnown = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8";
    const std::size_t at = rest.empty() ? std::string_view::npos : kKnown.find(rest);
    if (at == std::string_view::npos || at % 3 != 0) {
      throw Error(fmt::format("{}: dtype {}, expected bool, an integer or a float, little-endian",
                              where_, hwdesc::show_text(text)));
    }
    header.kind = rest[0];
    header.bytes = static_cast<std::size_t>(rest[1] - '0');
    if (header.bytes > 1 && text[0] == '|') fail();
  }

  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    std::int64_t elements = 1;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc{} || size < 0 || shape.size() >= kMaxRank) fail();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (size > kMaxElements || (size > 0 && elements > kMaxElements / size)) {
        throw Error(fmt::format("{}: the array has more than {} elements", where_, kMaxElements));
      }
      elements *= size;
      shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view rest_;
  const std::string& where_;
};

}  // namespace

std::int64_t NpyHeader::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

NpyHeader parse_npy_header(std::string_view text, const std::string& where) {
  return HeaderParser(text, where).parse();
}

}  // namespace tilecast::measured
