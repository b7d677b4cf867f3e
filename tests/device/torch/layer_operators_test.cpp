// Layers by the PyTorch that the build found, on the operands that jitterscope drew for them, against the
// float64 reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "device/cpu/reference.hpp"
#include "device/operands.hpp"
#include "jitterscope/device.hpp"
#include "measure/verify.hpp"
#include "operation/aten_text.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope {
namespace {

/// Places of an nhwc tensor of n images, where PyTorch reads it row-major.
std::vector<std::int64_t> places(const Operation& layer, std::int64_t count) {
  std::vector<std::int64_t> result;
  const auto* pool = std::get_if<Pool2d>(&layer.parameters());
  const bool is_nhwc = pool != nullptr && pool->layout == Layout::nhwc;
  const std::int64_t c = is_nhwc ? pool->c : 1, plane = is_nhwc ? count / (pool->n * c) : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t image = i / (c * plane), channel = i / plane % c, pixel = i % plane;
    result.push_back((image * plane + pixel) * c + channel);
  }
  return result;
}

/// The forward pass of a maximum, for the indices that the backward pass reads; null for other layers.
std::unique_ptr<PreparedOperation> prepare_max_pool(Device& device, const Operation& layer) {
  const auto* pool = std::get_if<Pool2d>(&layer.parameters());
  if (pool == nullptr || pool->kind != PoolKind::max || pool->pass != Pass::backward) return nullptr;
  Pool2d forward = *pool;
  forward.pass = Pass::forward;
  return device.prepare(Operation(forward), {});
}

void expect_right(Device& device, const std::string& text) {
  SCOPED_TRACE(text);
  const Operation layer = Operation::parse(text);
  const auto aten = aten_of_layer(layer);
  ASSERT_TRUE(aten);
  const auto maxima = prepare_max_pool(device, layer);
  InputData data;
  if (maxima) data.shared = {{1, maxima.get(), 2}};
  const auto own = device.prepare(layer, data);
  if (maxima) maxima->run(nullptr);
  data.shared.clear();
  std::vector<std::vector<double>> inputs;
  const std::vector<Operand> operands = layer.operands();
  for (std::size_t i = 0; operands[i].role == OperandRole::input; ++i) {
    data.shared.push_back({aten->operands[i], own.get(), i});
    inputs.push_back(own->read_operand(i));
  }
  const auto by_torch = device.prepare(aten->operation, data);
  by_torch->run(nullptr);
  Reference reference(layer, inputs);
  const std::size_t tensors = tensor_sizes(std::get<Aten>(aten->operation.parameters())).size();
  for (std::size_t i = inputs.size(); i < operands.size(); ++i) {
    const std::vector<double> output = by_torch->read_operand(aten->operands[i] - tensors);
    ASSERT_EQ(static_cast<std::int64_t>(output.size()), operands[i].count);
    const std::vector<std::int64_t> at = places(layer, operands[i].count);
    double difference = 0.0, size = 0.0;
    for (std::size_t j = 0; j < output.size(); ++j) {
      const double expected = reference.element(i - inputs.size(), at[j]);
      difference += (output[j] - expected) * (output[j] - expected);
      size += expected * expected;
    }
    EXPECT_LE(std::sqrt(difference / size), verification_tolerance(layer.dtype())) << operands[i].name;
  }
}

TEST(LayerOperators, ComputeWhatTheLayersDo) {
  setenv("JITTERSCOPE_TORCH_PLUGIN", JITTERSCOPE_TORCH_PLUGIN_FILE, 1);
  const auto device = open_device("cpu");
  for (const char* kind :
       {"add", "mul", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "relu_backward", "relu6_backward",
        "sigmoid_backward", "tanh_backward", "silu_backward", "gelu_backward"}) {
    expect_right(*device, std::string(kind) + ":count=1003");
  }
  for (const char* pass : {"forward", "backward"}) {
    for (const char* shape :
         {"softmax:rows=7,columns=33", "log_softmax:rows=7,columns=33", "layer_norm:rows=7,columns=33",
          "embedding:count=30,rows=9,columns=5", "batch_norm:n=3,c=4,hw=5",
          "max_pool:n=2,c=3,h=9,w=8,window=3,stride=2,pad=1",
          "max_pool:n=2,c=3,h=9,w=8,window=3,stride=2,pad=1,layout=nhwc",
          "avg_pool:n=2,c=3,h=9,w=8,window=3x2,stride=2,pad=1x0", "avg_pool:n=2,c=3,hw=7,window=7",
          "avg_pool:n=2,c=3,hw=7,window=7,layout=nhwc"}) {
      expect_right(*device, std::string(shape) + ",pass=" + pass);
    }
  }
  expect_right(*device, "batch_norm:n=3,c=4,hw=5,pass=inference");
  expect_right(*device, "bias_add:n=3,c=4,hw=5");
  unsetenv("JITTERSCOPE_TORCH_PLUGIN");
}

}  // namespace
}  // namespace jitterscope
