// Operations as values: what is timed, as one line of text that the tool prints and reads back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// tf32: tensors of fp32 whose products may be rounded to TF32, as PyTorch's convolutions do by default.
enum class DataType { f64, f32, tf32, f16, bf16 };
enum class Layout { nchw, nhwc };
enum class Direction { fprop, dgrad, wgrad };
enum class CopyKind { d2d, h2d, d2h };
enum class HostMemory { pinned, pageable };

std::string_view to_string(DataType);
std::string_view to_string(Layout);
std::string_view to_string(Direction);
std::string_view to_string(CopyKind);
std::string_view to_string(HostMemory);
Bytes element_size(DataType);

/// A 2-D convolution. x: n·c·h·w, w: k·(c/groups)·r·s, y: n·k·out_h·out_w, all stored in `layout`.
/// fprop computes y from x and w; dgrad computes dx from dy and w; wgrad computes dw from x and dy.
struct Conv2d {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t k = 1, r = 1, s = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;
  DataType dtype = DataType::f32;
  Layout layout = Layout::nchw;
  Direction direction = Direction::fprop;

  std::int64_t out_h() const;
  std::int64_t out_w() const;
  bool operator==(const Conv2d&) const = default;
};

/// C[b] = op(A[b])·op(B[b]) (+ bias along n), row-major: op(A) is m×k, op(B) is k×n, C is m×n.
/// With transpose_a, A is stored k×m; with transpose_b, B is stored n×k.
struct Matmul {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transpose_a = false, transpose_b = false, bias = false;
  DataType dtype = DataType::f32;
  bool operator==(const Matmul&) const = default;
};

/// y = x·Wᵀ (+ bias), row-major: x is n×in, W is out×in, y is n×out, as torch.nn.Linear.
struct Linear {
  std::int64_t n = 1, in = 1, out = 1;
  bool bias = true;
  DataType dtype = DataType::f32;
  bool operator==(const Linear&) const = default;
};

/// Memory to memory. `memory` says how the host side is allocated; d2d ignores it.
struct Copy {
  std::int64_t bytes = 0;
  CopyKind kind = CopyKind::d2d;
  HostMemory memory = HostMemory::pinned;
  bool operator==(const Copy&) const = default;
};

enum class ElementwiseKind { fill, add, relu };  ///< y = 1; y = a + b; y = max(x, 0)
struct Elementwise {
  ElementwiseKind kind = ElementwiseKind::add;
  std::int64_t count = 1;
  DataType dtype = DataType::f32;
  bool operator==(const Elementwise&) const = default;
};

/// Ground truth: each of `blocks` blocks spins for a known time, or a known number of SM cycles.
struct Spin {
  enum class Unit { nanoseconds, cycles };
  Unit unit = Unit::nanoseconds;
  std::int64_t amount = 0;
  std::int64_t blocks = 1, threads = 32;
  bool operator==(const Spin&) const = default;
};

enum class OperandRole { input, output };
/// One tensor of an operation, stored densely. Spin has none; copy has one input and one output.
struct Operand {
  std::string name;  ///< x, w, y, dx, dw, dy, a, b, c, bias, source, destination
  OperandRole role = OperandRole::input;
  DataType dtype = DataType::f32;
  std::int64_t count = 0;  ///< elements
  Bytes bytes() const { return Bytes(count * element_size(dtype).value()); }
};

class Operation {
 public:
  using Parameters = std::variant<Conv2d, Matmul, Linear, Copy, Elementwise, Spin>;

  /// Checks the shape; throws UsageError that says which parameter is impossible and why.
  Operation(Parameters parameters);  // NOLINT(google-explicit-constructor): a shape is an operation
  /// Reads one line of text, without lists or ranges. Throws UsageError, naming the nearest known word.
  static Operation parse(std::string_view text);

  const Parameters& parameters() const { return parameters_; }
  std::string_view kind() const;  ///< conv2d, matmul, linear, copy, fill, add, relu, spin
  std::string text() const;       ///< the normal form; parse(text()) gives an equal operation
  double flops() const;           ///< a multiply and an add count as two
  Bytes bytes() const;            ///< that must move at least: each input read and each output written once
  DataType dtype() const;         ///< f32 for spin; copy moves f32 elements where bytes is a multiple of 4
  std::vector<Operand> operands() const;  ///< inputs first, then the output
  Operation with_dtype(DataType) const;

  bool operator==(const Operation&) const = default;

 private:
  Parameters parameters_;
};

/// Expands lists and ranges, `n=1,2,4` and `n=1..64*2` or `n=1..9+2`: the product in the order written.
/// Throws UsageError past 10,000 operations.
std::vector<Operation> parse_sweep(std::string_view text);

/// A parameter as `list` and error messages show it.
struct ParameterHelp {
  std::string name, meaning, default_value;  ///< empty default: required
};
struct OperationHelp {
  std::string kind, summary, example;
  std::vector<ParameterHelp> parameters;
};
const std::vector<OperationHelp>& operation_help();

}  // namespace jitterscope
