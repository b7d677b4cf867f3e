// The input tensors of an operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/stack.h>

#include "torch_plugin/binding.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch_plugin {

class Inputs {
 public:
  /// Draws from `seed` in the order in which tensors are made. `given` is as in the plug-in's interface.
  /// Throws Refusal for an unknown kind of data.
  Inputs(at::Device device, const std::string& data_kind, std::uint64_t seed,
         std::vector<JitterscopeTorchGiven> given);

  /// Makes a tensor of the recorded shape and strides, on the device or, if it was recorded so, on the host.
  at::Tensor make(const Binding& binding, const std::string& argument, const AtenArgument& recorded,
                  std::size_t position);
  /// Writes each tensor anew with the values it has, by a multiplication with one.
  void produce();
  /// True if the tensor lies in given memory that was already filled.
  bool was_filled(const at::Tensor& tensor) const;
  /// Returns one for each tensor: its whole memory.
  const std::vector<at::Tensor>& stored() const { return stored_; }

 private:
  void fill(at::Tensor& tensor, const Binding& binding, const std::string& argument, std::size_t position);
  void fill_real(at::Tensor& tensor, const Binding& binding, const std::string& argument);
  at::Generator& generator(at::Device device);

  at::Device device_;
  std::string data_kind_;
  at::Generator device_generator_, host_generator_;
  std::uint64_t seed_;
  std::vector<JitterscopeTorchGiven> given_;
  std::vector<at::Tensor> stored_;
};

// Values that an input may hold: indices must point into another tensor, probabilities lie between 0 and 1.

/// Values of real tensors.
enum class RealValues {
  any,            ///< as the user asks: normal, zeros…
  probabilities,  ///< from 0 to 1
  positive,       ///< variances: from 0.5 to 1.5
};
/// Values of integer tensors, from lowest to highest inclusive.
struct IntegerValues {
  std::int64_t lowest = 0, highest = 0;
};

RealValues real_values(const Binding& binding, const std::string& argument);
/// `position` is the index within a list of tensors. Returns zeros if nothing is known of the argument.
IntegerValues integer_values(const Binding& binding, const std::string& argument, std::size_t position);

// The indices of max pooling's gradient: places of the maxima.

/// Fills the indices of max pooling's gradient with those that pooling its own `self` gives. With others the
/// gradient would miss most of dy, which PyTorch's kernels look up by window. Does nothing for other
/// operators, or if the indices were filled before.
void point_at_maxima(const Binding& binding, const Inputs& inputs, torch::jit::Stack& arguments);

}  // namespace jitterscope::torch_plugin
