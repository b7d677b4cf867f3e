#include "operation/layer_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

// libstdc++ reports a parenthesis error for anything unexpected, such as a * at the beginning.
bool repeats_nothing(const std::string& pattern) {
  constexpr std::string_view kRepeats = "*+?", kBegins = "(|^";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool begins = i == 0 || kBegins.find(pattern[i - 1]) != std::string_view::npos;
    const bool is_group = i > 0 && pattern[i - 1] == '(' && pattern[i] == '?';
    if (begins && !is_group && kRepeats.find(pattern[i]) != std::string_view::npos) return true;
  }
  return false;
}

std::string plain_words(const std::regex_error& error, const std::string& pattern) {
  namespace reason = std::regex_constants;
  const auto code = error.code();
  if (code == reason::error_badrepeat || (code == reason::error_paren && repeats_nothing(pattern))) {
    return "*, + or ? has nothing before it to repeat; write .* for anything";
  }
  if (code == reason::error_paren) return "a parenthesis is not closed or not opened";
  if (code == reason::error_brack) return "a bracket [ is not closed";
  if (code == reason::error_brace) return "a brace { is not closed";
  if (code == reason::error_badbrace) return "between braces stands no number, as {2} or {1,3}";
  if (code == reason::error_range) return "a range in brackets ends before it begins";
  if (code == reason::error_escape) return "behind a backslash stands what has no meaning there";
  if (code == reason::error_backref) return "a number behind a backslash names no group";
  if (code == reason::error_ctype) return "the name between [: and :] is not known";
  return "it is too large";
}

std::regex compiled(const std::string& pattern, std::string_view flag) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("{}: {} is not a regular expression: {}", flag, in_quotes(pattern),
                                 plain_words(error, pattern)));
  }
}

void keep_names(Layer& layer, const LayerPattern& pattern) {
  if (pattern.finds(layer.operation.text())) return;
  // Times of several steps have no names, so they stay.
  if (layer.recorded_times.size() == layer.names.size()) {
    std::size_t next = 0;
    std::erase_if(layer.recorded_times, [&](Nanoseconds) { return !pattern.finds(layer.names[next++]); });
  }
  std::erase_if(layer.names, [&](const std::string& name) { return !pattern.finds(name); });
}

// Returns nullopt if the time of a layer or of an untimed operator is unknown: a part is not the whole.
std::optional<Nanoseconds> recorded_time(const Model& model) {
  std::optional<Nanoseconds> sum = Nanoseconds(0);
  for (const Layer& layer : model.layers) sum = sum_if_known(sum, layer.recorded_time());
  for (const UntimedOperator& untimed : model.untimed) sum = sum_if_known(sum, untimed.recorded_time);
  return sum;
}

std::int64_t count_of(const Model& model) {
  std::int64_t count = 0;
  for (const Layer& layer : model.layers) count += layer.count();
  return count;
}

}  // namespace

LayerPattern::LayerPattern(const std::string& pattern, std::string_view flag)
    : text_(pattern), regex_(compiled(pattern, flag)) {}

void keep_layers(Model& model, const LayerPattern& pattern) {
  const std::int64_t before = count_of(model);
  for (Layer& layer : model.layers) keep_names(layer, pattern);
  std::vector<std::size_t> new_layer;
  std::size_t kept = 0;
  for (const Layer& layer : model.layers) new_layer.push_back(layer.names.empty() ? kGone : kept++);
  // Some of several equal layers may stay: their calls are distinguished by name.
  std::vector<Call> calls = std::move(model.calls);
  std::vector<std::size_t> layer_of_call;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::vector<std::string>& names = model.layers[calls[i].layer].names;
    const bool stays = std::find(names.begin(), names.end(), calls[i].name) != names.end();
    layer_of_call.push_back(stays ? new_layer[calls[i].layer] : kGone);
  }
  model.calls = kept_calls(std::move(calls), layer_of_call);
  std::erase_if(model.layers, [](const Layer& layer) { return layer.names.empty(); });
  std::erase_if(model.untimed, [&](const UntimedOperator& untimed) { return !pattern.finds(untimed.name); });
  if (model.recorded_gpu_time) model.recorded_gpu_time = recorded_time(model);
  model.notes.push_back(
      fmt::format("Only the layers that match {} are included, {} of {}; totals and shares refer to them.",
                  in_quotes(pattern.text()), count_of(model), before));
}

std::vector<Call> kept_calls(std::vector<Call> calls, const std::vector<std::size_t>& new_layer) {
  std::vector<std::size_t> new_call;
  std::vector<Call> kept;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    new_call.push_back(new_layer[i] == kGone ? kGone : kept.size());
    if (new_layer[i] == kGone) continue;
    call.layer = new_layer[i];
    const auto lost =
        std::erase_if(call.inputs, [&](const OperandSource& input) { return new_call[input.call] == kGone; });
    call.unwritten += static_cast<std::int64_t>(lost);
    for (OperandSource& input : call.inputs) input.call = new_call[input.call];
    kept.push_back(std::move(call));
  }
  return kept;
}

}  // namespace jitterscope
