// A network as PyTorch trains it, recorded there.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "operation/model.hpp"

namespace jitterscope {

struct RecordingRequest {
  std::string model;
  ModelOptions options;  ///< batch, dtype and layout apply
  std::string python = "python3";
  std::string device = "cuda";  ///< PyTorch's word, as of DeviceCapabilities
  std::function<bool()> interrupted;
};

struct PytorchRecording {
  Model trace;                ///< of `steps` steps of training, with kernels and times
  Model plans;                ///< what cudnn-frontend logged; no layers where it logged nothing
  std::string without_plans;  ///< why there are none though there is a log: a network may have no convolution
  std::string torch, cudnn;   ///< versions
  std::int64_t steps = 1;
};

/// Of `resnet18:batch=4,dtype=f16`. Throws UsageError for a network or an option that PyTorch's side does not
/// have.
RecordingRequest recording_request(std::string_view target);

/// Runs PyTorch as another process. Throws MissingError with PyTorch's own words where it, or a package of
/// it, is not there, UsageError where the script knows less than recording_request(), FailedError where a
/// signal ended it, InterruptedError.
PytorchRecording record_training(const RecordingRequest& request);

/// What an earlier recording left: a profiler trace and, if there is one, a log of cudnn-frontend. Throws
/// UsageError where a file is not there or the trace holds nothing; without plans the rest can be compared.
PytorchRecording read_recording(const std::string& trace, const std::string& log);

}  // namespace jitterscope
