// A network as PyTorch trains it, recorded there.
#pragma once

#include <functional>
#include <string>

#include "operation/model.hpp"
#include "operation/model_options.hpp"

namespace jitterscope {

struct RecordingRequest {
  std::string model;
  ModelOptions options;  ///< batch, dtype and layout apply
  std::string python = "python3";
  std::string device = "cuda";  ///< PyTorch's word: cuda or cpu
  std::function<bool()> interrupted;
};

struct PytorchRecording {
  Model trace;               ///< of `steps` steps of training, with kernels and times
  Model plans;               ///< what cudnn-frontend logged; no layers where it logged nothing
  std::string torch, cudnn;  ///< versions
  std::int64_t steps = 1;
};

/// Runs PyTorch as another process. Throws MissingError with PyTorch's own words where it, or a package of
/// it, is not there, UsageError for a network that PyTorch's side does not know, InterruptedError.
PytorchRecording record_training(const RecordingRequest& request);

/// What an earlier recording left: a profiler trace and, if there is one, a log of cudnn-frontend.
PytorchRecording read_recording(const std::string& trace, const std::string& log);

}  // namespace jitterscope
