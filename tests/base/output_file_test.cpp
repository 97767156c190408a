#include "base/output_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/archive.h"
#include "base/source_text.h"
#include "tests/support/errors.h"
#include "tests/support/folders.h"

namespace tilecast::base {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputFile : public ::testing::Test, protected support::Folder {
 protected:
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder()), {}));
  }
  // The error message; "" if nothing is thrown.
  template <class Do>
  static std::string refusal(const Do& what) {
    return support::error_of([&] { what(); }, "");
  }
  [[nodiscard]] std::string refused_reading(const std::string& path) const {
    return refusal([&] { (void)SourceText::read_bytes(path); });
  }
};

TEST_F(OutputFile, KeepsTheModeTheSymbolicLinksAndTheNamesOfWhatItReplaces) {
  write("file", "old");
  fs::permissions(at("file"), fs::perms(0640));
  fs::create_symlink("file", at("link"));
  fs::create_symlink("link", at("link_to_link"));
  replace_file(at("link_to_link"), "new");
  EXPECT_EQ(read("file"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link_to_link")));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(fs::status(at("file")).permissions(), fs::perms(0640));
  fs::create_hard_link(at("file"), at("other_name"));
  replace_file(at("file"), "newer");
  EXPECT_EQ(read("other_name"), "newer");
  fs::create_symlink("not_there_yet", at("dangling"));
  replace_file(at("dangling"), "made");
  EXPECT_EQ(read("not_there_yet"), "made");
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(files(), 6U);  // and no temporary file
}

TEST_F(OutputFile, LeavesWhatWasThereWhereItCannotWrite) {
  EXPECT_THAT(refusal([&] { replace_file(at("no/such/file"), "text"); }),
              HasSubstr("no/such/file: cannot write it: "));
  fs::create_directory(at("folder"));
  EXPECT_NE(refusal([&] { replace_file(at("folder"), "text"); }), "");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFile, ThatIsClaimedIsReadUnderNoName) {
  write("mine", "text");
  write("apart", "text");
  fs::create_hard_link(at("mine"), at("hard"));
  fs::create_symlink("mine", at("soft"));
  EXPECT_EQ(refused_reading(at("mine")), "");
  std::optional<OutputClaim> claim(at("soft"));
  for (const char* name : {"mine", "hard", "soft", "./mine"}) {
    EXPECT_THAT(refused_reading(at(name)), HasSubstr("would be lost")) << name;
  }
  EXPECT_EQ(refused_reading(at("apart")), "");
  EXPECT_THAT(refusal([&] { OutputClaim(at("hard")); }), HasSubstr("would be lost"));
  const OutputClaim new_file(at("new"));  // does not exist yet
  EXPECT_NE(refusal([&] { OutputClaim(at("./new")); }), "");
  const OutputClaim one("/dev/null"), two("/dev/null");
  claim.reset();
  EXPECT_EQ(refused_reading(at("mine")), "");
}

TEST_F(OutputFile, OfAFolderCoversWhatIsInIt) {
  fs::create_directories(at("set/kernels"));
  fs::create_directory(at("set2"));
  write("set/kernels/a", "text");
  write("set2/a", "text");
  const OutputClaim claim(at("set"), Output::kFolder);
  EXPECT_THAT(refused_reading(at("set2/../set/kernels/a")), HasSubstr("would be lost"));
  EXPECT_EQ(refused_reading(at("set2/a")), "");
  EXPECT_THAT(refusal([&] { OutputClaim(at("set2")); }), HasSubstr("expected a file"));
}

TEST_F(OutputFile, AFolderTakesItsPlaceWholeOrGoesAway) {
  fs::create_directory(at("set"));
  write("set/old", "old");
  {
    FolderBeside unused(at("set"));
    std::ofstream(unused.path() / "new") << "unused";
  }
  EXPECT_EQ(read("set/old"), "old");
  {
    FolderBeside fresh(at("set"));
    std::ofstream(fresh.path() / "new") << "new";
    fresh.take_place();
  }
  EXPECT_EQ(read("set/new"), "new");
  EXPECT_FALSE(fs::exists(at("set/old")));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFile, ThatGrowsHasOneWriter) {
  using enum GrowingFile::Begin;
  {
    GrowingFile first(at("file"), kNewOrOn);
    first.append("one\ntwo");
    EXPECT_THAT(refusal([&] { GrowingFile(at("file"), kNewOrOn); }), HasSubstr("another process"));
    EXPECT_EQ(first.contents(), "one\ntwo");
    first.cut(4);
    first.append("2\n");
  }
  EXPECT_EQ(read("file"), "one\n2\n");
  EXPECT_THAT(refusal([&] { GrowingFile(at("file"), kNew, "is there"); }), HasSubstr("is there"));
  GrowingFile(at("file"), kNewOrOn).append("3\n");
  EXPECT_EQ(read("file"), "one\n2\n3\n");
}

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
