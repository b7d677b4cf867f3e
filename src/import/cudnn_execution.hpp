// Executions of plans in a log of cuDNN 9.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/api_record.hpp"
#include "import/log_convolution.hpp"

namespace jitterscope::library_log {

struct CudnnExecution {
  std::int64_t line = 0;
  std::string thread;
  std::string name;    ///< of its operations: CONVOLUTION_FORWARD
  std::string reason;  ///< why it is not timed; empty where `convolution` holds it
  std::optional<LoggedConvolution> convolution;
  std::string engine;  ///< its tag; empty where a knob is not known
  bool tensor_cores = false;
  bool may_use_tf32 = true;  ///< of cuDNN itself, which NVIDIA_TF32_OVERRIDE=0 takes away
};

/// Of a record of cudnnBackendExecute with its plan. Nothing where it is damaged.
std::optional<CudnnExecution> read_execution(const ApiRecord& record);

/// A tensor or filter descriptor, of the graph API or the one before it.
LoggedTensor read_tensor(const ApiFields& descriptor);

/// "9.19.0" of 91900, "8.2.4" of 8204.
std::string cudnn_version(std::string_view number);

}  // namespace jitterscope::library_log
