// PyTorch's layers beside jitterscope's: the same engine, the same kernels, how the times compare.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/measurement.hpp"
#include "operation/model.hpp"
#include "pytorch/recording.hpp"

namespace jitterscope {

/// What PyTorch ran for an operation.
struct ReferenceLayer {
  Operation operation;
  std::string name;        ///< of its first call
  std::int64_t count = 0;  ///< in the recording
  std::string engine;      ///< plan's tag; empty where the log has none
  std::vector<std::string> kernels;
  std::optional<Nanoseconds> time;  ///< of one call, GPU time of its kernels
};

enum class Verdict { equal, differs, unknown };

struct ComparedLayer {
  ReferenceLayer reference;
  Result here;
  Verdict engine = Verdict::unknown;   ///< unknown where either side names none
  Verdict kernels = Verdict::unknown;  ///< unknown where either side has none
  std::optional<double> time_ratio;    ///< here over there, sums of kernels
};

/// Of one call, the sum of its kernels; zero where none are known.
Nanoseconds time_here(const ComparedLayer& layer);

/// Of all layers whose times are known on both sides.
struct TimeRatios {
  double median = 1.0, least = 1.0, most = 1.0;
};

struct PytorchComparison {
  std::string model, torch, cudnn;
  std::vector<ComparedLayer> layers;
  std::vector<UntimedOperator> not_compared;  ///< what PyTorch runs by kernels that only it has
  std::optional<Nanoseconds> recorded_gpu_time;
  std::string without_plans;  ///< as PytorchRecording has it
  bool interrupted = false;
  /// Something was compared, no engine and no kernel differs, and no layer failed here.
  bool is_equal() const;
  bool has_failure() const;
  std::optional<TimeRatios> time_ratios() const;
  /// Why there is no verdict at all, and what to do; empty where there is one.
  std::string nothing_compared() const;
};

/// The layers of a recording that a library outside PyTorch runs: convolutions, products, batch
/// normalization, cuDNN's attention. Their engines come from the log, by the operation.
std::vector<ReferenceLayer> reference_layers(const PytorchRecording& recording);
/// The others, by operator, with the share that they stand for.
std::vector<UntimedOperator> other_operators(const PytorchRecording& recording);

/// `here` must hold the kernels of a launch.
ComparedLayer compare_layer(ReferenceLayer reference, Result here);

}  // namespace jitterscope
