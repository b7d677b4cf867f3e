// One operator with its inputs, ready to run over and over.
#pragma once

#include <ATen/core/stack.h>

#include <memory>
#include <string>
#include <vector>

#include "torch_plugin/binding.hpp"
#include "torch_plugin/device_scope.hpp"
#include "torch_plugin/inputs.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch_plugin {

/// Gradients are off, and kernels are called as PyTorch's autograd calls them. Every function may throw.
class PreparedOperator {
 public:
  PreparedOperator(Aten aten, at::Device device, const JitterscopeTorchRequest& request);
  PreparedOperator(const PreparedOperator&) = delete;
  PreparedOperator& operator=(const PreparedOperator&) = delete;

  void run(void* stream);
  void produce_inputs(void* stream);

  const std::string& schema_name() const { return schema_name_; }
  bool waits_for_stream() const { return waits_; }
  /// Lists each range of memory once.
  std::vector<JitterscopeTorchRegion> memory() const;
  /// Lists tensors among the arguments, then outputs; no address if the next run may have another.
  std::vector<JitterscopeTorchRegion> operands() const;
  std::vector<at::Tensor> outputs() const;
  std::vector<double> read_output(std::size_t index);

 private:
  void make_inputs(const JitterscopeTorchRequest& request);
  void warm_up();
  void call();
  bool inputs_changed_shape() const;

  Aten aten_;
  Binding binding_;
  std::string schema_name_;
  MemoryPool pool_;  // outlives all tensors below
  void* stream_;
  std::unique_ptr<Inputs> inputs_;
  torch::jit::Stack arguments_, stack_;
  bool waits_ = false, fresh_views_ = false;
};

}  // namespace jitterscope::torch_plugin
