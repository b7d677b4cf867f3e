// Eight steps of eight launches of relu, with the host waiting in several ways, by the CUDA runtime alone:
// the host's seconds from the first launch to the end of the work, as JSON.
//
// In CUDA, because Python's time for each launch and wait hides part of what the waits cost: a step takes 81
// us from Python and 46 us here.
#include <sched.h>

#include "bursts.cuh"

namespace {

using bursts::check;

constexpr int kSteps = 8, kLaunches = 8;
constexpr size_t kCount = 2 << 20;

// Four values a thread, as PyTorch's kernels and jitterscope's take them.
__global__ void relu(const float4* from, float4* to, size_t count) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= count / 4) return;
  const float4 x = from[i];
  to[i] = {fmaxf(x.x, 0.0f), fmaxf(x.y, 0.0f), fmaxf(x.z, 0.0f), fmaxf(x.w, 0.0f)};
}

enum class Wait { none, stream, event, device, asleep, polling, yielding, value };

class Program {
 public:
  Program(Wait wait, bool each_launch) : wait_(wait), each_launch_(each_launch) {
    check(cudaStreamCreate(&stream_));
    check(cudaEventCreateWithFlags(
        &event_, cudaEventDisableTiming | (wait == Wait::asleep ? cudaEventBlockingSync : 0)));
    check(cudaMallocHost(&value_, sizeof(float)));
    for (float4*& tensor : tensors_) {
      check(cudaMalloc(&tensor, kCount * sizeof(float)));
      check(cudaMemset(tensor, 0x3f, kCount * sizeof(float)));
    }
  }

  void run() const {
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < kLaunches; ++i) {
        float4* const* at = tensors_ + step * (kLaunches + 1) + i;
        relu<<<unsigned(kCount / 4 / 256), 256, 0, stream_>>>(at[0], at[1], kCount);
        if (each_launch_) pause(at[1]);
      }
      if (!each_launch_) pause(tensors_[step * (kLaunches + 1) + kLaunches]);
    }
    check(cudaStreamSynchronize(stream_));
  }

 private:
  void pause(const float4* result) const {
    if (wait_ == Wait::event || wait_ == Wait::asleep || wait_ == Wait::polling || wait_ == Wait::yielding) {
      check(cudaEventRecord(event_, stream_));
    }
    switch (wait_) {
      case Wait::none: return;
      case Wait::stream: return check(cudaStreamSynchronize(stream_));
      case Wait::event:
      case Wait::asleep: return check(cudaEventSynchronize(event_));
      case Wait::device: return check(cudaDeviceSynchronize());
      case Wait::polling:
        while (cudaEventQuery(event_) == cudaErrorNotReady) {
        }
        return;
      case Wait::yielding:
        while (cudaEventQuery(event_) == cudaErrorNotReady) sched_yield();
        return;
      case Wait::value:
        check(cudaMemcpyAsync(value_, result, sizeof(float), cudaMemcpyDeviceToHost, stream_));
        return check(cudaStreamSynchronize(stream_));
    }
  }

  Wait wait_;
  bool each_launch_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  float* value_ = nullptr;
  float4* tensors_[kSteps * (kLaunches + 1)] = {};
};

bursts::Round round_of(Wait wait, bool each_launch) {
  constexpr int kCalls = 10;
  auto program = std::make_shared<Program>(wait, each_launch);
  program->run();
  return {[program] { program->run(); },
          [program] {
            std::vector<double> times;
            for (int i = 0; i < kCalls; ++i) times.push_back(bursts::by_host([&] { program->run(); }));
            return bursts::median(times);
          }};
}

}  // namespace

int main() {
  struct Waiting {
    const char* name;
    Wait wait;
    bool each_launch;
  };
  constexpr Waiting kWaitings[] = {
      {"wait at the end", Wait::none, false},         {"stream, each step", Wait::stream, false},
      {"event, each step", Wait::event, false},       {"device, each step", Wait::device, false},
      {"asleep, each step", Wait::asleep, false},     {"polling, each step", Wait::polling, false},
      {"yielding, each step", Wait::yielding, false}, {"a value, each step", Wait::value, false},
      {"stream, each launch", Wait::stream, true},    {"a value, each launch", Wait::value, true}};
  std::vector<bursts::Arm> arms;
  for (const Waiting& each : kWaitings) {
    arms.push_back({each.name, [each] { return round_of(each.wait, each.each_launch); }});
  }
  bursts::print_times(arms);
}
