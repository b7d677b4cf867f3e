// Compares layers as PyTorch ran them with jitterscope's: engines, kernels and times.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/measurement.hpp"
#include "operation/model.hpp"
#include "pytorch/recording.hpp"

namespace jitterscope {

/// PyTorch's side: one operation as it ran there.
struct ReferenceLayer {
  Operation operation;
  std::string name;        ///< name of its first call
  std::int64_t count = 0;  ///< calls in the recording
  std::string engine;      ///< the plan's tag; empty if the log has none
  std::vector<std::string> kernels;
  std::optional<Nanoseconds> time;  ///< GPU time of the kernels of one call
};

enum class Verdict { equal, differs, unknown };

struct ComparedLayer {
  ReferenceLayer reference;
  Result here;
  Verdict engine = Verdict::unknown;   ///< unknown if either side names none
  Verdict kernels = Verdict::unknown;  ///< unknown if either side has none
  std::optional<double> time_ratio;    ///< time here divided by PyTorch's, as sums over kernels
};

/// Returns the time of one call here, summed over its kernels; zero if no kernels are known.
Nanoseconds time_here(const ComparedLayer& layer);

/// Ratios of the times, over all layers whose times are known on both sides.
struct TimeRatios {
  double median = 1.0, least = 1.0, most = 1.0;
};

struct PytorchComparison {
  std::string model, torch, cudnn;
  std::vector<ComparedLayer> layers;
  std::vector<UntimedOperator> not_compared;  ///< other operators, mostly run by kernels of PyTorch's own
  std::optional<Nanoseconds> recorded_gpu_time;
  std::string without_plans;  ///< as in PytorchRecording
  bool interrupted = false;
  /// True if something was compared, no engine and no kernel differs, and no layer failed here.
  bool is_equal() const;
  bool has_failure() const;
  std::optional<TimeRatios> time_ratios() const;
  /// Returns why nothing could be compared, and what to do; empty if something was compared.
  std::string nothing_compared() const;
};

/// Returns the layers that a library outside PyTorch runs: convolutions, products, batch normalization and
/// cuDNN's attention. Their engines come from the log, found by the operation.
std::vector<ReferenceLayer> reference_layers(const PytorchRecording& recording);
/// Returns all other operators of the recording, with their recorded times.
std::vector<UntimedOperator> other_operators(const PytorchRecording& recording);

/// Compares one layer; `here` must hold the kernels of a launch.
ComparedLayer compare_layer(ReferenceLayer reference, Result here);

}  // namespace jitterscope
