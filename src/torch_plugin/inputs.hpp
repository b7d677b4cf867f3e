// The tensors that an operator is given.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

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

}  // namespace jitterscope::torch_plugin
