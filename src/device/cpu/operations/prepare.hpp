// Builds each kind of operation; throws UsageError for what the CPU does not have.
#pragma once

#include <memory>

#include "device/cpu/operations/prepared.hpp"

namespace jitterscope::cpu {

std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputTable& inputs);

/// Own loops in double precision, for checking.
std::unique_ptr<PreparedOperation> prepare_double(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_onednn(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_elementwise(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_copy(const Operation& operation, const InputTable& inputs);
std::unique_ptr<PreparedOperation> prepare_spin(const Operation& operation, const InputTable& inputs);

}  // namespace jitterscope::cpu
