#include "model/graph.hpp"

namespace jitterscope {
namespace {

bool has_two_gradients(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Linear>(parameters) ||
         std::holds_alternative<Matmul>(parameters);
}

}  // namespace

std::string call_name(const std::string& step, const Operation& forward, Role role) {
  if (!has_two_gradients(forward)) return step + (role == Role::forward ? ".forward" : ".backward");
  switch (role) {
    case Role::forward: return step + ".fprop";
    case Role::input_gradient: return step + ".dgrad";
    case Role::weight_gradient: return step + ".wgrad";
  }
  return step;
}

DataType stored_type(DataType type) { return type == DataType::tf32 ? DataType::f32 : type; }

}  // namespace jitterscope
