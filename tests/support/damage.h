// Damaged copies of valid inputs, for tests that readers accept or reject any bytes without a
// crash.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tilecast::support {

// Applies one to four random edits to `bytes`: flipped bits, bytes set to extremes or to syntax
// characters, parts cut, repeated, swapped or copied from `other`, truncation.
[[nodiscard]] std::string damaged(const std::string& bytes, std::mt19937_64& random,
                                  const std::string& other = {});

// Passes `count` damaged copies of the sources to `read`, which must return or throw
// tilecast::Error with a message in valid UTF-8. Expects that some are rejected.
void expect_answer_or_error(const std::vector<std::string>& sources, int count, std::uint64_t seed,
                            const std::function<void(const std::string&)>& read);

}  // namespace tilecast::support
