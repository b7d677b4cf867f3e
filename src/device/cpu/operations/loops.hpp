// Own loops over operands of any type that the CPU computes in.
#pragma once

#include <memory>
#include <stdexcept>

#include "device/cpu/number_formats.hpp"
#include "device/cpu/operations/prepared.hpp"

namespace jitterscope::cpu {

/// Below this many elements starting the threads takes longer than the loop.
inline constexpr std::int64_t kParallel = 1 << 15;

/// Calls make with the format of a type, as in make(Half()).
template <class Make>
std::unique_ptr<PreparedOperation> with_loop_format(DataType dtype, const Make& make) {
  switch (dtype) {
    case DataType::f64: return make(Native<double>());
    case DataType::f32: return make(Native<float>());
    case DataType::f16: return make(Half());
    case DataType::bf16: return make(BFloat16());
    case DataType::i64:
    case DataType::i32:
    case DataType::tf32: break;
  }
  throw std::logic_error("require_data_type let a type through that loops are not computed in");
}

/// Loops<Format> of the operation's type. What a loop sums, it sums in double.
template <template <class> class Loops>
std::unique_ptr<PreparedOperation> prepare_loops(const Operation& operation, const InputTable& inputs) {
  return with_loop_format(operation.dtype(), [&]<class Format>(Format) -> std::unique_ptr<PreparedOperation> {
    return std::make_unique<Loops<Format>>(operation, inputs);
  });
}

/// A stored element as a double.
template <class Format>
double wide(typename Format::Stored stored) {
  return static_cast<double>(Format::read(stored));
}
template <class Format>
typename Format::Stored narrow(double value) {
  return Format::write(static_cast<typename Format::Value>(value));
}

}  // namespace jitterscope::cpu
