// Programs to be watched that do nothing but launch: what recording costs a launch, and what is lost.
//   nvcc -O2 -arch=native launcher.cu -o launcher -ldl
// usage: launcher launches [SECONDS]         steps of 1,000 launches of a kernel over one value
//        launcher graph [SECONDS] [NODES]    launches of one graph of so many kernels
//        launcher threads [LAUNCHES]         so many launches by 8 threads on 4 streams, graphs among them
//        launcher end HOW [SECONDS]          ends by return, _exit, kill or reset (cudaDeviceReset, and goes
//        on) launcher kinds [NODES]              a graph's time as CUPTI's kinds are switched on and off
// `launches` and `graph` print their steps' times as a line of JSON, as workloads.py does.
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

__global__ void add_one(float* value) { value[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "launcher: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

float* memory(std::size_t count) {
  float* values = nullptr;
  check(cudaMalloc(&values, count * sizeof(float)));
  check(cudaMemset(values, 0, count * sizeof(float)));
  return values;
}

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

template <class Step>
std::vector<double> times_of(Step step, double seconds, int warm_up = 10) {
  for (int i = 0; i < warm_up; ++i) step();
  check(cudaDeviceSynchronize());
  std::vector<double> times;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds); Clock::now() < end;) {
    const auto begin = Clock::now();
    step();
    check(cudaDeviceSynchronize());
    times.push_back(microseconds(Clock::now() - begin));
  }
  std::sort(times.begin(), times.end());
  return times;
}

void print_steps(const char* workload, const std::vector<double>& times) {
  std::printf(
      "{\"workload\": \"%s\", \"steps\": %zu, \"median_us\": %.3f, \"least_us\": %.3f, \"p95_us\": %.3f}\n",
      workload, times.size(), times[times.size() / 2], times.front(), times[times.size() * 95 / 100]);
}

cudaGraphExec_t graph_of(float* values, int nodes, cudaStream_t stream) {
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; ++i) add_one<<<64, 128, 0, stream>>>(values);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  return executable;
}

void launches(double seconds) {
  float* value = memory(32);
  print_steps("launches", times_of(
                              [&] {
                                for (int i = 0; i < 1000; ++i) add_one<<<1, 32>>>(value);
                              },
                              seconds));
}

void graph(double seconds, int nodes) {
  cudaStream_t stream{};
  check(cudaStreamCreate(&stream));
  float* values = memory(64 * 128);
  const cudaGraphExec_t executable = graph_of(values, nodes, stream);
  const auto times = times_of([&] { check(cudaGraphLaunch(executable, stream)); }, seconds);
  print_steps("graph", times);
}

void threads(long count) {
  constexpr int kThreads = 8, kStreams = 4, kNodes = 100;
  std::vector<cudaStream_t> streams(kStreams);
  for (auto& stream : streams) check(cudaStreamCreate(&stream));
  const auto begin = Clock::now();
  std::vector<std::thread> workers;
  for (int t = 0; t < kThreads; ++t) {
    workers.emplace_back([&, t] {
      const cudaStream_t stream = streams[t % kStreams];
      float* values = memory(64 * 128);
      cudaStream_t own{};
      check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
      const cudaGraphExec_t executable = graph_of(values, kNodes, own);
      // A tenth of all kernels are nodes.
      for (long done = 0; done < count / kThreads;) {
        for (int i = 0; i < 9 * kNodes; ++i) add_one<<<64, 128, 0, stream>>>(values);
        check(cudaGraphLaunch(executable, stream));
        done += 10 * kNodes;
      }
      check(cudaStreamSynchronize(stream));
    });
  }
  for (auto& worker : workers) worker.join();
  check(cudaDeviceSynchronize());
  const long each = (count / kThreads + 10 * kNodes - 1) / (10 * kNodes) * (10 * kNodes);
  std::printf("{\"workload\": \"threads\", \"kernels\": %ld, \"seconds\": %.3f}\n", kThreads * each,
              microseconds(Clock::now() - begin) / 1e6);
}

void end(const std::string& how, double seconds) {
  float* value = memory(32);
  long count = 0;
  for (const auto until = Clock::now() + std::chrono::duration<double>(seconds); Clock::now() < until;
       ++count) {
    add_one<<<1, 32>>>(value);
    if (count % 100 == 0) check(cudaDeviceSynchronize());
    usleep(100);
  }
  check(cudaDeviceSynchronize());
  if (how == "reset") {
    check(cudaDeviceReset());
    value = memory(32);
    for (int i = 0; i < 1000; ++i, ++count) add_one<<<1, 32>>>(value);
    check(cudaDeviceSynchronize());
  }
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  std::printf("{\"workload\": \"end %s\", \"kernels\": %ld, \"end\": %lld}\n", how.c_str(), count,
              static_cast<long long>(time.tv_sec) * 1'000'000'000 + time.tv_nsec);
  std::fflush(stdout);
  if (how == "_exit") _exit(0);
  if (how == "kill") kill(getpid(), SIGKILL);
}

void request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *size = std::size_t{128} << 10;
  *records = 0;
  *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
}

std::size_t records_of_kernels = 0, records_of_graphs = 0;
decltype(&::cuptiActivityGetNextRecord) next_record;

void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (CUpti_Activity* record = nullptr; next_record(buffer, valid, &record) == CUPTI_SUCCESS;) {
    records_of_kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    records_of_graphs += record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  }
  std::free(buffer);
}

// Each letter is a state: n nothing, k kernels, g whole graphs, b both; i instantiates the graph anew.
void kinds(const std::string& states, int nodes) {
  void* library = dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) library = dlopen("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", RTLD_NOW);
  if (library == nullptr) return;
  const auto enable =
      reinterpret_cast<decltype(&::cuptiActivityEnable)>(dlsym(library, "cuptiActivityEnable"));
  const auto disable =
      reinterpret_cast<decltype(&::cuptiActivityDisable)>(dlsym(library, "cuptiActivityDisable"));
  const auto flush =
      reinterpret_cast<decltype(&::cuptiActivityFlushAll)>(dlsym(library, "cuptiActivityFlushAll"));
  next_record = reinterpret_cast<decltype(next_record)>(dlsym(library, "cuptiActivityGetNextRecord"));
  reinterpret_cast<decltype(&::cuptiActivityRegisterCallbacks)>(
      dlsym(library, "cuptiActivityRegisterCallbacks"))(request, complete);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  std::printf("%s:", states.c_str());
  bool has_kernels = false, has_graphs = false;
  cudaStream_t stream{};
  float* values = nullptr;
  cudaGraphExec_t executable{};
  for (const char state : states) {
    const bool wants_kernels = state == 'k' || state == 'b', wants_graphs = state == 'g' || state == 'b';
    if (state != 'i') {
      if (wants_kernels != has_kernels)
        (wants_kernels ? enable : disable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
      if (wants_graphs != has_graphs) (wants_graphs ? enable : disable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
      has_kernels = wants_kernels;
      has_graphs = wants_graphs;
    }
    if (values == nullptr) {  // after the first state, as an injected recorder comes before all
      check(cudaStreamCreate(&stream));
      values = memory(64 * 128);
    }
    if (executable == nullptr || state == 'i') executable = graph_of(values, nodes, stream);
    records_of_kernels = records_of_graphs = 0;
    const auto times = times_of([&] { check(cudaGraphLaunch(executable, stream)); }, 0.3);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::size_t launches = times.size() + 10;
    std::printf(" %c %.1f us (of 10 launches %zu nodes, %zu graphs)", state, times.front(),
                10 * records_of_kernels / launches, 10 * records_of_graphs / launches);
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const auto number = [&](int index, double otherwise) {
    return count > index ? std::atof(arguments[index]) : otherwise;
  };
  if (what == "launches")
    launches(number(2, 5));
  else if (what == "graph")
    graph(number(2, 5), static_cast<int>(number(3, 600)));
  else if (what == "threads")
    threads(static_cast<long>(number(2, 1e7)));
  else if (what == "end")
    end(count > 2 ? arguments[2] : "return", number(3, 3));
  else if (what == "kinds")
    kinds(count > 2 ? arguments[2] : "nkn", static_cast<int>(number(3, 600)));
  else
    return std::fprintf(stderr, "usage: launcher launches|graph|threads|end|kinds, see its source\n"), 2;
}
