#include <iterator>

#include "operation/kinds.hpp"

namespace jitterscope {

const std::vector<kinds::Kind>& kinds::all() {
  static const std::vector<Kind> list = [] {
    std::vector<Kind> result;
    const auto append = [&result](std::vector<Kind> kinds) {
      result.insert(result.end(), std::make_move_iterator(kinds.begin()),
                    std::make_move_iterator(kinds.end()));
    };
    append({conv2d(), matmul(), linear(), attention(), batch_norm(), layer_norm()});
    append(pools());
    append(softmaxes());
    append({bias_add(), convert(), embedding()});
    append(optimizer_steps());
    append({copy()});
    append(elementwise());
    append({spin(), allocation(), cuda_kernel(), aten(), chain()});
    return result;
  }();
  return list;
}

const std::vector<OperationHelp>& operation_help() {
  static const std::vector<OperationHelp> list = [] {
    std::vector<OperationHelp> result;
    for (const kinds::Kind& kind : kinds::all()) result.push_back(kind.help);
    return result;
  }();
  return list;
}

}  // namespace jitterscope
