#include <utility>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_bias_add(const ParameterReader& reader) {
  BiasAdd bias;
  reader.require("n", bias.n);
  reader.require("c", bias.c);
  reader.require_both("hw", "h", bias.h, "w", bias.w);
  reader.read("dtype", bias.dtype);
  reader.read("layout", bias.layout);
  return bias;
}

std::int64_t elements(const BiasAdd& bias) { return limited_product({bias.n, bias.c, bias.h, bias.w}); }

}  // namespace

std::string_view name(const BiasAdd&) { return "bias_add"; }

void check(const BiasAdd& bias) {
  for (const auto& [parameter, value] :
       {std::pair{"n", bias.n}, std::pair{"c", bias.c}, std::pair{"h", bias.h}, std::pair{"w", bias.w}}) {
    check_range("bias_add", parameter, value, 1, kLargestDimension);
  }
}

void write(const BiasAdd& bias, ParameterWriter& writer) {
  writer.write("n", bias.n);
  writer.write("c", bias.c);
  writer.write_both("hw", "h", bias.h, "w", bias.w);
  writer.write("dtype", bias.dtype);
  writer.write("layout", bias.layout);
}

// One addition per element.
double flops(const BiasAdd& bias) { return static_cast<double>(elements(bias)); }

std::vector<Operand> operands(const BiasAdd& bias) {
  using enum OperandRole;
  return {{"x", input, bias.dtype, elements(bias)},
          {"bias", input, bias.dtype, bias.c},
          {"y", output, bias.dtype, elements(bias)}};
}

Kind bias_add() {
  return {{"bias_add",
           "y = x + bias of the channel, as PyTorch adds a convolution's bias",
           "bias_add:n=32,c=64,hw=112,dtype=f16",
           {{"n", "batch size", ""},
            {"c", "channels", ""},
            {"hw", "height and width", ""},
            {"h", "height, with w in place of hw", "hw"},
            {"w", "width, with h in place of hw", "hw"},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
            {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"}}},
          read_bias_add};
}

}  // namespace jitterscope::kinds
