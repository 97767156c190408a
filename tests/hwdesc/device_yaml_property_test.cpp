// For any text the loader either loads it or explains the error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "hwdesc/device_check.h"
#include "hwdesc/device_yaml.h"
#include "hwdesc/plain_yaml.h"
#include "tests/support/folders.h"

namespace tilecast::hwdesc {
namespace {

// One random edit: a byte changed, a span removed, repeated or moved, or a YAML token inserted.
void mutate(std::string& text, std::mt19937_64& random) {
  static constexpr const char* kTokens[] = {
      "{",  "}",  "[",     "]",     ": ",     "- ",   "&a ", "*a", "\n",
      "\t", "\"", "'",     "null",  "1e999",  "-1",   "nan", "?",  "|",
      ">",  "%",  "---\n", "...\n", "!!int ", "\xff", "#",   "0",  "extends: tpu_v3\n"};
  const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  const std::size_t at = below(text.size());
  const std::size_t length = std::min(below(40), text.size() - at);
  switch (below(5)) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(below(256));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
      text.insert(below(text.size()), text.substr(at, length));
      break;
    default:
      text.insert(at, kTokens[below(std::size(kTokens))]);
  }
}

void expect_sound(const Device& device) {
  EXPECT_GE(device.memory.size(), 2u);
  for (const CheckResult& result : check(device)) EXPECT_TRUE(std::isfinite(result.computed_si));
  EXPECT_EQ(flatten(parse_device(print_device(device), device.name + ".yaml")), flatten(device));
}

std::string listing(const ConfigNode& node) {
  std::string text = fmt::format("{} {} {} '{}' (", static_cast<int>(node.kind), node.key,
                                 node.at.describe(), node.scalar);
  for (const ConfigNode& child : node.children) text += listing(child);
  return text + ")\n";
}

// As yaml-cpp reads it: the short reader takes no text with a tab.
std::string listing_by_yaml_cpp(const std::string& text, const std::string& file) {
  try {
    return listing(read_config(text + "\n# \t\n", file));
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(PlainYaml, GivesTheTreeOfYamlCppForEveryPresetAndForPartsWithFaults) {
  std::mt19937_64 random(21);
  int read = 0;
  for (const std::string& name : preset_names()) {
    const std::string path = preset_path(name), text = support::bytes_of(path);
    const auto whole = read_plain_yaml(text, path);
    ASSERT_TRUE(whole) << path;
    EXPECT_EQ(listing(*whole), listing_by_yaml_cpp(text, path));
    for (int i = 0; i < 200; ++i) {
      const std::size_t first = text.rfind('\n', random() % text.size()) + 1;
      std::string part = text.substr(first, 50 + random() % 300);
      part.erase(0, part.find_first_not_of(' '));
      for (std::uint64_t edits = random() % 3; edits > 0; --edits) mutate(part, random);
      const auto plain = read_plain_yaml(part, "part.yaml");
      const std::string expected = listing_by_yaml_cpp(part, "part.yaml");
      if (!plain || expected.ends_with("expected UTF-8 text")) continue;
      ++read;
      EXPECT_EQ(listing(*plain), expected) << part;
    }
  }
  EXPECT_GT(read, 500);
}

TEST(LoaderProperty, LoadsOrExplainsAThousandMutatedDescriptions) {
  const std::vector<std::string> presets = preset_names();
  ASSERT_FALSE(presets.empty());
  std::mt19937_64 random(20);
  int loaded = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string path = preset_path(presets[static_cast<std::size_t>(i) % presets.size()]);
    std::string text = support::bytes_of(path);
    for (std::size_t edits = 1 + random() % 3; edits > 0; --edits) mutate(text, random);
    try {
      const Device device = parse_device(text, path);
      ++loaded;
      expect_sound(device);
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10u);
    }
  }
  EXPECT_GT(loaded, 50) << "edits inside comments and texts leave a description valid";
  EXPECT_LT(loaded, 950);
}

TEST(LoaderProperty, LoadsOrExplainsAThousandRandomOverrides) {
  const Device base = load_device("tpu_v3");
  const auto rows = flatten(base);
  static constexpr const char* kValues[] = {"0",    "-1",     "1e308",  "1",     "null",    "{}",
                                            "[]",   "[[",     "1 GB/s", "1 MiB", "true",    "\n",
                                            "1 ns", "{a: 1}", "*x",     "",      "3 cycles"};
  std::mt19937_64 random(21);
  for (int i = 0; i < 1000; ++i) {
    const std::string& path = rows[random() % rows.size()].first;
    const std::string cut =
        path.substr(0, random() % 4 == 0 ? random() % path.size() : path.size());
    try {
      expect_sound(load_device("tpu_v3", {{cut, kValues[random() % std::size(kValues)]}}));
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 10u);
    }
  }
}

}  // namespace
}  // namespace tilecast::hwdesc
