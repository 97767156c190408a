#include "measured/importers/json_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

#include "base/error.h"

namespace tilecast::measured {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxFields = std::size_t{1} << 20;

// The bytes of a source, for the parser, with a limit on the bytes between two records.
class Bytes final : public std::streambuf {
 public:
  explicit Bytes(ByteSource& source) : source_(source) {}
  [[nodiscard]] bool at_end() { return sgetc() == traits_type::eof(); }
  void record_ends() { since_record_ = 0; }

 private:
  int_type underflow() override {
    since_record_ += buffer_.size();
    if (since_record_ > kMaxRecordBytes) {
      throw Error(source_.path() + ": a record, or what stands between two, is above 16 MiB");
    }
    buffer_.clear();
    source_.read_more(buffer_);
    setg(buffer_.data(), buffer_.data(), buffer_.data() + buffer_.size());
    return buffer_.empty() ? traits_type::eof() : traits_type::to_int_type(buffer_.front());
  }

  ByteSource& source_;
  std::string buffer_;
  std::size_t since_record_ = 0;
};

// Converts parser events to records. `open_` has, per open container, the name of its next scalar.
class Handler final : public nlohmann::json::json_sax_t {
 public:
  Handler(const std::string& file, const JsonRecordReader& reader, Bytes& bytes)
      : file_(file), reader_(reader), bytes_(bytes) {}

  bool null() override { return scalar("null", false); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false", false); }
  bool number_integer(number_integer_t value) override {
    return scalar(fmt::format("{}", value), false);
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(fmt::format("{}", value), false);
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return scalar(text, false);
  }
  bool string(string_t& value) override { return scalar(std::move(value), true); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return open(false); }
  bool start_array(std::size_t /*elements*/) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    if (!whole_.empty()) return true;
    path_.resize(open_.back().prefix);
    if (open_.size() == base_) {
      record_key_ = value;
    } else {
      if (!path_.empty()) path_ += '.';
      path_ += value;
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    if (reader_.may_be_unfinished && bytes_.at_end() && open_.size() == base_ && fields_.empty()) {
      return false;
    }
    std::string what = error.what();
    what.erase(0, what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2);
    throw Error(fmt::format("{}: byte {}: {}", file_, position, what));
  }

 private:
  struct Open {
    bool is_array = false;
    std::size_t prefix = 0;  // length of this container's name in path_
  };

  bool open(bool is_array) {
    if (!whole_.empty() || (reader_.whole_arrays && is_array && open_.size() > base_)) {
      return open_whole();
    }
    if (open_.size() >= kMaxDepth) {
      throw Error(fmt::format("{}: nested deeper than {}", file_, kMaxDepth));
    }
    const bool is_container =
        base_ == kOutside && ((open_.size() == 1 && path_ == reader_.container) ||
                              (open_.empty() && is_array && reader_.top_array));
    if (in_array() && open_.size() != base_) path_ += "[]";
    if (is_container) {
      path_.clear();
      base_ = open_.size() + 1;
    }
    open_.push_back({is_array, path_.size()});
    return true;
  }

  // An array that is kept as one field, or what is nested in it.
  bool open_whole() {
    if (open_.size() + whole_.size() >= kMaxDepth) {
      throw Error(fmt::format("{}: nested deeper than {}", file_, kMaxDepth));
    }
    std::vector<JsonField>& list = whole_.empty() ? fields_ : whole_.back()->items;
    whole_.push_back(&list.emplace_back(whole_.empty() ? path_ : std::string()));
    return true;
  }

  bool close() {
    if (!whole_.empty()) {
      whole_.pop_back();
      return true;
    }
    open_.pop_back();
    path_.resize(open_.empty() ? 0 : open_.back().prefix);
    if (open_.size() == base_) {
      reader_.record(record_key_, fields_);
      fields_.clear();
      bytes_.record_ends();
    } else if (open_.size() + 1 == base_) {
      base_ = kOutside;
    }
    return true;
  }

  bool scalar(std::string text, bool is_text) {
    if (!whole_.empty()) {
      whole_.back()->items.emplace_back(std::string(), std::move(text), is_text);
      return true;
    }
    std::string path = path_;
    if (in_array()) path += "[]";
    JsonField field{std::move(path), std::move(text), is_text};
    if (base_ == kOutside) {
      reader_.header(field);
    } else if (open_.size() > base_) {
      if (fields_.size() >= kMaxFields) {
        throw Error(fmt::format("{}: a record has more than {} values", file_, kMaxFields));
      }
      fields_.push_back(std::move(field));
    } else {
      throw Error(fmt::format("{}: '{}' holds {}, expected only objects", file_, reader_.container,
                              field.text.substr(0, 60)));
    }
    return true;
  }

  [[nodiscard]] bool in_array() const { return !open_.empty() && open_.back().is_array; }

  static constexpr std::size_t kOutside = SIZE_MAX;
  const std::string& file_;
  const JsonRecordReader& reader_;
  Bytes& bytes_;
  std::vector<Open> open_;
  std::size_t base_ = kOutside;  // number of open containers, including that of the records
  std::string path_, record_key_;
  std::vector<JsonField*> whole_;  // arrays kept whole that are open, outermost first
  JsonRecord fields_;
};

}  // namespace

const std::string* find_field(const JsonRecord& record, std::string_view path) {
  const auto found = std::find_if(record.begin(), record.end(),
                                  [&](const JsonField& field) { return field.path == path; });
  return found == record.end() ? nullptr : &found->text;
}

bool read_json_records(ByteSource& source, const JsonRecordReader& reader) {
  Bytes bytes(source);
  Handler handler(source.path(), reader, bytes);
  std::istream in(&bytes);
  return nlohmann::json::sax_parse(in, &handler);
}

}  // namespace tilecast::measured
