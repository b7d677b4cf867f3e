#include "output/pytorch_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal: return "equal";
    case Verdict::differs: return "DIFFERS";
    case Verdict::unknown: break;
  }
  return kAbsent;
}

std::string layers_table(const std::vector<ComparedLayer>& layers) {
  std::array<TableColumn, 8> columns = {{{"#", Align::right, {}},
                                         {"layer", Align::left, {}},
                                         {"run by", Align::left, {}},
                                         {"engine", Align::left, {}},
                                         {"kernels", Align::left, {}},
                                         {"PyTorch", Align::right, {}},
                                         {"here", Align::right, {}},
                                         {"ratio", Align::right, {}}}};
  for (const ComparedLayer& layer : layers) {
    const ReferenceLayer& reference = layer.reference;
    const bool failed = !layer.here.failure.empty();
    const std::array<std::string, 8> cells = {
        std::to_string(columns[0].cells.size() + 1),
        fmt::format("{} ×{}", one_line(reference.operation.text()), reference.count),
        failed ? "failed" : one_line(layer.here.provider),
        std::string(verdict_text(layer.engine)),
        std::string(verdict_text(layer.kernels)),
        reference.time ? time_text(*reference.time) : std::string(kAbsent),
        layer.here.kernels.empty() ? std::string(kAbsent) : time_text(time_here(layer)),
        layer.time_ratio ? fmt::format("{:.3f}", *layer.time_ratio) : std::string(kAbsent)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  return fitted_table({columns.begin(), columns.end()}, kPageWidth);
}

std::string differences(const std::vector<ComparedLayer>& layers) {
  std::string text;
  const auto add = [&](std::size_t row, const std::string& what) {
    text += wrapped(fmt::format("- #{} {}", row + 1, what), kPageWidth, 2);
  };
  const auto list = [](const auto& names) {
    std::vector<std::string> all;
    for (const std::string& name : names) all.push_back(cut_to_width(one_line(name), 100));
    return joined(all, " + ");
  };
  for (std::size_t row = 0; row < layers.size(); ++row) {
    const ComparedLayer& layer = layers[row];
    if (!layer.here.failure.empty()) add(row, "failed here: " + one_line(layer.here.failure));
    if (layer.engine == Verdict::differs) {
      add(row, fmt::format("engine: PyTorch {}, here {}", layer.reference.engine, layer.here.algorithm));
    }
    if (layer.kernels != Verdict::differs) continue;
    std::vector<std::string> ours;
    for (const LaunchKernel& kernel : layer.here.kernels) ours.push_back(kernel.name);
    add(row, fmt::format("kernels: PyTorch {}; here {}", list(layer.reference.kernels), list(ours)));
  }
  return text.empty() ? text : "Differences:\n\n" + text;
}

template <class Member>
std::string count_of(const std::vector<ComparedLayer>& layers, Member member) {
  const auto unknown = std::ranges::count(layers, Verdict::unknown, member);
  const auto equal = std::ranges::count(layers, Verdict::equal, member);
  return fmt::format("{} of {}{}", equal, std::ssize(layers) - unknown,
                     unknown > 0 ? fmt::format(", {} unknown", unknown) : "");
}

std::string summary(const PytorchComparison& comparison) {
  std::string text = fmt::format("Equal engines: {}. Equal kernels: {}.",
                                 count_of(comparison.layers, &ComparedLayer::engine),
                                 count_of(comparison.layers, &ComparedLayer::kernels));
  if (const std::optional<TimeRatios> ratios = comparison.time_ratios()) {
    const auto without = std::ranges::count_if(comparison.layers,
                                               [](const ComparedLayer& layer) { return !layer.time_ratio; });
    text += fmt::format(
        " Times here, warm and back to back, over PyTorch's in training: median {:.3f}, from {:.3f} to "
        "{:.3f}{}.",
        ratios->median, ratios->least, ratios->most,
        without > 0 ? fmt::format(", {} without", counted(without, "layer")) : "");
  }
  return wrapped(text, kPageWidth);
}

}  // namespace

std::string pytorch_table(const PytorchRecord& record) {
  const PytorchComparison& comparison = record.comparison;
  std::string heading = fmt::format("**{}** as PyTorch", one_line(comparison.model));
  if (!comparison.torch.empty()) heading += " " + comparison.torch;
  if (!comparison.cudnn.empty()) heading += fmt::format(" (cuDNN {})", comparison.cudnn);
  heading += fmt::format(" ran it in training, and as jitterscope runs it on {} ({}).",
                         one_line(record.device.name), record.device.id);
  std::string text =
      wrapped(heading, kPageWidth) + '\n' + layers_table(comparison.layers) + '\n' + summary(comparison);
  if (!comparison.without_plans.empty()) {
    text += wrapped(fmt::format("No engine is known of PyTorch's: {}.", one_line(comparison.without_plans)),
                    kPageWidth);
  }
  const std::string differing = differences(comparison.layers);
  if (!differing.empty()) text += '\n' + differing;
  const std::string others = untimed_text(comparison.not_compared, comparison.recorded_gpu_time, kPageWidth);
  if (!others.empty()) text += '\n' + others;
  if (comparison.interrupted) text += "\nInterrupted: these are the results so far.\n";
  return text;
}

}  // namespace jitterscope
