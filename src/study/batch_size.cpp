#include "study/batch_size.hpp"

#include <type_traits>

namespace jitterscope::study {

std::int64_t* batch_of(Operation::Parameters& parameters) {
  return std::visit(
      [](auto& shape) -> std::int64_t* {
        using Shape = std::decay_t<decltype(shape)>;
        if constexpr (requires { shape.n; } && !std::is_same_v<Shape, Matmul>) return &shape.n;
        if constexpr (std::is_same_v<Shape, Attention>) return &shape.batch;
        if constexpr (std::is_same_v<Shape, Softmax> || std::is_same_v<Shape, LayerNorm>) return &shape.rows;
        if constexpr (std::is_same_v<Shape, Matmul>) return &shape.m;
        if constexpr (std::is_same_v<Shape, Elementwise> || std::is_same_v<Shape, Embedding>) {
          return &shape.count;
        }
        return nullptr;
      },
      parameters);
}

bool has_batch(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  return batch_of(parameters) != nullptr;
}

Operation with_larger_batch(const Operation& operation, std::int64_t factor) {
  Operation::Parameters parameters = operation.parameters();
  *batch_of(parameters) *= factor;
  return {parameters};
}

}  // namespace jitterscope::study
