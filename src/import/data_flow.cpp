#include "import/data_flow.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/operation.hpp"

namespace jitterscope {
namespace {

// Pairs of a call of the flow and the model's call that it is.
using Match = std::vector<std::pair<std::size_t, std::size_t>>;

// An execution trace does not say which products ran in TF32, and no trace names an engine.
std::string text_of_work(const Layer& layer) {
  Operation operation = with_engine(layer.operation, "");
  if (operation.dtype() == DataType::tf32) operation = operation.with_dtype(DataType::f32);
  return operation.text();
}

// Numbers what calls run, so that calls are compared by a number.
class WorkNumbers {
 public:
  std::vector<std::size_t> of(const Model& model) {
    std::vector<std::size_t> of_layers, of_calls;
    for (const Layer& layer : model.layers) {
      of_layers.push_back(numbers_.try_emplace(text_of_work(layer), numbers_.size()).first->second);
    }
    for (const Call& call : model.calls) of_calls.push_back(of_layers[call.layer]);
    return of_calls;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

// Returns a match for each step of the model that has all calls of the flow, one after the other.
std::vector<Match> whole_steps(const std::vector<std::size_t>& model, const std::vector<std::size_t>& flow) {
  std::vector<Match> matches;
  auto from = model.begin();
  while (true) {
    const auto found = std::search(from, model.end(), flow.begin(), flow.end());
    if (found == model.end()) return matches;
    Match match;
    for (std::size_t i = 0; i < flow.size(); ++i)
      match.emplace_back(i, static_cast<std::size_t>(found - model.begin()) + i);
    matches.push_back(std::move(match));
    from = found + static_cast<std::ptrdiff_t>(flow.size());
  }
}

// Returns the longest sequence of calls that both have in this order. A step has some thousands of calls.
Match common_calls(const std::vector<std::size_t>& model, const std::vector<std::size_t>& flow) {
  constexpr std::size_t kMostCells = 100'000'000;
  if (flow.empty() || model.size() / (kMostCells / flow.size() + 1) > 0) {
    throw UsageError("they have too many calls to compare: record one step");
  }
  const std::size_t width = model.size() + 1;
  std::vector<std::uint32_t> longest((flow.size() + 1) * width, 0);  // from (flow call, model call) on
  for (std::size_t i = flow.size(); i-- > 0;) {
    for (std::size_t j = model.size(); j-- > 0;) {
      longest[i * width + j] = flow[i] == model[j]
                                   ? longest[(i + 1) * width + j + 1] + 1
                                   : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  Match match;
  for (std::size_t i = 0, j = 0; i < flow.size() && j < model.size();) {
    if (flow[i] == model[j]) {
      match.emplace_back(i++, j++);
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return match;
}

// Returns the length of one step if the calls are those of equal steps, else their number.
std::size_t calls_of_step(const std::vector<std::size_t>& calls) {
  // How long the longest true beginning is that also ends the first i + 1 calls.
  std::vector<std::size_t> border(calls.size(), 0);
  for (std::size_t i = 1; i < calls.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && calls[length] != calls[i]) length = border[length - 1];
    border[i] = calls[length] == calls[i] ? length + 1 : 0;
  }
  const std::size_t step = calls.empty() ? 0 : calls.size() - border.back();
  return step > 0 && calls.size() % step == 0 ? step : calls.size();
}

// Returns a match for each of the model's equal steps, which may have calls that the flow lacks.
std::vector<Match> steps_in_part(const std::vector<std::size_t>& model,
                                 const std::vector<std::size_t>& flow) {
  const std::size_t step = calls_of_step(model);
  const Match first = common_calls({model.begin(), model.begin() + static_cast<std::ptrdiff_t>(step)}, flow);
  std::vector<Match> matches;
  for (std::size_t begin = 0; begin < model.size(); begin += step) {
    Match& match = matches.emplace_back(first);
    for (auto& [from, to] : match) to += begin;
  }
  return matches;
}

void take(const Match& match, const Model& flow, Model& model) {
  std::vector<std::size_t> place(flow.calls.size(), model.calls.size());  // none
  for (const auto& [from, to] : match) place[from] = to;
  for (const auto& [from, to] : match) {
    Call& call = model.calls[to];
    call.inputs.clear();
    call.unwritten = flow.calls[from].unwritten;
    for (OperandSource input : flow.calls[from].inputs) {
      input.call = place[input.call];
      if (input.call < model.calls.size()) {
        call.inputs.push_back(input);
      } else {
        ++call.unwritten;
      }
    }
  }
}

}  // namespace

JoinedCalls take_data_flow(Model& model, const Model& flow) {
  WorkNumbers numbers;
  const std::vector<std::size_t> own = numbers.of(model), theirs = numbers.of(flow);
  if (theirs.empty()) throw UsageError(flow.name + ": it does not say in which order its calls ran");
  std::vector<Match> matches = whole_steps(own, theirs);
  if (matches.empty()) matches = steps_in_part(own, theirs);
  JoinedCalls joined{.of = own.size(), .steps = matches.size()};
  for (const Match& match : matches) joined.found += match.size();
  if (2 * joined.found < std::min(own.size(), theirs.size())) {
    throw UsageError(fmt::format(
        "{}: only {} of {} calls of {} are in it in this order; give the execution trace of the same step, "
        "recorded with torch.profiler.ExecutionTraceObserver in the same run",
        flow.name, joined.found, own.size(), model.name));
  }
  for (const Match& match : matches) take(match, flow, model);
  return joined;
}

}  // namespace jitterscope
