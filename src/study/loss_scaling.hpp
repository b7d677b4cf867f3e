// The study of loss scaling, which trains a model instead of comparing operations; and a study's summary for
// lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope::study {

struct StudySummary {
  std::string_view id, question, concerns;
};

// Results of a Python process that trains in float16 with several scales of the loss.

inline constexpr StudySummary kLossScaling = {
    "loss-scaling", "Which scale of the loss does training in float16 need?",
    "a model of PyTorch and its loss (python:FILE:FUNCTION), or ResNet-18"};

/// The gradient of one layer's parameters, over the observed steps.
struct LayerGradients {
  std::string name;
  double underflow = 0.0;  ///< share that is zero, but not in float32
  double overflow = 0.0;   ///< share that is not finite
};

/// Training with one scale.
struct LossScalingArm {
  std::string name;          ///< none, 2^16, dynamic…
  std::int64_t skipped = 0;  ///< steps, because their gradients overflowed
  double underflow = 0.0, overflow = 0.0;
  std::optional<double> loss;  ///< mean of the last ten steps; nullopt if not finite
  Nanoseconds step;            ///< median
  double scale = 1.0;          ///< at the end
  std::vector<LayerGradients> layers;
};

struct LossScaling {
  std::string model;
  std::string way;  ///< how the gradients became half precision
  std::int64_t steps = 0;
  std::optional<double> float32_loss;
  Nanoseconds float32_step;
  std::vector<LossScalingArm> arms;
  std::vector<std::string> answers;  ///< sentences, the most important first
};

struct LossScalingRecord {
  Environment environment;
  DeviceDescription device;
  LossScaling found;
  bool interrupted = false;
};

}  // namespace jitterscope::study
