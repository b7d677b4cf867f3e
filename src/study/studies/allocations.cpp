#include "study/studies/allocations.hpp"

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope::study::studies {

std::vector<Arm> allocation_arms(const StudyContext& context, const std::vector<Allocator>& allocators) {
  const DeviceCapabilities& can = context.description.capabilities;
  std::vector<Arm> arms;
  for (const Allocator by : allocators) {
    if (std::ranges::find(can.allocators, by) == can.allocators.end()) continue;
    arms.push_back({std::string(to_string(by)), [by, waits = can.launches_return_early](Trial& trial) {
                      Allocation allocation = std::get<Allocation>(trial.operation.parameters());
                      allocation.by = by;
                      trial.operation = Operation(allocation);
                      if (waits && !trial.options.instrument) trial.options.instrument = Instrument::host;
                    }});
  }
  if (arms.size() < 2) {
    throw UsageError(context.description.id +
                     " is simulated and gives out no memory: use --device cpu or --device cuda");
  }
  return arms;
}

Remedy allocation_remedy(const std::string& arm) {
  if (arm == to_string(Allocator::preallocated)) {
    return {{"output = torch.empty(shape, device=\"cuda\")  # once", "torch.mm(a, b, out=output)"},
            "The memory stays taken, and shapes are fixed."};
  }
  if (arm == to_string(Allocator::cache)) {
    return {{"c10::cuda::CUDACachingAllocator::raw_alloc(bytes)"},
            "PyTorch's tensors have it already; what it keeps is no other program's.",
            "In C++ beside PyTorch"};
  }
  if (arm == to_string(Allocator::expandable)) {
    return {{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}, "", "In the environment of PyTorch"};
  }
  if (arm == to_string(Allocator::pool)) {
    return {{"cudaMallocAsync(&pointer, bytes, stream)", "cudaFreeAsync(pointer, stream)"},
            "Each wait for the GPU gives the memory back.",
            "In CUDA"};
  }
  return {{"cudaMallocAsync and cudaFreeAsync", "cudaMemPoolAttrReleaseThreshold of the pool at UINT64_MAX"},
          "What the pool keeps is no other program's; PyTorch has it as backend:cudaMallocAsync.",
          "In CUDA"};
}

}  // namespace jitterscope::study::studies
