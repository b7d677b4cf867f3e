#include <fmt/format.h>

#include <utility>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/limits.hpp"
#include "operation/statistics_type.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_batch_norm(const ParameterReader& reader) {
  BatchNorm norm;
  reader.require("n", norm.n);
  reader.require("c", norm.c);
  reader.require_both("hw", "h", norm.h, "w", norm.w);
  reader.read("dtype", norm.dtype);
  reader.read("layout", norm.layout);
  reader.read("pass", norm.pass);
  reader.read("weights", norm.weights);
  return norm;
}

}  // namespace

std::string_view name(const BatchNorm&) { return "batch_norm"; }

void check(const BatchNorm& norm) {
  for (const auto& [parameter, value] :
       {std::pair{"n", norm.n}, std::pair{"c", norm.c}, std::pair{"h", norm.h}, std::pair{"w", norm.w}}) {
    check_range("batch_norm", parameter, value, 1, kLargestDimension);
  }
  if (norm.weights == DataType::f32 || norm.weights == converted_weights_type(norm.dtype)) return;
  throw UsageError(
      fmt::format("batch_norm: weights={} beside dtype={}: they are f32, or of the dtype where that "
                  "is f16 or bf16; leave weights out",
                  to_string(norm.weights), to_string(norm.dtype)));
}

void write(const BatchNorm& norm, ParameterWriter& writer) {
  writer.write("n", norm.n);
  writer.write("c", norm.c);
  writer.write_both("hw", "h", norm.h, "w", norm.w);
  writer.write("dtype", norm.dtype);
  writer.write("layout", norm.layout);
  writer.write_unless(Pass::forward, "pass", norm.pass);
  writer.write_unless(DataType::f32, "weights", norm.weights);
}

// Per element of x; what is done once for a channel is left out. Forward: mean 1, variance 3, scaling and
// shifting 4. Inference: scaling and shifting. Backward: normalizing x again 2, the sums of dy and of
// dy times it 3, dx from them 4.
double flops(const BatchNorm& norm) {
  const double elements = static_cast<double>(norm.n) * static_cast<double>(norm.c) *
                          static_cast<double>(norm.h) * static_cast<double>(norm.w);
  switch (norm.pass) {
    case Pass::forward: return 8.0 * elements;
    case Pass::backward: return 9.0 * elements;
    case Pass::inference: return 4.0 * elements;
  }
  return 0.0;
}

std::vector<Operand> operands(const BatchNorm& norm) {
  using enum OperandRole;
  const auto tensor = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, norm.dtype, limited_product({norm.n, norm.c, norm.h, norm.w})};
  };
  const auto channels = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, statistics_type(norm.dtype), norm.c};
  };
  const auto weights = [&](const char* operand_name, OperandRole role) {
    const bool converted = norm.weights != DataType::f32;
    return Operand{operand_name, role, converted ? norm.weights : statistics_type(norm.dtype), norm.c};
  };
  const auto positive = [&](const char* operand_name) {
    Operand operand = channels(operand_name, input);
    operand.non_negative = true;
    return operand;
  };
  switch (norm.pass) {
    case Pass::forward:
      return {tensor("x", input),  weights("weight", input), weights("bias", input),
              tensor("y", output), channels("mean", output), channels("deviation", output)};
    case Pass::backward:
      return {tensor("x", input),         tensor("dy", input),     weights("weight", input),
              channels("mean", input),    positive("deviation"),   tensor("dx", output),
              weights("dweight", output), weights("dbias", output)};
    case Pass::inference:
      return {tensor("x", input),      weights("weight", input), weights("bias", input),
              channels("mean", input), positive("variance"),     tensor("y", output)};
  }
  return {};
}

Kind batch_norm() {
  return {{"batch_norm",
           "normalizes each channel over n, h and w, as torch.nn.BatchNorm2d",
           "batch_norm:n=32,c=64,hw=112,dtype=f16,layout=nhwc",
           {{"n", "batch size", ""},
            {"c", "channels", ""},
            {"hw", "height and width", ""},
            {"h", "height, with w in place of hw", "hw"},
            {"w", "width, with h in place of hw", "hw"},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16; statistics of the last two are f32", "f32"},
            {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"},
            {"pass", "forward (as in training), backward or inference", "forward"},
            {"weights", "of weight and bias beside f16 or bf16: f32 (mixed precision) or the dtype", "f32"}}},
          read_batch_norm};
}

}  // namespace jitterscope::kinds
