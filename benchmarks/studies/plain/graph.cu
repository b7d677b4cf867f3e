// Launches of relu one by one, as one CUDA graph of them, and as one launch that is as large, each over and
// over as in a loop of a program, by the CUDA runtime alone: seconds of all launches, as JSON.
//
// In CUDA and by the driver's call, because Python takes 8 to 10 us for a launch, the runtime's <<<>>> 3.4
// and the driver 3: where the host is the limit, the ratio is that of the host.
#include <cuda.h>

#include "bursts.cuh"

namespace {

using bursts::check;

// Four values a thread, as PyTorch's kernels and jitterscope's take them.
__global__ void relu(const float4* from, float4* to, size_t count) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= count / 4) return;
  const float4 x = from[i];
  to[i] = {fmaxf(x.x, 0.0f), fmaxf(x.y, 0.0f), fmaxf(x.z, 0.0f), fmaxf(x.w, 0.0f)};
}

struct Tensors {
  explicit Tensors(size_t count) : count(count) {
    check(cudaMalloc(&from, count * sizeof(float)));
    check(cudaMalloc(&to, count * sizeof(float)));
    check(cudaMemset(from, 0x3f, count * sizeof(float)));
  }
  void launch(cudaStream_t stream) const {
    static const CUfunction function = [] {
      cudaFunction_t found;
      check(cudaGetFuncBySymbol(&found, reinterpret_cast<const void*>(relu)));
      return found;
    }();
    const void* arguments[] = {&from, &to, &count};
    const auto blocks = unsigned((count / 4 + 255) / 256);
    if (cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream, const_cast<void**>(arguments),
                       nullptr) != CUDA_SUCCESS) {
      check(cudaErrorLaunchFailure);
    }
  }
  size_t count;
  float4 *from = nullptr, *to = nullptr;
};

enum class Kind { eager, graph, batched };

bursts::Round round_of(Kind kind, int launches, size_t count) {
  static const cudaStream_t stream = [] {
    cudaStream_t made;
    check(cudaStreamCreate(&made));
    return made;
  }();
  std::vector<Tensors> tensors;
  const int pieces = kind == Kind::batched ? 1 : launches;
  for (int i = 0; i < pieces; ++i) tensors.emplace_back(count * launches / pieces);
  std::function<void()> call = [tensors] {
    for (const Tensors& each : tensors) each.launch(stream);
  };
  if (kind == Kind::graph) {
    cudaGraph_t graph;
    cudaGraphExec_t recorded;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    call();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&recorded, graph, 0));
    call = [recorded] { check(cudaGraphLaunch(recorded, stream)); };
  }
  double once = 1.0;
  for (int i = 0; i < 5; ++i) once = std::min(once, bursts::by_events(stream, call));
  const int calls = bursts::calls_of_a_round(once);
  const auto all = [call, calls] {
    for (int i = 0; i < calls; ++i) call();
  };
  return {all, [all, calls] { return bursts::by_events(stream, all) / calls; }};
}

}  // namespace

int main() {
  struct Size {
    const char* name;
    size_t count;
  };
  constexpr Size k1Ki = {"1Ki", 1 << 10}, k256Ki = {"256Ki", 1 << 18}, k4Mi = {"4Mi", 1 << 22};
  const std::pair<int, Size> subjects[] = {{1, k1Ki},    {10, k1Ki},   {100, k1Ki},
                                           {1000, k1Ki}, {10, k256Ki}, {4, k4Mi}};
  const std::pair<const char*, Kind> kinds[] = {
      {"eager", Kind::eager}, {"graph", Kind::graph}, {"batched", Kind::batched}};
  std::vector<bursts::Arm> arms;
  for (const auto& [launches, size] : subjects) {
    for (const auto& [name, kind] : kinds) {
      arms.push_back({std::to_string(launches) + "×" + size.name + " " + name,
                      [kind = kind, launches = launches, count = size.count] {
                        return round_of(kind, launches, count);
                      }});
    }
  }
  bursts::print_times(arms);
}
