// --only: some of a model's layers, chosen by a regular expression.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope {

/// An ECMAScript regular expression that is searched for anywhere in a text.
class LayerPattern {
 public:
  /// Throws UsageError that says in plain words what is wrong with the pattern.
  explicit LayerPattern(const std::string& pattern);

  const std::string& text() const { return text_; }
  bool finds(const std::string& text) const { return std::regex_search(text, regex_); }

 private:
  std::string text_;
  std::regex regex_;
};

/// Leaves out the layers in whose names and operation nothing is found, with their calls, and what is not
/// timed by the same rule. The recorded GPU time is then that of what is left. Layers may be none afterwards.
void keep_layers(Model& model, const LayerPattern& pattern);

/// Leaves out calls; `new_layer` says of each call which layer it runs now, or kGone. What they read of a
/// call that is gone counts as unwritten.
inline constexpr std::size_t kGone = static_cast<std::size_t>(-1);
std::vector<Call> kept_calls(std::vector<Call> calls, const std::vector<std::size_t>& new_layer);

}  // namespace jitterscope
