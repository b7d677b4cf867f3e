#include "cli/work_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/names.hpp"
#include "cli/model_target.hpp"

namespace jitterscope::cli {
namespace {

void add_model(WorkList& work, const std::string& target) {
  Model model = read_model_target(target);
  // The order is that of one model: several do not run one in the other.
  work.calls = work.items.empty() ? std::move(model.calls) : std::vector<Call>();
  work.is_model = true;
  for (Layer& layer : model.layers) {
    std::optional<Nanoseconds> each;
    if (layer.recorded_time) each = *layer.recorded_time / static_cast<double>(layer.count());
    work.items.push_back({std::move(layer.operation), std::move(layer.names), std::move(layer.aten), each});
  }
  work.untimed.insert(work.untimed.end(), model.untimed.begin(), model.untimed.end());
  work.notes.insert(work.notes.end(), model.notes.begin(), model.notes.end());
  work.is_incomplete |= model.is_incomplete;
  work.recorded_cudnn = model.recorded_cudnn;
  if (model.recorded_gpu_time) {
    work.recorded_gpu_time = work.recorded_gpu_time.value_or(Nanoseconds(0)) + *model.recorded_gpu_time;
  }
}

// Operations that were typed run in the order typed, and share what has the same name, type and size: the x,
// w and dy of a convolution and its gradients.
std::vector<Call> calls_in_order(const std::vector<WorkItem>& items) {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Call call{.layer = i, .name = items[i].operation.text(), .inputs = {}};
    const std::vector<Operand> operands = items[i].operation.operands();
    for (std::size_t operand = 0; operand < operands.size(); ++operand) {
      for (std::size_t earlier = 0; earlier < i; ++earlier) {
        const std::vector<Operand> others = items[earlier].operation.operands();
        const auto same = std::ranges::find_if(others, [&](const Operand& other) {
          return other.name == operands[operand].name && other.dtype == operands[operand].dtype &&
                 other.bytes() == operands[operand].bytes();
        });
        if (same == others.end()) continue;
        call.inputs.push_back({operand, earlier, static_cast<std::size_t>(same - others.begin())});
        break;
      }
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace

WorkList read_targets(const std::vector<std::string>& targets) {
  WorkList work;
  work.title = joined(targets, " ");
  for (const std::string& target : targets) {
    if (names_operation(target)) {
      work.calls.clear();
      for (Operation& operation : parse_sweep(target)) work.items.push_back({std::move(operation)});
    } else {
      add_model(work, target);
    }
  }
  if (!work.is_model) work.calls = calls_in_order(work.items);
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
  work.notes.push_back(fmt::format("{} of {} operations use TF32, which {} does not have: they run in f32.",
                                   changed, work.items.size(), device.name));
}

void keep_items(WorkList& work, const std::vector<bool>& keep) {
  constexpr std::size_t kGone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> new_item, new_call;
  std::vector<WorkItem> items;
  for (std::size_t i = 0; i < work.items.size(); ++i) {
    new_item.push_back(keep[i] ? items.size() : kGone);
    if (keep[i]) items.push_back(std::move(work.items[i]));
  }
  std::vector<Call> calls;
  for (Call& call : work.calls) {
    const bool stays = new_item[call.layer] != kGone;
    new_call.push_back(stays ? calls.size() : kGone);
    if (!stays) continue;
    call.layer = new_item[call.layer];
    const auto lost =
        std::erase_if(call.inputs, [&](const OperandSource& input) { return new_call[input.call] == kGone; });
    call.unwritten += static_cast<std::int64_t>(lost);
    for (OperandSource& input : call.inputs) input.call = new_call[input.call];
    calls.push_back(std::move(call));
  }
  work.items = std::move(items);
  work.calls = std::move(calls);
}

}  // namespace jitterscope::cli
