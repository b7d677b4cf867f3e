#include "operation/engine.hpp"

#include <type_traits>
#include <variant>

namespace jitterscope {
namespace {

template <class Shape>
concept HasEngine = requires(Shape shape) {
  shape.engine;
};

}  // namespace

Operation with_engine(const Operation& operation, const std::string& engine) {
  Operation::Parameters changed = operation.parameters();
  std::visit(
      [&](auto& shape) {
        if constexpr (HasEngine<std::decay_t<decltype(shape)>>) shape.engine = engine;
      },
      changed);
  return changed;
}

std::string engine_of(const Operation& operation) {
  return std::visit(
      [](const auto& shape) -> std::string {
        if constexpr (HasEngine<std::decay_t<decltype(shape)>>) return shape.engine;
        return {};
      },
      operation.parameters());
}

}  // namespace jitterscope
