#pragma once

#include <string>

#include "jitterscope/error.hpp"

namespace jitterscope::testing {

/// What the UsageError says that `action` throws; empty where it throws none.
template <class Action>
std::string usage_message(const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace jitterscope::testing
