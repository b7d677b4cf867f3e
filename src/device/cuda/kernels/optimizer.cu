// One step of an optimizer over all parameters, in one pass that reads or writes each tensor once.
#include "device/cuda/kernels/pack.cuh"

namespace {

using jitterscope::cuda::kBlockThreads;

constexpr double kRate = 0.01, kMomentum = 0.9, kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8;
constexpr double kDecay = 0.01;

/// The values of one parameter; step() replaces the old ones by the new ones.
template <class C>
struct State {
  C parameter, gradient, first, second;
};

enum Kind { sgd, momentum, adam, adamw };
template <Kind kKind>
constexpr int kStatesOf = kKind == sgd        ? 0
                          : kKind == momentum ? 1
                                              : 2;

// For the first step, the bias corrections are 1 - beta1 and 1 - beta2.
template <Kind kKind, class C>
__device__ __forceinline__ void step(State<C>& s) {
  if constexpr (kKind == sgd) {
    s.parameter -= C(kRate) * s.gradient;
  } else if constexpr (kKind == momentum) {
    s.first = C(kMomentum) * s.first + s.gradient;
    s.parameter -= C(kRate) * s.first;
  } else {
    if constexpr (kKind == adamw) s.parameter *= C(1 - kRate * kDecay);
    s.first = C(kBeta1) * s.first + C(1 - kBeta1) * s.gradient;
    s.second = C(kBeta2) * s.second + C(1 - kBeta2) * s.gradient * s.gradient;
    const C denominator = sqrt(s.second * C(1 / (1 - kBeta2))) + C(kAdamEpsilon);
    s.parameter -= C(kRate / (1 - kBeta1)) * s.first / denominator;
  }
}

/// Addresses of the parameters and of the states that the kind has; the others are 0.
template <class T>
struct OptimizerTensors {
  T *parameter, *first, *second;
  const T *old_parameter, *gradient, *old_first, *old_second;
};

template <Kind kKind, class T>
__device__ __forceinline__ void step_all(const OptimizerTensors<T>& t, std::uint64_t count) {
  for_own_elements<T>(count, [&](auto width, std::uint64_t i) {
    constexpr int kStates = kStatesOf<kKind>;
    using Numbers = Pack<T, decltype(width)::value>;
    Numbers parameter = Numbers::load(t.old_parameter + i), first{}, second{};
    const Numbers gradient = Numbers::load(t.gradient + i);
    if constexpr (kStates > 0) first = Numbers::load(t.old_first + i);
    if constexpr (kStates > 1) second = Numbers::load(t.old_second + i);
#pragma unroll
    for (int j = 0; j < width.value; ++j) {
      State<Compute<T>> state{parameter.get(j), gradient.get(j), first.get(j), second.get(j)};
      step<kKind>(state);
      parameter.set(j, state.parameter);
      first.set(j, state.first);
      second.set(j, state.second);
    }
    parameter.store(t.parameter + i);
    if constexpr (kStates > 0) first.store(t.first + i);
    if constexpr (kStates > 1) second.store(t.second + i);
  });
}

}  // namespace

#define JITTERSCOPE_OPTIMIZER(kind, T, suffix)                                                          \
  JITTERSCOPE_ENTRY(kBlockThreads, kind##_##suffix, (OptimizerTensors<T> tensors, std::uint64_t count), \
                    { step_all<kind>(tensors, count); })
#define JITTERSCOPE_OPTIMIZERS(T, suffix)    \
  JITTERSCOPE_OPTIMIZER(sgd, T, suffix)      \
  JITTERSCOPE_OPTIMIZER(momentum, T, suffix) \
  JITTERSCOPE_OPTIMIZER(adam, T, suffix)     \
  JITTERSCOPE_OPTIMIZER(adamw, T, suffix)
JITTERSCOPE_FOR_EACH_TYPE(JITTERSCOPE_OPTIMIZERS)
