// The tensors that an operator is given.
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
  /// Draws from `seed`, in the order in which tensors are made. Throws Refusal for a kind of data that is not
  /// known. `given`: as the plug-in's interface has it.
  Inputs(at::Device device, const std::string& data_kind, std::uint64_t seed,
         std::vector<JitterscopeTorchGiven> given);

  /// With the recorded shape and strides, on the device or, where it was recorded so, on the host.
  at::Tensor make(const Binding& binding, const std::string& argument, const AtenArgument& recorded,
                  std::size_t position);
  /// Writes each anew with the values it has, by a multiplication with one.
  void produce();
  /// It lies in memory that was given, and was filled there.
  bool was_filled(const at::Tensor& tensor) const;
  /// One for each tensor: its whole memory.
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

// What an input may hold: indices must point into another tensor, probabilities lie between 0 and 1.

/// Of real numbers.
enum class RealValues {
  any,            ///< as the user asks: normal, zeros…
  probabilities,  ///< from 0 to 1
  positive,       ///< variances: from 0.5 to 1.5
};
/// Of integers: each from lowest to highest.
struct IntegerValues {
  std::int64_t lowest = 0, highest = 0;
};

RealValues real_values(const Binding& binding, const std::string& argument);
/// `position`: within a list of tensors. Zeros where nothing is known of the argument.
IntegerValues integer_values(const Binding& binding, const std::string& argument, std::size_t position);

// Where the maxima of a pooling are: what its gradient takes them from.

/// Of max pooling's gradient: fills its indices with those that pooling its own `self` gives. Elsewhere in
/// the plane they would send the gradient past most of dy, which PyTorch's kernels look up by window. Nothing
/// for other operators, and for indices that were filled before.
void point_at_maxima(const Binding& binding, const Inputs& inputs, torch::jit::Stack& arguments);

}  // namespace jitterscope::torch_plugin
