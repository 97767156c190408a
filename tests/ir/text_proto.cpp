#include "tests/ir/text_proto.h"

#include <zlib.h>

#include <stdexcept>

namespace tilecast::support {
namespace {

class Reader {
 public:
  explicit Reader(std::string text) : text_(std::move(text)) {}

  std::vector<TextProto> fields() {
    std::vector<TextProto> found;
    for (skip(); at_ < text_.size() && text_[at_] != '}'; skip()) {
      TextProto& field = found.emplace_back();
      field.name = word();
      skip();
      if (text_.at(at_) == '{') {
        ++at_;
        field.fields = fields();
        if (text_.at(at_++) != '}') throw std::runtime_error("expects '}'");
      } else {
        if (text_.at(at_++) != ':') throw std::runtime_error("expects ':' after " + field.name);
        skip();
        field.value = text_.at(at_) == '"' ? string() : word();
      }
    }
    return found;
  }

 private:
  void skip() { at_ = std::min(text_.find_first_not_of(" \n", at_), text_.size()); }
  std::string word() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(" \n:{}\"", at_), text_.size());
    if (at_ == begin) throw std::runtime_error("expects a word");
    return text_.substr(begin, at_ - begin);
  }
  std::string string() {
    std::string out;
    for (++at_; text_.at(at_) != '"'; ++at_) {
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      const char c = text_.at(++at_);
      if (c >= '0' && c <= '7') {
        out += static_cast<char>(std::stoi(text_.substr(at_, 3), nullptr, 8));
        at_ += 2;
      } else {
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
    }
    ++at_;
    return out;
  }

  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<const TextProto*> TextProto::all(std::string_view field) const {
  std::vector<const TextProto*> found;
  for (const TextProto& one : fields) {
    if (one.name == field) found.push_back(&one);
  }
  return found;
}

const TextProto& TextProto::at(std::string_view field) const {
  static const TextProto kNone;
  const auto found = all(field);
  return found.empty() ? kNone : *found.front();
}

std::int64_t TextProto::number(std::string_view field, std::int64_t otherwise) const {
  const TextProto& found = at(field);
  return found.value.empty() ? otherwise : std::stoll(found.value);
}

std::vector<std::int64_t> TextProto::numbers(std::string_view field) const {
  std::vector<std::int64_t> values;
  for (const TextProto* one : all(field)) values.push_back(std::stoll(one->value));
  return values;
}

TextProto read_text_proto(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::string text;
  char block[1 << 16];
  for (int got = 0; (got = gzread(file, block, sizeof block)) > 0;) {
    text.append(block, static_cast<std::size_t>(got));
  }
  gzclose(file);
  return {"", "", Reader(std::move(text)).fields()};
}

}  // namespace tilecast::support
