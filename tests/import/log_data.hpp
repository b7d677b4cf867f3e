#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope::testing {

/// A file of tests/data; those that end in .gz are unpacked.
std::string test_data(std::string_view name);

/// text with its first `from` made into `to`. The test fails where there is none.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// All operations of a model, as text, in the order of its layers.
std::vector<std::string> operation_texts(const Model& model);
/// All notes, one per line.
std::string notes_of(const Model& model);
/// What holds for each model: every call is of a layer that has its name, no operation is there twice.
void expect_consistent(const Model& model);

}  // namespace jitterscope::testing
