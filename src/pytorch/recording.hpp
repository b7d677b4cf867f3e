// Records the training of a network in PyTorch.
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
  std::string device = "cuda";  ///< PyTorch's name of the device, as in DeviceCapabilities
  std::function<bool()> interrupted;
};

struct PytorchRecording {
  Model trace;                ///< `steps` steps of training, with kernels and times
  Model plans;                ///< from cudnn-frontend's log; without layers if it logged nothing
  std::string without_plans;  ///< why a log has no plans: a network may have no convolution
  std::string torch, cudnn;   ///< versions
  std::int64_t steps = 1;
};

/// Reads a target, `resnet18:batch=4,dtype=f16`. Throws UsageError for a network or option unknown to the
/// script.
RecordingRequest recording_request(std::string_view target);

/// Runs PyTorch in another process. Throws MissingError with PyTorch's own words if PyTorch or a package is
/// missing, UsageError if the script rejects the request, FailedError if a signal ended it, InterruptedError.
PytorchRecording record_training(const RecordingRequest& request);

/// Reads an earlier recording: a profiler trace and, if there is one, a cudnn-frontend log. Throws UsageError
/// if a file is missing or the trace holds nothing. A log without plans is no error: the rest can be
/// compared.
PytorchRecording read_recording(const std::string& trace, const std::string& log);

}  // namespace jitterscope
