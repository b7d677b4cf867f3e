// One step of an optimizer over all parameters: one pass, each tensor read or written once.
#include "device/cuda/kernels/vector.cuh"

namespace {

constexpr double kRate = 0.01, kMomentum = 0.9, kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
constexpr double kDecay = 0.01;

__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double root(double x) { return sqrt(x); }

/// Of one parameter: what it was and what becomes of it.
template <class C>
struct State {
  C parameter = 0, gradient = 0, first = 0, second = 0;
};

struct Sgd {
  static constexpr int kStates = 0;
  template <class C>
  __device__ static void step(State<C>& s) {
    s.parameter -= C(kRate) * s.gradient;
  }
};
struct Momentum {
  static constexpr int kStates = 1;
  template <class C>
  __device__ static void step(State<C>& s) {
    s.first = C(kMomentum) * s.first + s.gradient;
    s.parameter -= C(kRate) * s.first;
  }
};
// The first step's bias corrections are 1 - beta1 and 1 - beta2.
struct Adam {
  static constexpr int kStates = 2;
  template <class C>
  __device__ static void step(State<C>& s) {
    s.first = C(kBeta1) * s.first + C(1 - kBeta1) * s.gradient;
    s.second = C(kBeta2) * s.second + C(1 - kBeta2) * s.gradient * s.gradient;
    const C denominator = root(s.second * C(1 / (1 - kBeta2))) + C(kEpsilon);
    s.parameter -= C(kRate / (1 - kBeta1)) * s.first / denominator;
  }
};
struct AdamW {
  static constexpr int kStates = 2;
  template <class C>
  __device__ static void step(State<C>& s) {
    s.parameter *= C(1 - kRate * kDecay);
    Adam::step(s);
  }
};

template <class T>
struct Tensors {
  T *parameter, *first, *second;  ///< new ones
  const T *old_parameter, *gradient, *old_first, *old_second;
};

template <class Kind, class T, int V>
__device__ __forceinline__ void step(const Tensors<T>& t, std::uint64_t at) {
  using C = Compute<T>;
  C parameter[V], gradient[V], first[V] = {}, second[V] = {};
  load_numbers<V, T>(t.old_parameter + at, parameter);
  load_numbers<V, T>(t.gradient + at, gradient);
  if constexpr (Kind::kStates > 0) load_numbers<V, T>(t.old_first + at, first);
  if constexpr (Kind::kStates > 1) load_numbers<V, T>(t.old_second + at, second);
#pragma unroll
  for (int j = 0; j < V; ++j) {
    State<C> state{parameter[j], gradient[j], first[j], second[j]};
    Kind::step(state);
    parameter[j] = state.parameter;
    first[j] = state.first;
    second[j] = state.second;
  }
  store_numbers<V, T>(t.parameter + at, parameter);
  if constexpr (Kind::kStates > 0) store_numbers<V, T>(t.first + at, first);
  if constexpr (Kind::kStates > 1) store_numbers<V, T>(t.second + at, second);
}

// Two to four tensors are read at once, which is enough in flight without unrolling.
template <class Kind, class T>
__device__ __forceinline__ void step_all(const Tensors<T>& t, std::uint64_t count) {
  constexpr int V = kPerVector<T>;
  const std::uint64_t vectors = count / V;
  for (std::uint64_t i = first_index(); i < vectors; i += index_step()) step<Kind, T, V>(t, i * V);
  const std::uint64_t last = vectors * V + first_index();
  if (last < count) step<Kind, T, 1>(t, last);
}

}  // namespace

#define JITTERSCOPE_KERNEL(Kind, name, T, suffix)                              \
  JITTERSCOPE_ENTRY(256, name##_##suffix, (Tensors<T> t, std::uint64_t count), \
                    { step_all<Kind, T>(t, count); })
#define JITTERSCOPE_KERNELS(T, suffix)              \
  JITTERSCOPE_KERNEL(Sgd, sgd, T, suffix)           \
  JITTERSCOPE_KERNEL(Momentum, momentum, T, suffix) \
  JITTERSCOPE_KERNEL(Adam, adam, T, suffix)         \
  JITTERSCOPE_KERNEL(AdamW, adamw, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_KERNELS)
