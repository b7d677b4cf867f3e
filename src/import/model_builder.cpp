#include "import/model_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

void add_time(std::optional<Nanoseconds>& total, std::optional<Nanoseconds> time) {
  if (time) total = total.value_or(Nanoseconds(0)) + *time;
}

// resnet50 of path/resnet50_trace.json.gz
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

std::size_t ModelBuilder::layer_of(const ConvertedOperation& converted, std::string_view source,
                                   const RecordedWork& work) {
  const auto [known, is_new] = layers_.try_emplace(converted.operation.text(), model_.layers.size());
  if (is_new) {
    model_.layers.push_back({{}, converted.operation, std::string(source), converted.aten});
    model_.layers.back().recorded_kernels = work.kernels;
  }
  return known->second;
}

void ModelBuilder::connect(Call& call, const ConvertedOperation& converted) {
  const std::vector<Operand> operands = converted.operation.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::optional<TensorIdentity> tensor = tensor_of(converted, operands[i].name);
    if (!tensor || operands[i].role != OperandRole::input) continue;
    if (unwritten_.contains(*tensor)) ++call.unwritten;
    const Owner owner = owners_.try_emplace(*tensor, Owner{model_.calls.size(), i}).first->second;
    if (owner.call != model_.calls.size()) call.inputs.push_back({i, owner.call, owner.operand});
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::optional<TensorIdentity> tensor = tensor_of(converted, operands[i].name);
    if (!tensor || operands[i].role != OperandRole::output) continue;
    owners_[*tensor] = {model_.calls.size(), i};
    unwritten_.erase(*tensor);
  }
}

void ModelBuilder::add_call(std::string name, std::string_view source, const ConvertedOperation& converted,
                            const RecordedWork& work) {
  const std::size_t index = layer_of(converted, source, work);
  Layer& layer = model_.layers[index];
  layer.names.push_back(name);
  add_time(layer.recorded_time, work.time);
  Call call{index, std::move(name), {}};
  connect(call, converted);
  model_.calls.push_back(std::move(call));
}

void ModelBuilder::add_untimed(std::string_view name, std::string_view reason,
                               std::optional<Nanoseconds> time) {
  const auto [known, is_new] =
      untimed_.try_emplace({std::string(name), std::string(reason)}, model_.untimed.size());
  if (is_new) model_.untimed.push_back({std::string(name), 0, std::string(reason)});
  UntimedOperator& untimed = model_.untimed[known->second];
  ++untimed.count;
  add_time(untimed.recorded_time, time);
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

Model ModelBuilder::finish(std::string_view file_name, std::string format) {
  if (model_.layers.empty()) {
    std::string problem = fmt::format("{}: this {} holds no operator that can be timed", file_name, format);
    if (!model_.untimed.empty()) {
      const UntimedOperator& first = model_.untimed.front();
      problem += fmt::format("; {} of {}: {}", first.count, first.name, first.reason);
    }
    throw UsageError(problem);
  }
  model_.name = model_name_of(file_name);
  model_.format = std::move(format);
  model_.description = fmt::format("{} calls of {} operations, from a {}", model_.calls.size(),
                                   model_.layers.size(), model_.format);
  return std::move(model_);
}

}  // namespace jitterscope
