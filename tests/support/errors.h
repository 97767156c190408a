// How an action ends, for tests of error messages.
#pragma once

#include <string>

#include "base/error.h"

namespace tilecast::support {

// The message of the error that `action` throws, `otherwise` if it throws none. Exceptions other
// than `Expected` escape.
template <class Expected = Error, class Action>
std::string error_of(const Action& action, const std::string& otherwise = "no error") {
  try {
    (void)action();
  } catch (const Expected& error) {
    return error.what();
  }
  return otherwise;
}

}  // namespace tilecast::support
