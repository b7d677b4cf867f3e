#include "commands/capture/what_helps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/names.hpp"

namespace jitterscope {
namespace {

using timeline::IdleCause;

// A remedy, and the causes of idle time that it helps against.
struct Help {
  std::vector<IdleCause> causes;
  std::string_view sentence;
};

double idle_helped(const CaptureDevice& device, const Help& help) {
  double share = 0.0;
  for (const CaptureIdle& idle : device.idle) {
    if (std::ranges::find(help.causes, idle.cause) != help.causes.end()) share += idle.share;
  }
  return share;
}

}  // namespace

std::string what_helps(const CaptureRecord& record, const CaptureDevice& device) {
  constexpr double kMuchIdle = 0.2, kLeastOfCause = 0.1;
  const std::array kHelp = {
      Help{
          {IdleCause::launch, IdleCause::host_elsewhere},
          "The host launches too slowly: CUDA graphs, as torch.compile(mode=\"reduce-overhead\") makes them, or "
          "a larger batch help; if it waits for inputs, a loader with more workers does."},
      Help{
          {IdleCause::between_kernels},
          "The kernels are short: fused ones, as torch.compile makes them, CUDA graphs or a larger batch help."},
      Help{
          {IdleCause::synchronization},
          "The program waits for the GPU before it launches more: it need not, where .item(), .cpu(), print and "
          "synchronize() are left out of the step."},
      Help{
          {IdleCause::allocation},
          "Memory is taken or given back meanwhile: buffers that are kept, and no empty_cache() in the step, "
          "help."},
      Help{{IdleCause::loading},
           "Modules are loaded meanwhile: some steps of warm-up, or CUDA_MODULE_LOADING=EAGER, load them "
           "before."},
      Help{
          {IdleCause::other_stream},
          "Streams wait for each other: copies that begin a step earlier, from pinned memory, and fewer events "
          "help."}};
  if (1.0 - device.busy < kMuchIdle) return {};
  const auto* most = std::ranges::max_element(
      kHelp, [&](const Help& a, const Help& b) { return idle_helped(device, a) < idle_helped(device, b); });
  if (idle_helped(device, *most) < kLeastOfCause) return {};
  std::string text(most->sentence);
  if (!record.can_be_run) return text;
  const std::string name = in_shell(record.source);
  return text +
         fmt::format(
             " Next: `jitterscope advise {}` tries remedies, `jitterscope run {}` times each operation.",
             name, name);
}

}  // namespace jitterscope
