// Copies to the GPU from host memory of each kind, by the CUDA runtime alone: seconds by size and memory, as
// JSON.
//
// In CUDA, because Python takes longer for a call than a small copy does, and because PyTorch waits behind
// each copy from pageable memory. What can be recorded (pinned, registered, mapped) is a graph of copies, so
// that the host's time does not count; a copy from pageable memory is called in a row, as is one that pins
// its memory, copies, waits and lets it go.
#include "bursts.cuh"

namespace {

using bursts::check;

__global__ void copy_over_the_bus(const float4* from, float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    to[i] = from[i];
}

class Copies {
 public:
  Copies(size_t bytes, std::string memory) : bytes_(bytes), memory_(std::move(memory)) {
    check(cudaStreamCreate(&stream_));
    check(cudaMalloc(&target_, bytes));
    if (memory_ == "pinned" || memory_ == "mapped") {
      check(cudaHostAlloc(&source_, bytes, cudaHostAllocMapped));
    } else if (posix_memalign(&source_, 4096, bytes) != 0) {
      check(cudaErrorMemoryAllocation);
    }
    std::fill_n(static_cast<float*>(source_), bytes / sizeof(float), 1.5f);
    if (memory_ == "registered") check(cudaHostRegister(source_, bytes, 0));
    double once = 1.0;
    for (int i = 0; i < 5; ++i) once = std::min(once, bursts::by_events(stream_, [&] { copy(); }));
    calls_ = bursts::calls_of_a_round(once);
    if (memory_ == "pageable" || memory_ == "registered_anew") return;
    cudaGraph_t graph;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls_; ++i) copy();
    check(cudaStreamEndCapture(stream_, &graph));
    check(cudaGraphInstantiate(&recorded_, graph, 0));
  }

  void launch() {
    if (recorded_ != nullptr) {
      check(cudaGraphLaunch(recorded_, stream_));
    } else {
      for (int i = 0; i < calls_; ++i) copy();
    }
  }

  double seconds_of_a_copy() {
    return bursts::by_events(stream_, [&] { launch(); }) / calls_;
  }

 private:
  void copy() {
    if (memory_ == "mapped") {
      const size_t count = bytes_ / sizeof(float4);
      const auto blocks = unsigned(std::min<size_t>((count + 255) / 256, 1024));
      copy_over_the_bus<<<blocks, 256, 0, stream_>>>(static_cast<float4*>(source_),
                                                     static_cast<float4*>(target_), count);
      return;
    }
    const bool anew = memory_ == "registered_anew";
    if (anew) check(cudaHostRegister(source_, bytes_, 0));
    check(cudaMemcpyAsync(target_, source_, bytes_, cudaMemcpyHostToDevice, stream_));
    if (!anew) return;
    check(cudaStreamSynchronize(stream_));
    check(cudaHostUnregister(source_));
  }

  size_t bytes_;
  std::string memory_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t recorded_ = nullptr;
  void *source_ = nullptr, *target_ = nullptr;
  int calls_ = 1;
};

}  // namespace

int main() {
  const std::pair<const char*, size_t> sizes[] = {
      {"4Ki", 1 << 12}, {"64Ki", 1 << 16}, {"1Mi", 1 << 20}, {"16Mi", 1 << 24}, {"256Mi", 1 << 28}};
  const char* memories[] = {"pageable", "pinned", "registered", "registered_anew", "mapped"};
  std::vector<bursts::Arm> arms;
  for (const auto& [name, bytes] : sizes) {
    for (const char* memory : memories) {
      arms.push_back({std::string(name) + " " + memory, [bytes = bytes, memory] {
                        auto copies = std::make_shared<Copies>(bytes, memory);
                        return bursts::Round{[copies] { copies->launch(); },
                                             [copies] { return copies->seconds_of_a_copy(); }};
                      }});
    }
  }
  bursts::print_times(arms);
}
