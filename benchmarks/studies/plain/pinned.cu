// Copies to the GPU from host memory of each kind, by the CUDA runtime alone: seconds by size and memory, as
// JSON.
//
// In CUDA, because Python takes longer for a call than a small copy does, and because PyTorch waits behind
// each copy from pageable memory. What can be recorded (pinned, registered, mapped) is a graph of copies, so
// that the host's time does not count; a copy from pageable memory is called in a row, as is one that pins
// its memory, copies, waits and lets it go.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kPlaces = 3, kRounds = 10, kMostCalls = 100;
constexpr double kRoundSeconds = 3e-3;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "pinned.cu: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void copy_over_the_bus(const float4* from, float4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    to[i] = from[i];
}

class Copies {
 public:
  Copies(size_t bytes, std::string memory) : bytes_(bytes), memory_(std::move(memory)) {
    check(cudaStreamCreate(&stream_));
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&end_));
    check(cudaMalloc(&target_, bytes));
    if (memory_ == "pinned" || memory_ == "mapped") {
      check(cudaHostAlloc(&source_, bytes, cudaHostAllocMapped));
    } else if (posix_memalign(&source_, 4096, bytes) != 0) {
      check(cudaErrorMemoryAllocation);
    }
    std::fill_n(static_cast<float*>(source_), bytes / sizeof(float), 1.5f);
    if (memory_ == "registered") check(cudaHostRegister(source_, bytes, 0));
    double once = 1.0;
    for (int i = 0; i < 5; ++i) once = std::min(once, elapsed([&] { copy(); }));
    calls_ = std::clamp(int(kRoundSeconds / once), 1, kMostCalls);
    if (memory_ == "pageable" || memory_ == "registered_anew") return;
    cudaGraph_t graph;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls_; ++i) copy();
    check(cudaStreamEndCapture(stream_, &graph));
    check(cudaGraphInstantiate(&recorded_, graph, 0));
  }

  void measure() {
    launch();  // not timed: the GPU has work until the timed ones come
    times_.push_back(elapsed([&] { launch(); }) / calls_);
  }

  double median() {
    std::sort(times_.begin(), times_.end());
    return (times_[(times_.size() - 1) / 2] + times_[times_.size() / 2]) / 2;
  }

  const std::string& memory() const { return memory_; }
  size_t bytes() const { return bytes_; }

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

  void launch() {
    if (recorded_ != nullptr) {
      check(cudaGraphLaunch(recorded_, stream_));
    } else {
      for (int i = 0; i < calls_; ++i) copy();
    }
  }

  template <class Work>
  double elapsed(const Work& work) {
    check(cudaEventRecord(start_, stream_));
    work();
    check(cudaEventRecord(end_, stream_));
    check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, end_));
    return milliseconds * 1e-3;
  }

  size_t bytes_;
  std::string memory_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
  cudaGraphExec_t recorded_ = nullptr;
  void *source_ = nullptr, *target_ = nullptr;
  int calls_ = 1;
  std::vector<double> times_;
};

}  // namespace

int main() {
  const std::pair<const char*, size_t> sizes[] = {
      {"4Ki", 1 << 12}, {"64Ki", 1 << 16}, {"1Mi", 1 << 20}, {"16Mi", 1 << 24}, {"256Mi", 1 << 28}};
  const char* memories[] = {"pageable", "pinned", "registered", "registered_anew", "mapped"};
  std::vector<std::unique_ptr<Copies>> all;
  for (int place = 0; place < kPlaces; ++place) {
    for (const auto& [name, bytes] : sizes) {
      for (const char* memory : memories) all.push_back(std::make_unique<Copies>(bytes, memory));
    }
  }
  std::mt19937 random(std::random_device{}());
  std::vector<Copies*> order;
  for (const auto& each : all) order.push_back(each.get());
  for (int round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (Copies* each : order) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(20, 50)(random)));
      each->measure();
    }
  }
  const char* between = "{";
  for (const auto& [name, bytes] : sizes) {
    for (const char* memory : memories) {
      double logarithms = 0;
      for (const auto& each : all) {
        if (each->bytes() == bytes && each->memory() == memory) logarithms += std::log(each->median());
      }
      std::printf("%s\"%s %s\": %.9g", between, name, memory, std::exp(logarithms / kPlaces));
      between = ", ";
    }
  }
  std::puts("}");
}
