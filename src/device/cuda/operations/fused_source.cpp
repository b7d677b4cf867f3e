#include "device/cuda/operations/fused_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/chain.hpp"
#include "operation/chain.hpp"

namespace jitterscope::cuda {
namespace {

// Types for storage and arithmetic, and the formulas of layer_kernels.cu. Conversions are PTX instructions,
// because the headers that have them are in another package than NVRTC.
constexpr const char* kDouble = R"(
typedef double T;
typedef double C;
__device__ __forceinline__ C load(T value) { return value; }
__device__ __forceinline__ T store(C value) { return value; }
#define F(name) name
#define LOWEST __longlong_as_double(0xfff0000000000000ll)
)";
constexpr const char* kFloat = R"(
typedef float T;
typedef float C;
__device__ __forceinline__ C load(T value) { return value; }
__device__ __forceinline__ T store(C value) { return value; }
#define F(name) name##f
#define LOWEST __int_as_float(0xff800000)
)";
constexpr const char* kHalf = R"(
typedef unsigned short T;
typedef float C;
__device__ __forceinline__ C load(T value) {
  C number;
  asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(value));
  return number;
}
__device__ __forceinline__ T store(C value) {
  T stored;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored) : "f"(value));
  return stored;
}
#define F(name) name##f
#define LOWEST __int_as_float(0xff800000)
)";
constexpr const char* kBFloat16 = R"(
typedef unsigned short T;
typedef float C;
__device__ __forceinline__ C load(T value) { return __uint_as_float(static_cast<unsigned>(value) << 16); }
__device__ __forceinline__ T store(C value) {
  T stored;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(stored) : "f"(value));
  return stored;
}
#define F(name) name##f
#define LOWEST __int_as_float(0xff800000)
)";
constexpr const char* kFormulas = R"(
__device__ __forceinline__ C relu(C x) { return x < C(0) ? C(0) : x; }
__device__ __forceinline__ C relu6(C x) { return x < C(0) ? C(0) : (x > C(6) ? C(6) : x); }
__device__ __forceinline__ C sigmoid(C x) { return C(1) / (C(1) + F(exp)(-x)); }
__device__ __forceinline__ C tangent(C x) { return F(tanh)(x); }
__device__ __forceinline__ C silu(C x) { return x * sigmoid(x); }
__device__ __forceinline__ C gelu(C x) { return x * (C(0.5) * F(erfc)(-x * C(0.70710678118654752440))); }
)";

const char* number_format(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return kDouble;
    case DataType::f16: return kHalf;
    case DataType::bf16: return kBFloat16;
    default: return kFloat;
  }
}

const char* formula_of(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::relu6: return "relu6";
    case ElementwiseKind::sigmoid: return "sigmoid";
    case ElementwiseKind::tanh: return "tangent";  // tanh is the compiler's own
    case ElementwiseKind::silu: return "silu";
    case ElementwiseKind::gelu: return "gelu";
    default: return "relu";
  }
}

const Pool2d* pooling_of(const Operation& operation) { return std::get_if<Pool2d>(&operation.parameters()); }

// Returns the expression for the channel of element i of images.
std::string channel_of(const BiasAdd& bias) {
  if (bias.layout == Layout::nhwc || bias.h * bias.w == 1) return fmt::format("i % {}", bias.c);
  return fmt::format("i / {} % {}", bias.h * bias.w, bias.c);
}

class SourceWriter {
 public:
  explicit SourceWriter(const Chain& chain)
      : chain_(chain), operands_(Operation(chain).operands()), places_(chain_operands(chain)) {}

  FusedSource write() {
    head();
    steps();
    text_ += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}({}) {{\n", kFusedBlock,
                         kFusedKernel, parameters());
    if (const Pool2d* first = pooling_of(chain_.steps.front())) {
      pooled(*first, true);
    } else if (const Pool2d* last = pooling_of(chain_.steps.back())) {
      pooled(*last, false);
    } else {
      vectors();
    }
    text_ += "}\n";
    return {std::move(text_), threads_};
  }

 private:
  bool is_output(std::size_t operand) const { return operands_[operand].role == OperandRole::output; }
  std::string name(std::size_t operand) const { return fmt::format("p{}", operand); }
  std::string element_type(std::size_t operand) const {
    return holds_indices(operands_[operand].dtype) ? "long long" : "T";
  }
  /// Returns the chain's operand that is operand `number` of a step.
  std::size_t operand_of(std::size_t step, std::size_t number) const {
    const auto found = std::ranges::find_if(
        places_, [&](const ChainOperand& place) { return place.step == step && place.operand == number; });
    return static_cast<std::size_t>(found - places_.begin());
  }
  std::string result() const {
    return name(operand_of(chain_.steps.size() - 1, first_output(chain_.steps.back())));
  }
  bool is_bias(std::size_t operand) const {
    const ChainOperand& place = places_[operand];
    return place.operand == 1 && std::holds_alternative<BiasAdd>(chain_.steps[place.step].parameters());
  }
  /// Returns the operands read element by element: all inputs but biases and those of a first pooling.
  std::vector<std::size_t> read_by_element() const {
    std::vector<std::size_t> read;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const bool is_pooled = places_[i].step == 0 && pooling_of(chain_.steps.front()) != nullptr;
      if (!is_output(i) && !is_bias(i) && !is_pooled) read.push_back(i);
    }
    return read;
  }

  void head() {
    std::int64_t largest = 0;
    for (const Operand& operand : operands_) largest = std::max(largest, operand.count);
    constexpr std::int64_t kMostIn32Bits = std::int64_t{1} << 31;
    text_ = fmt::format("// {}\n", Operation(chain_).text());
    text_ += number_format(operands_.front().dtype);
    text_ += fmt::format("typedef {} Index;\n", largest < kMostIn32Bits ? "unsigned" : "unsigned long long");
    text_ += kFormulas;
  }

  std::string parameters() const {
    std::string list;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      list += fmt::format("{}{}{}* __restrict__ {}", i > 0 ? ", " : "", is_output(i) ? "" : "const ",
                          element_type(i), name(i));
    }
    return list;
  }

  // Writes the pointwise steps for element i: of v if they follow a pooling, else of their own operands.
  void steps() {
    const bool follows_pooling = pooling_of(chain_.steps.front()) != nullptr;
    std::string list = follows_pooling ? "Index i, C v" : "Index i";
    arguments_ = follows_pooling ? "i, v" : "i";
    for (const std::size_t operand : read_by_element()) list += fmt::format(", C e{}", operand);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!is_output(i) && is_bias(i)) list += fmt::format(", const T* __restrict__ {}", name(i));
    }
    text_ += fmt::format("\n__device__ __forceinline__ C steps({}) {{\n", list);
    if (!follows_pooling) text_ += "  C v = e0;\n";
    for (std::size_t step = 0; step < chain_.steps.size(); ++step) {
      if (pooling_of(chain_.steps[step]) == nullptr) text_ += "  " + formula(step) + "\n";
    }
    text_ += "  return v;\n}\n\n";
  }

  std::string formula(std::size_t step) const {
    const Operation& own = chain_.steps[step];
    if (is_activation(own)) {
      return fmt::format("v = {}(v);", formula_of(std::get<Elementwise>(own.parameters()).kind));
    }
    const std::size_t second = operand_of(step, 1);
    if (const auto* bias = std::get_if<BiasAdd>(&own.parameters())) {
      return fmt::format("v = v + load({}[{}]);", name(second), channel_of(*bias));
    }
    const bool multiplies = std::get<Elementwise>(own.parameters()).kind == ElementwiseKind::mul;
    return fmt::format("v = v {} e{};", multiplies ? '*' : '+', second);
  }

  /// Returns a call of steps(); `element` returns the expression that reads an operand's element.
  template <class Element>
  std::string call(const Element& element) const {
    std::string list = arguments_;
    for (const std::size_t operand : read_by_element()) list += ", " + element(operand);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!is_output(i) && is_bias(i)) list += ", " + name(i);
    }
    return "steps(" + list + ")";
  }
  std::string call_at_i() const {
    return call([this](std::size_t operand) { return fmt::format("load({}[i])", name(operand)); });
  }

  // Writes accesses of 16 bytes, the widest of a thread, and single elements for the rest at the end.
  void vectors() {
    const std::int64_t count = operands_.front().count;
    const std::int64_t width = 16 / element_size(operands_.front().dtype).value();
    threads_ = (count + width - 1) / width;
    text_ += fmt::format("  struct alignas(16) Pack {{ T part[{}]; }};\n", width);
    text_ += fmt::format("  const Index first = (static_cast<Index>(blockIdx.x) * {} + threadIdx.x) * {};\n",
                         kFusedBlock, width);
    text_ += fmt::format("  if (first >= {}u) return;\n", count);
    text_ += fmt::format("  if ({}u - first >= {}) {{\n", count, width);
    for (const std::size_t operand : read_by_element()) {
      text_ += fmt::format("    const Pack k{0} = *reinterpret_cast<const Pack*>(p{0} + first);\n", operand);
    }
    text_ += fmt::format("    Pack result;\n#pragma unroll\n    for (int j = 0; j < {}; ++j) {{\n", width);
    text_ += "      const Index i = first + j;\n";
    text_ += fmt::format("      result.part[j] = store({});\n    }}\n",
                         call([](std::size_t operand) { return fmt::format("load(k{}.part[j])", operand); }));
    text_ += fmt::format("    *reinterpret_cast<Pack*>({} + first) = result;\n  }} else {{\n", result());
    text_ += fmt::format("    for (Index i = first; i < {}u; ++i) {}[i] = store({});\n  }}\n", count,
                         result(), call_at_i());
  }

  // Writes a thread for each window. The first of equal elements wins, and a NaN wins over numbers.
  void pooled(const Pool2d& pool, bool is_first) {
    const bool takes_largest = pool.kind == PoolKind::max;
    threads_ = pool.n * pool.c * pool.out_h() * pool.out_w();
    text_ +=
        fmt::format("  const Index item = static_cast<Index>(blockIdx.x) * {} + threadIdx.x;\n", kFusedBlock);
    text_ += fmt::format("  if (item >= {}u) return;\n", threads_);
    place_of_window(pool);
    text_ += takes_largest ? "  C best = LOWEST;\n" : "  C sum = C(0);\n";
    if (takes_largest) {
      text_ += fmt::format("  int found = (top > 0 ? top : 0) * {} + (left > 0 ? left : 0);\n", pool.w);
    }
    loop("row", "top", pool.window_h, pool.h, pool.pad_h > 0, "  ");
    loop("column", "left", pool.window_w, pool.w, pool.pad_w > 0, "    ");
    text_ +=
        fmt::format("      const Index i = {};\n",
                    pool.layout == Layout::nhwc
                        ? fmt::format("((image * {} + row) * {} + column) * {} + c", pool.h, pool.w, pool.c)
                        : fmt::format("(plane * {} + row) * {} + column", pool.h, pool.w));
    text_ += fmt::format("      const C value = {};\n", is_first ? "load(p0[i])" : call_at_i());
    if (takes_largest) {
      text_ += "      if (value > best || value != value) {\n        best = value;\n";
      text_ += fmt::format("        found = row * {} + column;\n      }}\n", pool.w);
    } else {
      text_ += "      sum += value;\n";
    }
    text_ += "    }\n  }\n";
    const std::string pooled_value =
        takes_largest ? "best" : fmt::format("sum / C({})", pool.window_h * pool.window_w);
    text_ += fmt::format("  const Index i = item;\n  const C v = {};\n", pooled_value);
    text_ += fmt::format("  {}[i] = store({});\n", result(), is_first ? call_at_i() : "v");
    if (takes_largest) {
      const std::size_t step = is_first ? 0 : chain_.steps.size() - 1;
      text_ +=
          fmt::format("  {}[i] = found;\n", name(operand_of(step, first_output(chain_.steps[step]) + 1)));
    }
  }

  void place_of_window(const Pool2d& pool) {
    if (pool.layout == Layout::nhwc) {
      text_ += fmt::format("  const Index c = item % {0}, window = item / {0};\n", pool.c);
      text_ += fmt::format("  const Index image = window / {};\n", pool.out_h() * pool.out_w());
    } else {
      text_ += "  const Index window = item;\n";
      text_ += fmt::format("  const Index plane = window / {};\n", pool.out_h() * pool.out_w());
    }
    text_ += fmt::format("  const int top = static_cast<int>(window / {} % {}) * {} - {};\n", pool.out_w(),
                         pool.out_h(), pool.stride_h, pool.pad_h);
    text_ += fmt::format("  const int left = static_cast<int>(window % {}) * {} - {};\n", pool.out_w(),
                         pool.stride_w, pool.pad_w);
  }

  // Writes the head of a loop over a window. Without padding every window lies on the input.
  void loop(const char* variable, const char* from, std::int64_t window, std::int64_t size, bool is_padded,
            const char* indent) {
    constexpr std::int64_t kMostUnrolled = 7;
    if (window <= kMostUnrolled) text_ += "#pragma unroll\n";
    text_ += fmt::format("{0}for (int of_{1} = 0; of_{1} < {2}; ++of_{1}) {{\n", indent, variable, window);
    text_ += fmt::format("{0}  const int {1} = {2} + of_{1};\n", indent, variable, from);
    if (is_padded)
      text_ += fmt::format("{0}  if ({1} < 0 || {1} >= {2}) continue;\n", indent, variable, size);
  }

  const Chain& chain_;
  std::vector<Operand> operands_;
  std::vector<ChainOperand> places_;
  std::string text_, arguments_;
  std::int64_t threads_ = 0;
};

}  // namespace

FusedSource fused_source(const Chain& chain) { return SourceWriter(chain).write(); }

}  // namespace jitterscope::cuda
