// Layers in a sentence that has room for some of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace jitterscope {

class LayerNames {
 public:
  /// The names of one operation, which a network may run in many places.
  void add(const std::vector<std::string>& names);
  std::size_t size() const { return firsts_.size() + others_.size(); }
  bool empty() const { return firsts_.empty(); }
  /// "conv1, bn1, fc and 40 more": one of each operation first.
  std::string some() const;

 private:
  std::vector<std::string> firsts_, others_;
};

}  // namespace jitterscope
