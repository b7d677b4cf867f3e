#include "import/model_builder.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

void add_time(std::optional<Nanoseconds>& total, std::optional<Nanoseconds> time) {
  if (time) total = total.value_or(Nanoseconds(0)) + *time;
}

// Returns resnet50 for path/resnet50_trace.json.gz.
std::string model_name_of(std::string_view file_name) {
  std::string name = std::filesystem::path(file_name).filename().string();
  name = name.substr(0, name.find('.'));
  for (const std::string_view ending : {"_et", "_trace"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name.empty() ? "record" : name;
}

std::optional<TensorIdentity> tensor_of(const ConvertedOperation& converted, std::string_view operand) {
  for (const auto& [name, tensor] : converted.tensors) {
    if (name == operand) return tensor;
  }
  return std::nullopt;
}

}  // namespace

std::size_t LayerCollector::layer_of(const Operation& operation, std::string_view source) {
  const auto [known, is_new] = layers_.try_emplace(operation.text(), model_.layers.size());
  if (is_new) model_.layers.push_back({.names = {}, .operation = operation, .source = std::string(source)});
  return known->second;
}

void LayerCollector::add_call_time(std::size_t layer, std::optional<Nanoseconds> time) {
  all_timed_.resize(model_.layers.size(), true);
  all_timed_[layer] = all_timed_[layer] && time.has_value();
  if (all_timed_[layer]) {
    model_.layers[layer].recorded_times.push_back(*time);
  } else {
    model_.layers[layer].recorded_times.clear();
  }
}

void LayerCollector::add_untimed(std::string_view name, std::string_view reason,
                                 std::optional<Nanoseconds> time, std::string_view remedy) {
  const auto [known, is_new] =
      untimed_.try_emplace({std::string(name), std::string(reason)}, model_.untimed.size());
  if (is_new) model_.untimed.push_back({std::string(name), 0, std::string(reason)});
  UntimedOperator& untimed = model_.untimed[known->second];
  if (untimed.remedy.empty()) untimed.remedy = remedy;
  ++untimed.count;
  add_time(untimed.recorded_time, time);
}

// An output that is written in place lies in an earlier call's memory, as an operand that is read.
void ModelBuilder::connect(Call& call, const ConvertedOperation& converted) {
  const std::size_t here = model_.calls.size();
  const std::vector<Operand> operands = converted.operation.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::optional<TensorIdentity> tensor = tensor_of(converted, operands[i].name);
    if (!tensor) continue;
    const Owner own{here, i, operands[i].bytes()};
    Owner& owner = owners_.try_emplace(*tensor, own).first->second;
    const bool is_output = operands[i].role == OperandRole::output;
    // An output that is larger than the owner does not lie in its memory: the address was used again.
    if (is_output && (owner.call == here || own.size > owner.size)) owner = own;
    if (owner.call != here) call.inputs.push_back({i, owner.call, owner.operand});
    if (is_output) {
      unwritten_.erase(*tensor);
    } else if (unwritten_.contains(*tensor)) {
      ++call.unwritten;
    }
  }
}

void ModelBuilder::add_call(std::string name, std::string_view source, const ConvertedOperation& converted,
                            const RecordedWork& work) {
  const std::size_t index = layer_of(converted.operation, source);
  Layer& layer = model_.layers[index];
  if (layer.names.empty()) {
    layer.aten = converted.aten;
    layer.recorded_kernels = work.kernels;
  }
  layer.names.push_back(name);
  add_call_time(index, work.time);
  Call call{index, std::move(name), {}};
  connect(call, converted);
  model_.calls.push_back(std::move(call));
}

void ModelBuilder::add_note(std::string note) { model_.notes.push_back(std::move(note)); }

void ModelBuilder::forget(const TensorIdentity& tensor) {
  owners_.erase(tensor);
  unwritten_.erase(tensor);
}

void ModelBuilder::write_untimed(const TensorIdentity& tensor) {
  owners_.erase(tensor);
  unwritten_.insert(tensor);
}

namespace {

// Includes calls that cannot be timed: "1383 calls of 123 operations, of which 1380 of 122 can be timed".
std::string calls_text(const Model& model) {
  std::int64_t calls = std::ssize(model.calls);
  for (const UntimedOperator& each : model.untimed) calls += each.count;
  std::string text = fmt::format("{} of {}", counted(calls, "call"),
                                 counted(std::ssize(model.layers) + std::ssize(model.untimed), "operation"));
  if (!model.untimed.empty())
    text += fmt::format(", of which {} of {} can be timed", model.calls.size(), model.layers.size());
  return text;
}

}  // namespace

Model ModelBuilder::finish(std::string_view file_name, std::string format) {
  if (model_.layers.empty()) {
    std::string problem = fmt::format("{}: this {} has no operator that can be timed", file_name, format);
    if (!model_.untimed.empty()) {
      const UntimedOperator& first = model_.untimed.front();
      problem += fmt::format("; {} of {}: {}", first.count, first.name, first.why());
    }
    throw UsageError(problem);
  }
  model_.name = model_name_of(file_name);
  model_.format = std::move(format);
  model_.description = fmt::format("{}, from a {}", calls_text(model_), model_.format);
  return std::move(model_);
}

}  // namespace jitterscope

namespace jitterscope::library_log {
namespace {

std::string name_of(std::string_view file_name) {
  std::filesystem::path name = std::filesystem::path(file_name).filename();
  if (name.extension() == ".gz") name = name.stem();
  const std::string stem = name.stem().string();
  return stem.empty() ? "log" : stem;
}

}  // namespace

LogModel::LogModel(std::string_view kind, std::string_view file_name, std::string_view how_to_record)
    : file_name_(file_name), how_to_record_(how_to_record) {
  model_.name = name_of(file_name);
  model_.format = fmt::format("{} log", kind);
  model_.description = fmt::format("What a program ran, from its {} log.", kind);
}

Layer& LogModel::add_call(const Operation& operation, std::string_view source, std::int64_t line,
                          std::optional<Nanoseconds> time) {
  const std::size_t index = layer_of(operation, source);
  Layer& layer = model_.layers[index];
  add_call_time(index, time);
  layer.names.push_back(fmt::format("line {}", line));
  model_.calls.push_back({.layer = index, .name = layer.names.back(), .inputs = {}});
  return layer;
}

void LogModel::add_damaged(std::int64_t line, std::string_view what) {
  if (damaged_++ == 0) first_damage_ = fmt::format("on line {}, {}", line, what);
}

std::string LogModel::nothing_found(std::string_view missing) const {
  std::string sentence = fmt::format("{} holds {}", file_name_, missing);
  if (!model_.untimed.empty()) {
    const UntimedOperator& first = model_.untimed.front();
    sentence += fmt::format(" that can be timed ({} is left out: {})", first.name, first.reason);
  }
  if (damaged_ > 0) {
    sentence += fmt::format(", and {} damaged record{}: {}{}", damaged_, damaged_ == 1 ? "" : "s",
                            damaged_ == 1 ? "" : "the first, ", first_damage_);
  }
  return sentence + fmt::format("; record a log with {}", how_to_record_);
}

Model LogModel::finish(std::string_view missing) && {
  if (model_.layers.empty()) throw UsageError(nothing_found(missing));
  if (damaged_ > 0) {
    note(fmt::format("{} damaged record{} left out; the first, {}.", damaged_,
                     damaged_ == 1 ? " is" : "s are", first_damage_));
    model_.is_incomplete = true;
  }
  if (processes_.size() > 1)
    note(fmt::format("The log holds calls of {} processes; counts are of all of them.", processes_.size()));
  return std::move(model_);
}

}  // namespace jitterscope::library_log
