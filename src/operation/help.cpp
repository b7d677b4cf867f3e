#include "operation/kinds.hpp"

namespace jitterscope {

const std::vector<kinds::Kind>& kinds::all() {
  static const std::vector<Kind> list = {conv2d(), matmul(), linear(), copy(), fill(),
                                         add(),    relu(),   spin(),   aten()};
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
