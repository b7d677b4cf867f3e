// One step of an optimizer over all parameters: one pass, each tensor read or written once.
#include "device/cuda/kernels/pack.cuh"

namespace {

using jitterscope::cuda::kBlockThreads;

constexpr double kRate = 0.01, kMomentum = 0.9, kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8;
constexpr double kDecay = 0.01;

/// Of one parameter: what it was and what becomes of it.
template <class C>
struct State {
  C parameter, gradient, first, second;
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
    const C denominator = sqrt(s.second * C(1 / (1 - kBeta2))) + C(kAdamEpsilon);
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

/// The parameters and the states that the kind has; addresses of others are 0.
template <class T>
struct OptimizerTensors {
  T *parameter, *first, *second;
  const T *old_parameter, *gradient, *old_first, *old_second;
};

template <class Kind, class T>
__device__ __forceinline__ void step_all(const OptimizerTensors<T>& t, std::uint64_t count) {
  for_own_elements<T>(count, [&](auto width, std::uint64_t i) {
    using Numbers = Pack<T, decltype(width)::value>;
    Numbers parameter = Numbers::load(t.old_parameter + i), first{}, second{};
    const Numbers gradient = Numbers::load(t.gradient + i);
    if constexpr (Kind::kStates > 0) first = Numbers::load(t.old_first + i);
    if constexpr (Kind::kStates > 1) second = Numbers::load(t.old_second + i);
#pragma unroll
    for (int j = 0; j < width.value; ++j) {
      State<Compute<T>> state{parameter.get(j), gradient.get(j), first.get(j), second.get(j)};
      Kind::step(state);
      parameter.set(j, state.parameter);
      first.set(j, state.first);
      second.set(j, state.second);
    }
    parameter.store(t.parameter + i);
    if constexpr (Kind::kStates > 0) first.store(t.first + i);
    if constexpr (Kind::kStates > 1) second.store(t.second + i);
  });
}

}  // namespace

#define JITTERSCOPE_OPTIMIZER(Kind, name, T, suffix)                                                    \
  JITTERSCOPE_ENTRY(kBlockThreads, name##_##suffix, (OptimizerTensors<T> tensors, std::uint64_t count), \
                    { step_all<Kind, T>(tensors, count); })
#define JITTERSCOPE_OPTIMIZERS(T, suffix)              \
  JITTERSCOPE_OPTIMIZER(Sgd, sgd, T, suffix)           \
  JITTERSCOPE_OPTIMIZER(Momentum, momentum, T, suffix) \
  JITTERSCOPE_OPTIMIZER(Adam, adam, T, suffix)         \
  JITTERSCOPE_OPTIMIZER(AdamW, adamw, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_OPTIMIZERS)
