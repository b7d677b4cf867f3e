// What the recorder's thread does with each kernel's record: reading it, and writing it to a file.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/random.hpp"
#include "recorder/cudnn_plans.hpp"
#include "recorder/process_tables.hpp"
#include "recorder/products.hpp"

namespace {

using namespace jitterscope;
using namespace jitterscope::recorder;

constexpr std::size_t kLaunches = 2'000, kShapes = 160, kBuffer = 600, kBuffersPerWrite = 100;

CUptiResult next_kernel(std::uint8_t* buffer, std::size_t size, CUpti_Activity** record) {
  std::uint8_t* next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next >= buffer + size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

// A training step again and again: 2,000 launches of 160 shapes with names as long as CUTLASS's, each with
// its own time and 1 % of noise, at 32 ns as CUPTI stamps on Hopper.
class Program {
 public:
  Program() : random_(7) {
    for (std::size_t i = 0; i < kShapes; ++i) {
      names_.push_back("_ZN7cutlass13device_kernelI" + std::string(100 + 8 * i, 'x') + std::to_string(i) +
                       "EEvv");
      durations_.push_back(2'000.0 + 90'000.0 * random_.uniform() * random_.uniform());
    }
    for (std::size_t i = 0; i < kLaunches; ++i)
      shapes_.push_back(static_cast<std::size_t>(random_.uniform() * kShapes));
  }

  std::vector<CUpti_ActivityKernel10> next_buffer() {
    std::vector<CUpti_ActivityKernel10> kernels(kBuffer);
    for (CUpti_ActivityKernel10& kernel : kernels) {
      const std::size_t shape = shapes_[launch_++ % kLaunches];
      std::memset(&kernel, 0, sizeof kernel);
      kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      kernel.name = names_[shape].c_str();
      kernel.correlationId = static_cast<std::uint32_t>(launch_ * 3);
      kernel.streamId = 7;
      kernel.gridX = static_cast<std::int32_t>(132 * (1 + shape));
      kernel.gridY = kernel.gridZ = kernel.blockY = kernel.blockZ = 1;
      kernel.blockX = 256;
      kernel.registersPerThread = 168;
      const double noise = 1.0 + 0.01 * random_.normal();
      kernel.start = time_ / 32 * 32;
      kernel.end = kernel.start + static_cast<std::uint64_t>(durations_[shape] * noise) / 32 * 32;
      time_ = kernel.end + 900 + static_cast<std::uint64_t>(300 * random_.uniform());
    }
    return kernels;
  }

 private:
  Random random_;
  std::vector<std::string> names_;
  std::vector<double> durations_;
  std::vector<std::size_t> shapes_;
  std::size_t launch_ = 0;
  std::uint64_t time_ = 1'795'000'000'000'000'000;
};

void record_kernels(benchmark::State& state) {
  Program program;
  std::vector<std::vector<CUpti_ActivityKernel10>> buffers;
  for (std::size_t i = 0; i < 1'000; ++i) buffers.push_back(program.next_buffer());
  const TemporaryFolder folder;
  Cupti cupti;
  cupti.cuptiActivityGetNextRecord = next_kernel;
  ProcessTables tables(cupti, folder.path().string());
  std::int64_t kernels = 0;
  std::size_t i = 0;
  for (auto _ : state) {
    std::vector<CUpti_ActivityKernel10>& buffer = buffers[i++ % buffers.size()];
    tables.consume(reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.size() * sizeof buffer.front());
    kernels += static_cast<std::int64_t>(buffer.size());
    if (i % kBuffersPerWrite == 0) tables.write(now());
  }
  tables.write(now());
  state.SetItemsProcessed(kernels);
  state.counters["ns_per_kernel"] = benchmark::Counter(
      static_cast<double>(kernels) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_kernel"] =
      static_cast<double>(std::filesystem::file_size(folder.path() / "kernels.arrows")) /
      static_cast<double>(kernels);
}
BENCHMARK(record_kernels)->Unit(benchmark::kMicrosecond);

// What `capture --calls` adds on the program's thread to an execution of cuDNN whose plan was seen before:
// its variant pack is noted as it is set, as cudnn-frontend makes one for each. The queue is emptied beside
// it.
void note_executions(benchmark::State& state) {
  static LibraryCalls& calls = *new LibraryCalls;
  static CudnnPlans& plans = *new CudnnPlans;
  int plan = 0, pack = 0;
  plans.created(&plan, cudnn::kPlan);
  const std::int64_t ids[] = {'x', 'w', 'y'};
  const std::uintptr_t pointers[] = {0x1000, 0x2000, 0x3000}, workspace = 0x9000;
  LibraryCall taken;
  for (auto _ : state) {
    plans.created(&pack, cudnn::kVariantPack);
    plans.attribute_set(&pack, cudnn::kPackPointers, cudnn::kTypePointer, 3, pointers);
    plans.attribute_set(&pack, cudnn::kPackIds, cudnn::kTypeInt64, 3, ids);
    plans.attribute_set(&pack, cudnn::kPackWorkspace, cudnn::kTypePointer, 1, &workspace);
    {
      OngoingCall call(calls, plans.description_of(calls, &plan));
      plans.note_addresses(*calls.description(call.entry().description), &pack, call.entry());
      note_launch(7);
    }
    plans.destroyed(&pack);
    calls.pop(taken);
  }
  plans.destroyed(&plan);
}
BENCHMARK(note_executions);

// The same of a product of cuBLAS, which is known by its contents.
void note_products(benchmark::State& state) {
  static LibraryCalls& calls = *new LibraryCalls;
  static Products& products = *new Products;
  Product product;
  product.function = "cublasGemmEx";
  product.a.rows = product.b.columns = product.d.rows = 64;
  LibraryCall taken;
  for (auto _ : state) {
    OngoingCall call(calls, products.description_of(calls, product));
    Products::note_addresses(product, {&product, &product, nullptr, &product, nullptr}, call.entry());
    note_launch(7);
    calls.pop(taken);
  }
}
BENCHMARK(note_products);

}  // namespace
