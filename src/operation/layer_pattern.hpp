// Implements --only and --kernel: selects layers of a model by a regular expression.
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "operation/model.hpp"

namespace jitterscope {

/// An ECMAScript regular expression, searched for anywhere in a text.
class LayerPattern {
 public:
  /// Throws UsageError, which begins with the flag, that explains in plain words what is wrong with the
  /// pattern.
  explicit LayerPattern(const std::string& pattern, std::string_view flag = "--only");

  const std::string& text() const { return text_; }
  bool finds(const std::string& text) const { return std::regex_search(text, regex_); }

 private:
  std::string text_;
  std::regex regex_;
};

/// Removes layers (with their calls) and untimed operators if the pattern is found neither in their names nor
/// in their operation. The recorded GPU time becomes that of the rest, if all of it is known. No layer may
/// remain.
void keep_layers(Model& model, const LayerPattern& pattern);

/// Removes calls. `new_layer` gives the new layer of each call, or kGone. Inputs from removed calls count as
/// unwritten.
inline constexpr std::size_t kGone = static_cast<std::size_t>(-1);
std::vector<Call> kept_calls(std::vector<Call> calls, const std::vector<std::size_t>& new_layer);

}  // namespace jitterscope
