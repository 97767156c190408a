#include "base/archive.h"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zip.h>

#include <filesystem>
#include <fstream>

#include "base/source_text.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// a.zip with k.txt and in/k.txt of 100,000 bytes.
class ArchiveFile : public ::testing::Test, protected support::Folder {
 protected:
  ArchiveFile() {
    pack("text");
    write("plain.txt", "PK is how it begins");
    write("beside.txt", "not in it");
  }

  void pack(const std::string& text) const {
    int code = 0;
    zip_t* archive = zip_open(at("a.zip").c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    const auto add = [&](const char* name, const std::string& bytes) {
      zip_file_add(archive, name, zip_source_buffer(archive, bytes.data(), bytes.size(), 0),
                   ZIP_FL_ENC_UTF_8);
    };
    add("k.txt", text);
    add("in/k.txt", large_);
    add("../beside.txt", text);
    ASSERT_EQ(zip_close(archive), 0);
  }
  [[nodiscard]] std::string error(const std::string& path, std::size_t most = 1 << 20) const {
    return support::error_of([&] { return SourceText::read_file(at(path), most); }, "read");
  }
  // Overwrites the four bytes at `offset` of the central entry of in/k.txt with `value`.
  void patch(std::size_t offset, std::uint32_t value) const {
    std::string bytes = read("a.zip");
    std::size_t entry = 0;
    for (std::size_t i = 0; (i = bytes.find("PK\x01\x02", i)) != std::string::npos; ++i) {
      if (bytes.substr(i + 46, 8) == "in/k.txt") entry = i;
    }
    for (int i = 0; i < 4; ++i) bytes[entry + offset + i] = static_cast<char>(value >> (8 * i));
    write("a.zip", bytes);
  }

  std::string large_ = std::string(100'000, 'x');
};

TEST_F(ArchiveFile, ItsEntriesAreReadAsFiles) {
  EXPECT_TRUE(is_archive(at("a.zip")));
  EXPECT_FALSE(is_archive(at("plain.txt")));
  EXPECT_TRUE(is_file(at("a.zip/in/k.txt")));
  EXPECT_TRUE(is_file(at("./none/../a.zip/k.txt")));
  EXPECT_FALSE(is_file(at("a.zip/in")));
  EXPECT_FALSE(is_file(at("plain.txt/k.txt")));
  EXPECT_EQ(SourceText::read_file(at("a.zip/k.txt")).text(), "text");
  EXPECT_EQ(SourceText::read_file(at("a.zip/in/k.txt")).text(), large_);
  EXPECT_EQ(SourceText::read_file(at("a.zip/k.txt")).file(), at("a.zip/k.txt"));
  EXPECT_FALSE(read_archived(at("beside.txt"), 100).has_value());
}

TEST_F(ArchiveFile, WhatIsNotInItIsAnError) {
  EXPECT_THAT(error("a.zip/none"), HasSubstr("a.zip/none: no such file in the archive"));
  EXPECT_THAT(error("plain.txt/k"), HasSubstr("plain.txt/k: cannot open"));
  EXPECT_THAT(error("a.zip/in/k.txt", 99'999), HasSubstr("larger than the limit of 99999 bytes"));
}

TEST_F(ArchiveFile, APathThatLeavesItIsNoEntryOfThatName) {
  EXPECT_THAT(error("a.zip/../beside.txt"), HasSubstr("beside.txt: cannot open"));
  EXPECT_FALSE(is_file(at("a.zip/../../beside.txt")));
}

TEST_F(ArchiveFile, ASizeThatCannotBeRightIsNotBelieved) {
  patch(24, 0x7fffffff);  // uncompressed size
  EXPECT_THAT(error("a.zip/in/k.txt", std::size_t{1} << 32), HasSubstr("cannot be right"));
}

TEST_F(ArchiveFile, ADamagedEntryIsAnError) {
  ASSERT_EQ(error("a.zip/in/k.txt"), "read");
  fs::last_write_time(at("a.zip"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  patch(16, 0x12345678);  // the checksum
  EXPECT_THAT(error("a.zip/in/k.txt"), HasSubstr("a.zip/in/k.txt: "));
  EXPECT_EQ(error("a.zip/k.txt"), "read");
}

TEST_F(ArchiveFile, AReplacedArchiveIsReadAnew) {
  ASSERT_EQ(SourceText::read_file(at("a.zip/k.txt")).text(), "text");
  pack("other text");
  EXPECT_EQ(SourceText::read_file(at("a.zip/k.txt")).text(), "other text");
}

}  // namespace
}  // namespace tilecast::base
