#include "cli/work_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/names.hpp"
#include "cli/model_target.hpp"
#include "jitterscope/error.hpp"
#include "operation/model.hpp"

namespace jitterscope::cli {
namespace {

bool looks_like_path(const std::string& target) {
  return target.find('/') != std::string::npos || target.ends_with(".json");
}

Model read_model_target(const std::string& target) {
  if (looks_like_path(target)) return load_model(target);
  if (std::optional<Model> model = find_known_model(target)) return *std::move(model);
  std::vector<std::string> known = known_models();
  for (const OperationHelp& help : operation_help()) known.push_back(help.kind + ":…");
  throw UsageError(fmt::format("'{}' is neither a model nor an operation{}; see jitterscope list", target,
                               suggestion(target, known)));
}

void add_model(WorkList& work, Model model) {
  work.is_model = true;
  for (Layer& layer : model.layers)
    work.items.push_back({std::move(layer.operation), std::move(layer.names)});
}

}  // namespace

WorkList read_targets(const std::vector<std::string>& targets) {
  WorkList work;
  work.title = joined(targets, " ");
  for (const std::string& target : targets) {
    if (target.find(':') == std::string::npos || looks_like_path(target)) {
      add_model(work, read_model_target(target));
    } else if (std::optional<Model> model = find_known_model(target)) {
      add_model(work, *std::move(model));
    } else {
      for (Operation& operation : parse_sweep(target)) work.items.push_back({std::move(operation), {}});
    }
  }
  return work;
}

void fit_to_device(WorkList& work, const DeviceDescription& device) {
  const auto has = [&](DataType type) {
    return std::find(device.data_types.begin(), device.data_types.end(), type) != device.data_types.end();
  };
  if (!work.is_model || has(DataType::tf32)) return;
  std::size_t changed = 0;
  for (WorkItem& item : work.items) {
    if (item.layers.empty() || item.operation.dtype() != DataType::tf32) continue;
    item.operation = item.operation.with_dtype(DataType::f32);
    ++changed;
  }
  if (changed == 0) return;
  work.notes.push_back(
      fmt::format("{} of {} operations were recorded with TF32, which {} does not have: they run in f32.",
                  changed, work.items.size(), device.name));
}

}  // namespace jitterscope::cli
