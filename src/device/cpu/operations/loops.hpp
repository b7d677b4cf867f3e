// Own loops over operands of any type that the CPU computes in.
#pragma once

#include <memory>
#include <stdexcept>

#include "device/cpu/number_formats.hpp"
#include "device/cpu/operations/prepared.hpp"

namespace jitterscope::cpu {

/// Below this many elements starting the threads takes longer than the loop.
inline constexpr std::int64_t kParallel = 1 << 15;

/// Loops<Format> of the operation's type. What a loop sums, it sums in double.
template <template <class> class Loops>
std::unique_ptr<PreparedOperation> prepare_loops(const Operation& operation, const InputTable& inputs) {
  switch (operation.dtype()) {
    case DataType::f64: return std::make_unique<Loops<Native<double>>>(operation, inputs);
    case DataType::f32: return std::make_unique<Loops<Native<float>>>(operation, inputs);
    case DataType::f16: return std::make_unique<Loops<Half>>(operation, inputs);
    case DataType::bf16: return std::make_unique<Loops<BFloat16>>(operation, inputs);
    case DataType::i64:
    case DataType::i32:
    case DataType::tf32: break;
  }
  throw std::logic_error("require_data_type let a type through that loops are not computed in");
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
