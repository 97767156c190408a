// Damaged copies of valid inputs, for tests that readers answer or refuse, whatever the bytes.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tilecast::support {

// One to four random edits of `bytes`: bits flipped, bytes set to extremes or to characters that
// mean something, parts cut, repeated, swapped or moved in from `other`, the end cut off.
[[nodiscard]] std::string damaged(const std::string& bytes, std::mt19937_64& random,
                                  const std::string& other = {});

// Feeds `count` damaged copies of the sources to `read`: it must return or throw tilecast::Error
// with a message of valid UTF-8. Expects that some were refused.
void expect_answer_or_error(const std::vector<std::string>& sources, int count, std::uint64_t seed,
                            const std::function<void(const std::string&)>& read);

}  // namespace tilecast::support
