#include "import/log_model.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "jitterscope/error.hpp"

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
  const auto [found, is_new] = layer_of_.try_emplace(operation.text(), model_.layers.size());
  if (is_new) {
    model_.layers.push_back({.names = {}, .operation = operation, .source = std::string(source)});
    all_timed_.push_back(true);
  }
  const std::size_t index = found->second;
  Layer& layer = model_.layers[index];
  all_timed_[index] = all_timed_[index] && time.has_value();
  if (all_timed_[index]) {
    layer.recorded_time = layer.recorded_time.value_or(Nanoseconds(0)) + *time;
  } else {
    layer.recorded_time.reset();  // a sum of some calls would be taken for that of all
  }
  layer.names.push_back(fmt::format("line {}", line));
  model_.calls.push_back({.layer = index, .name = layer.names.back(), .inputs = {}});
  return layer;
}

void LogModel::add_untimed(std::string_view name, std::string_view reason) {
  const auto [found, is_new] =
      untimed_of_.try_emplace({std::string(name), std::string(reason)}, model_.untimed.size());
  if (is_new) {
    model_.untimed.push_back({.name = std::string(name), .count = 0, .reason = std::string(reason)});
  }
  ++model_.untimed[found->second].count;
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
