// Operations named by what sets them apart.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace jitterscope {

struct OperationLabels {
  std::vector<std::string> labels;  ///< one for each operation: "conv2d dgrad c=64,hw=56,k=64,rs=3"
  std::string common;  ///< what was left out where it occurs: "n=32,dtype=f16"; empty where nothing was
};

/// Takes operations in normal form. A parameter is left out where every operation of the kinds that have it
/// has the same value, and these kinds are two at least, or all. Values that explain themselves (dtype,
/// layout, direction) stand without their key.
OperationLabels label_operations(std::span<const std::string> operations);

}  // namespace jitterscope
