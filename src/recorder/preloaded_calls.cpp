// The program calls these in place of cuDNN's, cuBLASLt's and cuBLAS's own functions where `capture --calls`
// has put their names in front (preloaded_names.cpp). All pass on, and note the call.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "recorder/cudnn_plans.hpp"
#include "recorder/library_api.hpp"
#include "recorder/library_calls.hpp"
#include "recorder/products.hpp"

#define JITTERSCOPE_EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

using namespace jitterscope::recorder;

// Never freed: threads of the program may still call at its end.
CudnnPlans& plans() {
  static CudnnPlans& all = *new CudnnPlans;
  return all;
}
Products& products() {
  static Products& all = *new Products;
  return all;
}

// cuDNN may call its own functions as it answers ours: they are not the program's.
thread_local bool is_noting = false;

template <class Note>
void note(Note&& note) noexcept {
  if (is_noting) return;
  is_noting = true;
  try {
    note();
  } catch (const std::exception&) {  // there is no memory: the call counts as one that is not known
  }
  is_noting = false;
}

// Where calls are recorded, and this is none that another makes.
LibraryCalls* outermost() noexcept {
  LibraryCalls* calls = LibraryCalls::get();
  return calls != nullptr && calls->is_on() && LibraryCalls::current() == nullptr && !is_noting ? calls
                                                                                                : nullptr;
}

bool has_calls() noexcept { return LibraryCalls::get() != nullptr; }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the libraries' names, with ours in front.

JITTERSCOPE_EXPORTED int jitterscope_cudnnBackendCreateDescriptor(int kind, cudnn::Descriptor* descriptor) {
  static LibraryFunction<cudnn::Create> function(Library::cudnn, "cudnnBackendCreateDescriptor");
  if (function.get() == nullptr) return cudnn::kNotInitialized;
  const int result = function.get()(kind, descriptor);
  if (result == 0 && has_calls()) note([&] { plans().created(*descriptor, kind); });
  return result;
}

JITTERSCOPE_EXPORTED int jitterscope_cudnnBackendDestroyDescriptor(cudnn::Descriptor descriptor) {
  static LibraryFunction<cudnn::Destroy> function(Library::cudnn, "cudnnBackendDestroyDescriptor");
  if (function.get() == nullptr) return cudnn::kNotInitialized;
  // Before it: another thread may get the address at once.
  if (has_calls()) note([&] { plans().destroyed(descriptor); });
  return function.get()(descriptor);
}

JITTERSCOPE_EXPORTED int jitterscope_cudnnBackendSetAttribute(cudnn::Descriptor descriptor, int name,
                                                              int type, std::int64_t count,
                                                              const void* values) {
  static LibraryFunction<cudnn::SetAttribute> function(Library::cudnn, "cudnnBackendSetAttribute");
  if (function.get() == nullptr) return cudnn::kNotInitialized;
  const int result = function.get()(descriptor, name, type, count, values);
  if (result == 0 && has_calls()) note([&] { plans().attribute_set(descriptor, name, type, count, values); });
  return result;
}

JITTERSCOPE_EXPORTED int jitterscope_cudnnBackendGetAttribute(cudnn::Descriptor descriptor, int name,
                                                              int type, std::int64_t most,
                                                              std::int64_t* count, void* values) {
  static LibraryFunction<cudnn::GetAttribute> function(Library::cudnn, "cudnnBackendGetAttribute");
  if (function.get() == nullptr) return cudnn::kNotInitialized;
  const int result = function.get()(descriptor, name, type, most, count, values);
  if (result == 0 && name == cudnn::kHeuristicsResults && count != nullptr && has_calls())
    note([&] { plans().results_given(descriptor, std::min(most, *count), values); });
  return result;
}

JITTERSCOPE_EXPORTED int jitterscope_cudnnBackendExecute(void* handle, cudnn::Descriptor plan,
                                                         cudnn::Descriptor pack) {
  static LibraryFunction<cudnn::Execute> function(Library::cudnn, "cudnnBackendExecute");
  if (function.get() == nullptr) return cudnn::kNotInitialized;
  LibraryCalls* calls = outermost();
  if (calls == nullptr || plan == nullptr) return function.get()(handle, plan, pack);
  std::uint32_t description = LibraryCall::kNone;
  note([&] { description = plans().description_of(*calls, plan); });
  OngoingCall call(*calls, description);
  if (const CallDescription* known = calls->description(description); known != nullptr && pack != nullptr)
    plans().note_addresses(*known, pack, call.entry());
  const int result = function.get()(handle, plan, pack);
  if (result != 0) call.forget();
  return result;
}

JITTERSCOPE_EXPORTED int jitterscope_cublasLtMatmul(void* handle, void* description, const void* alpha,
                                                    const void* a, void* a_layout, const void* b,
                                                    void* b_layout, const void* beta, const void* c,
                                                    void* c_layout, void* d, void* d_layout,
                                                    const void* algorithm, void* workspace,
                                                    std::size_t workspace_bytes, void* stream) {
  static LibraryFunction<cublas::Matmul> function(Library::cublaslt, "cublasLtMatmul");
  if (function.get() == nullptr) return cublas::kNotInitialized;
  const auto pass_on = [&] {
    return function.get()(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                          d_layout, algorithm, workspace, workspace_bytes, stream);
  };
  LibraryCalls* calls = LibraryCalls::get();
  if (calls == nullptr || !calls->is_on() || is_noting) return pass_on();
  Product product;
  product.function = "cublasLtMatmul";
  ProductAddresses addresses{a, b, c, d};
  std::uint32_t index = LibraryCall::kNone;
  note([&] {
    if (Products::read(description, alpha, a_layout, b_layout, beta, c_layout, d_layout, algorithm, product,
                       addresses)) {
      index = products().description_of(*calls, product);
    }
  });
  if (LibraryCall* outer = LibraryCalls::current(); outer != nullptr) {
    outer->inner = index;
    return pass_on();
  }
  OngoingCall call(*calls, index);
  if (index != LibraryCall::kNone) Products::note_addresses(product, addresses, call.entry());
  call.entry().workspace = reinterpret_cast<std::uintptr_t>(workspace);
  call.entry().workspace_bytes = workspace == nullptr ? 0 : workspace_bytes;
  const int result = pass_on();
  if (result != 0) call.forget();
  return result;
}

namespace {

struct GemmMatrix {
  const void* address;
  int type, leading;
  std::int64_t stride;
};

Product::Matrix matrix_of(const GemmMatrix& matrix, int rows, int columns, int batch) {
  Product::Matrix made;
  made.type = matrix.type;
  made.rows = rows;
  made.columns = columns;
  made.leading = matrix.leading;
  made.batch = batch;
  made.stride = batch == 1 ? 0 : matrix.stride;
  return made;
}

struct Gemm {
  const char* function;
  void* handle;
  int transpose_a, transpose_b, m, n, k;
  const void *alpha, *beta;
  GemmMatrix a, b, c;
  int batch, compute;
  bool has_pointers;
};

Product product_of(const Gemm& gemm) {
  static LibraryFunction<cublas::GetHandleNumber> pointer_mode(Library::cublas, "cublasGetPointerMode_v2");
  static LibraryFunction<cublas::GetHandleNumber> math_mode(Library::cublas, "cublasGetMathMode");
  int pointers = 0, math = 0;
  if (pointer_mode.get() != nullptr) pointer_mode.get()(gemm.handle, &pointers);
  if (math_mode.get() != nullptr) math_mode.get()(gemm.handle, &math);
  Product product;
  product.function = gemm.function;
  product.library = static_cast<std::int32_t>(Library::cublas);
  product.has_pointers = gemm.has_pointers ? 1 : 0;
  product.transpose_a = gemm.transpose_a;
  product.transpose_b = gemm.transpose_b;
  const auto [m, n, k] = std::array{gemm.m, gemm.n, gemm.k};
  product.a =
      gemm.transpose_a == 0 ? matrix_of(gemm.a, m, k, gemm.batch) : matrix_of(gemm.a, k, m, gemm.batch);
  product.b =
      gemm.transpose_b == 0 ? matrix_of(gemm.b, k, n, gemm.batch) : matrix_of(gemm.b, n, k, gemm.batch);
  product.d = matrix_of(gemm.c, m, n, gemm.batch);
  product.compute = gemm.compute;
  const bool allows_tf32 = (math & cublas::kMathModes) == cublas::kTf32Math;
  if (gemm.compute == cublas::kCompute32F && gemm.a.type == cublas::kR32F && allows_tf32)
    product.compute = cublas::kCompute32FFastTf32;
  product.scale = gemm.compute == cublas::kCompute16F   ? cublas::kR16F
                  : gemm.compute == cublas::kCompute64F ? cublas::kR64F
                                                        : cublas::kR32F;
  product.alpha = Products::factor_of(pointers == 0 ? gemm.alpha : nullptr, product.scale);
  product.beta = Products::factor_of(pointers == 0 ? gemm.beta : nullptr, product.scale);
  if (product.beta != Product::Factor::zero) product.c = product.d;
  return product;
}

template <class PassOn>
int call_gemm(const Gemm& gemm, PassOn&& pass_on) {
  LibraryCalls* calls = outermost();
  if (calls == nullptr) return pass_on();
  Product product;
  std::uint32_t index = LibraryCall::kNone;
  note([&] {
    product = product_of(gemm);
    index = products().description_of(*calls, product);
  });
  OngoingCall call(*calls, index);
  if (index != LibraryCall::kNone) {
    Products::note_addresses(product, {gemm.a.address, gemm.b.address, gemm.c.address, gemm.c.address},
                             call.entry());
  }
  const int result = pass_on();
  if (result != 0) call.forget();
  return result;
}

}  // namespace

JITTERSCOPE_EXPORTED int jitterscope_cublasGemmEx(void* handle, int ta, int tb, int m, int n, int k,
                                                  const void* alpha, const void* a, int a_type, int lda,
                                                  const void* b, int b_type, int ldb, const void* beta,
                                                  void* c, int c_type, int ldc, int compute, int algorithm) {
  static LibraryFunction<decltype(jitterscope_cublasGemmEx)> function(Library::cublas, "cublasGemmEx");
  if (function.get() == nullptr) return cublas::kNotInitialized;
  return call_gemm({"cublasGemmEx",
                    handle,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    alpha,
                    beta,
                    {a, a_type, lda, 0},
                    {b, b_type, ldb, 0},
                    {c, c_type, ldc, 0},
                    1,
                    compute,
                    false},
                   [&] {
                     return function.get()(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb,
                                           beta, c, c_type, ldc, compute, algorithm);
                   });
}

JITTERSCOPE_EXPORTED int jitterscope_cublasGemmStridedBatchedEx(
    void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int a_type, int lda,
    long long a_stride, const void* b, int b_type, int ldb, long long b_stride, const void* beta, void* c,
    int c_type, int ldc, long long c_stride, int batch, int compute, int algorithm) {
  static LibraryFunction<decltype(jitterscope_cublasGemmStridedBatchedEx)> function(
      Library::cublas, "cublasGemmStridedBatchedEx");
  if (function.get() == nullptr) return cublas::kNotInitialized;
  return call_gemm({"cublasGemmStridedBatchedEx",
                    handle,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    alpha,
                    beta,
                    {a, a_type, lda, a_stride},
                    {b, b_type, ldb, b_stride},
                    {c, c_type, ldc, c_stride},
                    batch,
                    compute,
                    false},
                   [&] {
                     return function.get()(handle, ta, tb, m, n, k, alpha, a, a_type, lda, a_stride, b,
                                           b_type, ldb, b_stride, beta, c, c_type, ldc, c_stride, batch,
                                           compute, algorithm);
                   });
}

JITTERSCOPE_EXPORTED int jitterscope_cublasGemmBatchedEx(void* handle, int ta, int tb, int m, int n, int k,
                                                         const void* alpha, const void* const a[], int a_type,
                                                         int lda, const void* const b[], int b_type, int ldb,
                                                         const void* beta, void* const c[], int c_type,
                                                         int ldc, int batch, int compute, int algorithm) {
  static LibraryFunction<decltype(jitterscope_cublasGemmBatchedEx)> function(Library::cublas,
                                                                             "cublasGemmBatchedEx");
  if (function.get() == nullptr) return cublas::kNotInitialized;
  return call_gemm({"cublasGemmBatchedEx",
                    handle,
                    ta,
                    tb,
                    m,
                    n,
                    k,
                    alpha,
                    beta,
                    {a, a_type, lda, 0},
                    {b, b_type, ldb, 0},
                    {c, c_type, ldc, 0},
                    batch,
                    compute,
                    true},
                   [&] {
                     return function.get()(handle, ta, tb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb,
                                           beta, c, c_type, ldc, batch, compute, algorithm);
                   });
}

// The functions of one type, which differ in nothing but its name.

#define JITTERSCOPE_GEMM(NAME, TYPE, COMPUTE)                                                           \
  JITTERSCOPE_EXPORTED int jitterscope_##NAME(void* handle, int ta, int tb, int m, int n, int k,        \
                                              const void* alpha, const void* a, int lda, const void* b, \
                                              int ldb, const void* beta, void* c, int ldc) {            \
    static LibraryFunction<decltype(jitterscope_##NAME)> function(Library::cublas, #NAME);              \
    if (function.get() == nullptr) return cublas::kNotInitialized;                                      \
    return call_gemm(                                                                                   \
        {#NAME,                                                                                         \
         handle,                                                                                        \
         ta,                                                                                            \
         tb,                                                                                            \
         m,                                                                                             \
         n,                                                                                             \
         k,                                                                                             \
         alpha,                                                                                         \
         beta,                                                                                          \
         {a, TYPE, lda, 0},                                                                             \
         {b, TYPE, ldb, 0},                                                                             \
         {c, TYPE, ldc, 0},                                                                             \
         1,                                                                                             \
         COMPUTE,                                                                                       \
         false},                                                                                        \
        [&] { return function.get()(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); });  \
  }
JITTERSCOPE_GEMM(cublasSgemm_v2, cublas::kR32F, cublas::kCompute32F)
JITTERSCOPE_GEMM(cublasDgemm_v2, cublas::kR64F, cublas::kCompute64F)
JITTERSCOPE_GEMM(cublasHgemm, cublas::kR16F, cublas::kCompute16F)

#define JITTERSCOPE_BATCHED_GEMM(NAME, TYPE, COMPUTE)                                                        \
  JITTERSCOPE_EXPORTED int jitterscope_##NAME(void* handle, int ta, int tb, int m, int n, int k,             \
                                              const void* alpha, const void* a, int lda, long long a_stride, \
                                              const void* b, int ldb, long long b_stride, const void* beta,  \
                                              void* c, int ldc, long long c_stride, int batch) {             \
    static LibraryFunction<decltype(jitterscope_##NAME)> function(Library::cublas, #NAME);                   \
    if (function.get() == nullptr) return cublas::kNotInitialized;                                           \
    return call_gemm({#NAME,                                                                                 \
                      handle,                                                                                \
                      ta,                                                                                    \
                      tb,                                                                                    \
                      m,                                                                                     \
                      n,                                                                                     \
                      k,                                                                                     \
                      alpha,                                                                                 \
                      beta,                                                                                  \
                      {a, TYPE, lda, a_stride},                                                              \
                      {b, TYPE, ldb, b_stride},                                                              \
                      {c, TYPE, ldc, c_stride},                                                              \
                      batch,                                                                                 \
                      COMPUTE,                                                                               \
                      false},                                                                                \
                     [&] {                                                                                   \
                       return function.get()(handle, ta, tb, m, n, k, alpha, a, lda, a_stride, b, ldb,       \
                                             b_stride, beta, c, ldc, c_stride, batch);                       \
                     });                                                                                     \
  }
JITTERSCOPE_BATCHED_GEMM(cublasSgemmStridedBatched, cublas::kR32F, cublas::kCompute32F)
JITTERSCOPE_BATCHED_GEMM(cublasDgemmStridedBatched, cublas::kR64F, cublas::kCompute64F)
JITTERSCOPE_BATCHED_GEMM(cublasHgemmStridedBatched, cublas::kR16F, cublas::kCompute16F)

// NOLINTEND(readability-identifier-naming)
