// `study loss-scaling`: a process of Python trains, since only it can load what is trained.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "output/page.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope::cli {

struct Invocation;

/// What would be trained, by which Python. Throws UsageError for a target or a device that is none.
std::string training_plan_text(const std::vector<std::string>& targets, const std::string& device);

/// Trains what the one target names, python:FILE:FUNCTION, whose function returns a model and its loss;
/// without a target torchvision's ResNet-18. `device` is as open_device takes it. Throws UsageError for
/// another target or device, MissingError where Python lacks jitterscope, PyTorch or torchvision, FailedError
/// where it failed.
study::LossScalingRecord train_with_scales(const std::vector<std::string>& targets, const std::string& device,
                                           std::uint64_t seed, const Invocation& invocation);

}  // namespace jitterscope::cli
