// cuDNN, cuBLASLt and cuBLAS without a GPU: each is built of this file, with one of STAND_IN_CUDNN,
// STAND_IN_CUBLASLT and STAND_IN_CUBLAS. Descriptors hold what is set; an execution launches kernels on the
// stand-in GPU. As NVIDIA's: cuDNN gives neither the operations of a graph nor the pointers of a variant pack
// back, a descriptor's address is used again at once, and cuBLAS makes its calls of cuBLASLt by its own
// table.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "support/stand_in_cupti.hpp"

namespace {

using namespace jitterscope::stand_in;

[[maybe_unused]] int launch_kernels(const char* name, unsigned count) {
  void* cupti = ::dlopen("libcupti.so.13", RTLD_NOW);
  const auto launch = cupti == nullptr ? nullptr : reinterpret_cast<LaunchWork>(::dlsym(cupti, kLaunchName));
  for (unsigned i = 0; launch != nullptr && i < count; ++i) launch({name, 8, 7, 0, 1});
  return 0;
}

}  // namespace

#ifdef STAND_IN_CUDNN

namespace {

constexpr int kNotSupported = 3000, kEngine = 2, kConfiguration = 3, kVariantPack = 16;

struct Values {
  int type = 0;
  std::int64_t count = 0;
  std::vector<unsigned char> bytes;
};
struct Descriptor {
  int kind = 0;
  std::map<int, Values> attributes;
};

std::mutex& mutex = *new std::mutex;
std::vector<Descriptor*>& freed = *new std::vector<Descriptor*>;

std::size_t size_of(int type) {
  constexpr int kDataType = 1, kBoolean = 2, kFloat = 4, kMode = 7, kKnob = 9, kNote = 11;
  if (type == kBoolean) return 1;
  return type == kDataType || type == kFloat || type == kMode || type == kKnob || type == kNote ? 4 : 8;
}

template <class Value>
void put(Descriptor& descriptor, int name, int type, const std::vector<Value>& values) {
  Values& made = descriptor.attributes[name];
  made.type = type;
  made.count = static_cast<std::int64_t>(values.size());
  made.bytes.resize(values.size() * sizeof(Value));
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return 91900; }

int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  const std::lock_guard lock(mutex);
  if (freed.empty()) freed.push_back(new Descriptor);
  *freed.back() = {kind, {}};
  *descriptor = freed.back();
  freed.pop_back();
  return 0;
}

int cudnnBackendDestroyDescriptor(void* descriptor) {
  const std::lock_guard lock(mutex);
  freed.push_back(static_cast<Descriptor*>(descriptor));
  return 0;
}

int cudnnBackendSetAttribute(void* descriptor, int name, int type, std::int64_t count, const void* values) {
  Values& made = static_cast<Descriptor*>(descriptor)->attributes[name];
  made.type = type;
  made.count = count;
  made.bytes.resize(static_cast<std::size_t>(count) * size_of(type));
  std::memcpy(made.bytes.data(), values, made.bytes.size());
  return 0;
}

int cudnnBackendFinalize(void*) { return 0; }

// Heuristics answer with engine 38 and one knob, for any graph; a tensor has a dimension more than was set.
int cudnnBackendGetAttribute(void* pointer, int name, int type, std::int64_t most, std::int64_t* count,
                             void* values) {
  constexpr int kResults = 202, kEngineOf = 300, kKnobs = 302, kPlanWorkspace = 402, kKnobType = 600,
                kKnobValue = 601, kGraphOperations = 801, kPackIds = 1000, kPackPointers = 1001,
                kIndex = 1301, kNotes = 1303, kInt64 = 3, kKnobTypes = 9, kNumericalNotes = 11;
  const auto& descriptor = *static_cast<const Descriptor*>(pointer);
  if (name == kGraphOperations || name == kPackIds || name == kPackPointers) return kNotSupported;
  if (name == kResults || name == kEngineOf || name == kKnobs) {
    *count = 1;
    if (most < 1) return 0;
    auto& filled = **static_cast<Descriptor**>(values);
    if (name == kEngineOf) {
      put<std::int64_t>(filled, kIndex, kInt64, {38});
      put<std::int32_t>(filled, kNotes, kNumericalNotes, {0});
    }
    if (name == kKnobs) {
      put<std::int32_t>(filled, kKnobType, kKnobTypes, {2});
      put<std::int64_t>(filled, kKnobValue, kInt64, {1});
    }
    return 0;
  }
  if (name == kPlanWorkspace) {  // written nowhere: threads may ask for one plan's at once, as of cuDNN
    if (type != kInt64) return kNotSupported;
    constexpr std::int64_t kWorkspace = 4096;
    *count = 1;
    if (most >= 1) std::memcpy(values, &kWorkspace, sizeof kWorkspace);
    return 0;
  }
  const auto found = descriptor.attributes.find(name);
  if (found == descriptor.attributes.end() || found->second.type != type) return kNotSupported;
  *count = found->second.count;
  std::memcpy(values, found->second.bytes.data(),
              static_cast<std::size_t>(std::min(most, found->second.count)) * size_of(type));
  return 0;
}

int cudnnBackendExecute(void*, void* plan, void* pack) {
  const auto& descriptor = *static_cast<const Descriptor*>(pack);
  if (static_cast<const Descriptor*>(plan)->kind == kVariantPack) return 2000;
  const auto pointers = descriptor.attributes.find(1001);
  if (pointers == descriptor.attributes.end() || pointers->second.count == 0) return 2000;
  return launch_kernels("stand_in_convolution", 2);
}

}  // extern "C"

#endif

#ifdef STAND_IN_CUBLASLT

namespace {

// A description and a layout alike: numbers by attribute.
struct Numbers {
  std::int64_t values[16];
};

int read(const void* from, int name, void* value, std::size_t size, std::size_t* written) {
  if (name < 0 || name >= 16 || size > sizeof(std::int64_t)) return 7;
  std::memcpy(value, &static_cast<const Numbers*>(from)->values[name], size);
  *written = size;
  return 0;
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return 130100; }
int cublasLtMatmulDescGetAttribute(const void* from, int name, void* value, std::size_t size,
                                   std::size_t* written) {
  return read(from, name, value, size, written);
}
int cublasLtMatrixLayoutGetAttribute(const void* from, int name, void* value, std::size_t size,
                                     std::size_t* written) {
  return read(from, name, value, size, written);
}
// The algorithm's bytes: its number, tile, splits of k …, one byte each.
int cublasLtMatmulAlgoConfigGetAttribute(const void* algorithm, int name, void* value, std::size_t size,
                                         std::size_t* written) {
  std::memset(value, 0, size);
  std::memcpy(value, static_cast<const unsigned char*>(algorithm) + name, 1);
  *written = size;
  return 0;
}
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void* d, void*, const void*, void*, std::size_t, void*) {
  return d == nullptr ? 7 : launch_kernels("stand_in_product", 1);
}

}  // extern "C"

#endif

#ifdef STAND_IN_CUBLAS

extern "C" {

int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const void*, void*, std::size_t, void*);

int cublasGetProperty(int part, int* value) {
  constexpr int kVersion[] = {13, 1, 0};
  *value = kVersion[part];
  return 0;
}
int cublasGetPointerMode_v2(void*, int* mode) {
  *mode = 0;
  return 0;
}
// The handle is the mode.
int cublasGetMathMode(void* handle, int* mode) {
  *mode = static_cast<int>(reinterpret_cast<std::uintptr_t>(handle));
  return 0;
}

int cublasGemmEx(void*, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int a_type,
                 int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                 int compute, int) {
  std::int64_t description[16] = {compute, 0, 0, ta, tb, 0, 0, 1};
  std::int64_t layout_a[16] = {a_type, 0, ta == 0 ? m : k, ta == 0 ? k : m, lda, 1};
  std::int64_t layout_b[16] = {b_type, 0, tb == 0 ? k : n, tb == 0 ? n : k, ldb, 1};
  std::int64_t layout_c[16] = {c_type, 0, m, n, ldc, 1};
  unsigned char algorithm[64] = {66, 20, 1};
  return cublasLtMatmul(nullptr, description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, c, layout_c,
                        algorithm, nullptr, 0, nullptr);
}

int cublasSgemm_v2(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                   const void*, void*, int) {
  return launch_kernels("stand_in_gemm", 1);
}

int cublasSgemmStridedBatched(void*, int, int, int, int, int, const void*, const void*, int, long long,
                              const void*, int, long long, const void*, void*, int, long long, int) {
  return launch_kernels("stand_in_gemm", 14);
}

int cublasGemmBatchedEx(void*, int, int, int, int, int, const void*, const void* const*, int, int,
                        const void* const*, int, int, const void*, void* const*, int, int, int, int, int) {
  return launch_kernels("stand_in_gemm", 1);
}

}  // extern "C"

#endif
