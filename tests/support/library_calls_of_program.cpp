#include "support/library_calls_of_program.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "recorder/library_api.hpp"

namespace jitterscope::stand_in {
namespace {

namespace cudnn = recorder::cudnn;
namespace cublas = recorder::cublas;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "recorded_program: %s\n", what);
  std::_Exit(99);
}

void* open(const char* name) {
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(::dlerror());
  return library;
}

// What a library of Python's that is linked to it calls: the preloaded one first.
template <class Function>
Function* function(const char* library, const char* name, bool is_unseen = false) {
  void* opened = open(library);
  void* found = is_unseen ? nullptr : ::dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) found = ::dlsym(opened, name);
  if (found == nullptr) fail(name);
  return reinterpret_cast<Function*>(found);
}

void check(int result) {
  if (result != 0) fail("a call of a library failed");
}

class Cudnn {
 public:
  explicit Cudnn(bool is_unseen = false)
      : create_(function<cudnn::Create>(kName, "cudnnBackendCreateDescriptor", is_unseen)),
        destroy_(function<cudnn::Destroy>(kName, "cudnnBackendDestroyDescriptor", is_unseen)),
        set_(function<cudnn::SetAttribute>(kName, "cudnnBackendSetAttribute", is_unseen)),
        get_(function<cudnn::GetAttribute>(kName, "cudnnBackendGetAttribute", is_unseen)),
        execute_(function<cudnn::Execute>(kName, "cudnnBackendExecute")) {}
  ~Cudnn() {  // the last first, so that the next ones get the same addresses
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) destroy_(*made);
  }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  cudnn::Descriptor make(int kind) {
    cudnn::Descriptor made = nullptr;
    check(create_(kind, &made));
    made_.push_back(made);
    return made;
  }
  template <class Value>
  void set(cudnn::Descriptor descriptor, int name, int type, std::vector<Value> values) {
    check(set_(descriptor, name, type, static_cast<std::int64_t>(values.size()), values.data()));
  }

  cudnn::Descriptor tensor(std::int64_t id, std::vector<std::int64_t> dimensions, bool is_virtual = false) {
    const cudnn::Descriptor made = make(cudnn::kTensor);
    const std::int64_t c = dimensions[1], h = dimensions[2], w = dimensions[3];
    set<std::int32_t>(made, cudnn::kTensorType, cudnn::kTypeDataType, {2});
    set<std::int64_t>(made, cudnn::kTensorStrides, cudnn::kTypeInt64, {c * h * w, 1, w * c, c});
    set<std::int64_t>(made, cudnn::kTensorDimensions, cudnn::kTypeInt64, dimensions);
    set<std::int64_t>(made, cudnn::kTensorId, cudnn::kTypeInt64, {id});
    if (is_virtual) {
      const std::uint8_t yes = 1;
      check(set_(made, cudnn::kTensorIsVirtual, cudnn::kTypeBoolean, 1, &yes));
    }
    return made;
  }

  // A plan as heuristics propose it. Its tensors have the numbers 'x', 'w' and 'y'.
  cudnn::Descriptor plan(int operation, std::int64_t channels, bool is_fused = false) {
    const cudnn::Descriptor convolution = make(cudnn::kConvolution);
    set<std::int32_t>(convolution, cudnn::kMode, cudnn::kTypeMode, {1});
    set<std::int32_t>(convolution, cudnn::kComputeType, cudnn::kTypeDataType, {0});
    for (const int name : {cudnn::kPrePaddings, cudnn::kPostPaddings, cudnn::kStrides, cudnn::kDilations})
      set<std::int64_t>(convolution, name, cudnn::kTypeInt64, {1, 1});
    const std::vector<std::int64_t> images = {8, channels, 56, 56};
    const cudnn::Descriptor x = tensor('x', images), w = tensor('w', {channels, channels, 3, 3}),
                            y = tensor(is_fused ? 'z' : 'y', images, is_fused);
    const cudnn::Descriptor node = make(operation);
    const bool is_forward = operation == cudnn::kConvolutionForward;
    const auto set_part = [&](int name, cudnn::Descriptor part) {
      set<cudnn::Descriptor>(node, name, cudnn::kTypeDescriptor, {part});
    };
    set_part(is_forward ? cudnn::kForwardConvolution : cudnn::kDataConvolution, convolution);
    set_part(is_forward ? cudnn::kForwardX : cudnn::kDataDx, x);
    set_part(is_forward ? cudnn::kForwardW : cudnn::kDataW, w);
    set_part(is_forward ? cudnn::kForwardY : cudnn::kDataDy, y);
    set<float>(node, is_forward ? cudnn::kForwardAlpha : cudnn::kDataAlpha, cudnn::kTypeFloat, {1.0f});
    set<float>(node, is_forward ? cudnn::kForwardBeta : cudnn::kDataBeta, cudnn::kTypeFloat, {0.0f});
    std::vector<cudnn::Descriptor> nodes = {node};
    if (is_fused) {
      constexpr int kPointwise = 13, kPointwiseX = 751;
      nodes.push_back(make(kPointwise));
      set<cudnn::Descriptor>(nodes.back(), kPointwiseX, cudnn::kTypeDescriptor, {y});
      set<cudnn::Descriptor>(nodes.back(), cudnn::kPointwiseY, cudnn::kTypeDescriptor, {tensor('y', images)});
    }
    const cudnn::Descriptor graph = make(cudnn::kGraph);
    set<cudnn::Descriptor>(graph, cudnn::kGraphOperations, cudnn::kTypeDescriptor, nodes);
    const cudnn::Descriptor heuristics = make(cudnn::kHeuristics);
    set<cudnn::Descriptor>(heuristics, cudnn::kHeuristicsGraph, cudnn::kTypeDescriptor, {graph});
    cudnn::Descriptor configuration = make(cudnn::kEngineConfiguration);
    std::int64_t count = 0;
    check(get_(heuristics, cudnn::kHeuristicsResults, cudnn::kTypeDescriptor, 1, &count, &configuration));
    const cudnn::Descriptor made = make(cudnn::kPlan);
    set<cudnn::Descriptor>(made, cudnn::kPlanConfiguration, cudnn::kTypeDescriptor, {configuration});
    return made;
  }

  void execute(cudnn::Descriptor plan, std::uintptr_t x, std::uintptr_t w, std::uintptr_t y) {
    cudnn::Descriptor pack = nullptr;
    check(create_(cudnn::kVariantPack, &pack));
    set<std::uintptr_t>(pack, cudnn::kPackPointers, cudnn::kTypePointer, {y, x, w});
    set<std::int64_t>(pack, cudnn::kPackIds, cudnn::kTypeInt64, {'y', 'x', 'w'});
    set<std::uintptr_t>(pack, cudnn::kPackWorkspace, cudnn::kTypePointer, {0x9000});
    check(execute_(nullptr, plan, pack));
    destroy_(pack);
  }

 private:
  static constexpr const char* kName = "libcudnn.so.9";
  cudnn::Create* create_;
  cudnn::Destroy* destroy_;
  cudnn::SetAttribute* set_;
  cudnn::GetAttribute* get_;
  cudnn::Execute* execute_;
  std::vector<cudnn::Descriptor> made_;
};

Cudnn& kept_cudnn() {
  static Cudnn& kept = *new Cudnn;
  return kept;
}
cudnn::Descriptor kept_plan(int operation, std::int64_t channels, bool is_fused) {
  static auto& plans = *new std::map<std::tuple<int, std::int64_t, bool>, cudnn::Descriptor>;
  const auto [found, is_new] = plans.try_emplace({operation, channels, is_fused});
  if (is_new) found->second = kept_cudnn().plan(operation, channels, is_fused);
  return found->second;
}

void convolve_in_threads(std::uintptr_t count, std::uintptr_t threads) {
  const cudnn::Descriptor plan = kept_plan(cudnn::kConvolutionForward, 64, false);
  std::vector<std::thread> all;
  for (std::uintptr_t thread = 0; thread < threads; ++thread) {
    all.emplace_back([=] {
      for (std::uintptr_t i = thread; i < count; i += threads)
        kept_cudnn().execute(plan, 0x1000 + i, 0x2000 + thread, 0x3000 + i);
    });
  }
  for (std::thread& thread : all) thread.join();
}

void multiply(std::uintptr_t x, std::uintptr_t w, std::uintptr_t bias, std::uintptr_t y) {
  const auto product = function<cublas::Matmul>("libcublasLt.so.13", "cublasLtMatmul");
  constexpr std::int64_t kBatch = 32, kIn = 256, kOut = 128;
  std::int64_t description[16] = {
      cublas::kCompute32F, 0, 0, 1, 0, 0, 0, cublas::kBiasEpilogue, static_cast<std::int64_t>(bias)};
  std::int64_t layout_w[16] = {cublas::kR16F, 0, kIn, kOut, kIn, 1};
  std::int64_t layout_x[16] = {cublas::kR16F, 0, kIn, kBatch, kIn, 1};
  std::int64_t layout_y[16] = {cublas::kR16F, 0, kOut, kBatch, kOut, 1};
  unsigned char algorithm[64] = {21, 20, 2};
  const float alpha = 1.0f, beta = 0.0f;
  const auto pointer = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };  // NOLINT
  check(product(nullptr, description, &alpha, pointer(w), layout_w, pointer(x), layout_x, &beta, pointer(y),
                layout_y, pointer(y), layout_y, algorithm, pointer(0xA000), 512, nullptr));
}

using GemmEx = int(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
                   const void*, void*, int, int, int, int);
using BatchedSgemm = int(void*, int, int, int, int, int, const void*, const void*, int, long long,
                         const void*, int, long long, const void*, void*, int, long long, int);
using BatchedEx = int(void*, int, int, int, int, int, const void*, const void* const*, int, int,
                      const void* const*, int, int, const void*, void* const*, int, int, int, int, int);

void multiply_by_cublas(const std::string& verb, void* a, void* b, void* c) {
  constexpr const char* kName = "libcublas.so.13";
  open("libcublasLt.so.13");
  const float one = 1.0f, zero = 0.0f;
  if (verb == "product") {
    check(function<GemmEx>(kName, "cublasGemmEx")(nullptr, 0, 0, 64, 32, 16, &one, a, cublas::kR16BF, 64, b,
                                                  cublas::kR16BF, 16, &zero, c, cublas::kR16BF, 64,
                                                  cublas::kCompute32F, -1));
  } else if (verb == "products") {
    check(function<BatchedSgemm>(kName, "cublasSgemmStridedBatched")(
        reinterpret_cast<void*>(std::uintptr_t{cublas::kTf32Math}), 1, 0, 64, 32, 16, &one, a, 16,
        1024,  // NOLINT
        b, 16, 512, &zero, c, 64, 2048, 4));
  } else {
    check(function<BatchedEx>(kName, "cublasGemmBatchedEx")(
        nullptr, 0, 0, 64, 32, 16, &one, &a, cublas::kR32F, 64, &b, cublas::kR32F, 16, &zero, &c,
        cublas::kR32F, 64, 1, cublas::kCompute32F, -1));
  }
}

}  // namespace

bool call_library(const std::vector<std::string>& parts) {
  const std::string& verb = parts.front();
  const auto number = [&](std::size_t i) { return std::stoull(parts.at(i), nullptr, 16); };
  const auto pointer = [&](std::size_t i) { return reinterpret_cast<void*>(number(i)); };  // NOLINT
  const auto channels = [&] { return parts.size() > 4 ? std::stol(parts[4]) : 64L; };
  if (verb == "convolution" || verb == "dgrad" || verb == "fused") {
    const int operation = verb == "dgrad" ? cudnn::kConvolutionBackwardData : cudnn::kConvolutionForward;
    const cudnn::Descriptor plan = kept_plan(operation, channels(), verb == "fused");
    // The gradient's operands, in the order of its forward convolution's.
    if (verb == "dgrad") {
      kept_cudnn().execute(plan, number(3), number(2), number(1));
    } else {
      kept_cudnn().execute(plan, number(1), number(2), number(3));
    }
  } else if (verb == "anew" || verb == "unseen") {
    Cudnn library(verb == "unseen");
    const cudnn::Descriptor plan = library.plan(cudnn::kConvolutionForward, channels());
    if (verb == "anew") std::printf("%p\n", plan);
    library.execute(plan, number(1), number(2), number(3));
  } else if (verb == "convolutions") {
    convolve_in_threads(std::stoul(parts.at(1)), std::stoul(parts.at(2)));
  } else if (verb == "linear") {
    multiply(number(1), number(2), number(3), number(4));
  } else if (verb == "product" || verb == "products" || verb == "pointers") {
    multiply_by_cublas(verb, pointer(1), pointer(2), pointer(3));
  } else {
    return false;
  }
  return true;
}

}  // namespace jitterscope::stand_in
