// Calls of cuDNN's API from before its graphs, which PyTorch still makes for batch normalization.
#pragma once

#include <optional>
#include <string>

#include "import/api_record.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::library_log {

/// Whether it launches work; others describe, ask and prepare.
bool is_legacy_call(const ApiRecord& record);

struct LegacyCall {
  std::optional<Operation> operation;
  std::string reason;         ///< where there is no operation
  bool lacks_engine = false;  ///< cuDNN chose it by an algorithm's number, which is no engine's
};
/// Nothing where the record is damaged.
std::optional<LegacyCall> read_legacy_call(const ApiRecord& record);

}  // namespace jitterscope::library_log
