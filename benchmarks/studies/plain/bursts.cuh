// What the CUDA programs of this folder share: arms in random order, each made in several places, timed in
// short bursts after an idle pause; the geometric mean over places of the median over rounds, as JSON.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bursts {

constexpr int kPlaces = 3, kRounds = 10, kMostCalls = 100;
constexpr double kRoundSeconds = 3e-3;

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

// Seconds between two events around `work`.
template <class Work>
double by_events(cudaStream_t stream, const Work& work) {
  static const std::pair<cudaEvent_t, cudaEvent_t> events = [] {
    std::pair<cudaEvent_t, cudaEvent_t> made;
    check(cudaEventCreate(&made.first));
    check(cudaEventCreate(&made.second));
    return made;
  }();
  check(cudaEventRecord(events.first, stream));
  work();
  check(cudaEventRecord(events.second, stream));
  check(cudaEventSynchronize(events.second));
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events.first, events.second));
  return milliseconds * 1e-3;
}

// Seconds of the host's clock until `work`, which waits for the GPU, has returned.
template <class Work>
double by_host(const Work& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Calls that take about a round, by the seconds of one.
inline int calls_of_a_round(double once) {
  return std::clamp(static_cast<int>(kRoundSeconds / once), 1, kMostCalls);
}

// A round is launched untimed first, so that the GPU has work until the timed ones come; the seconds are
// those of one call.
struct Round {
  std::function<void()> warm_up;
  std::function<double()> seconds_of_a_call;
};
struct Arm {
  std::string name;
  std::function<Round()> make;
};

inline double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
}

// The GPU rests. A host that slept meanwhile would launch slower for more than 100 ms.
inline void stay_awake(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// For 10 ms, until the host's caches hold what launches need.
inline void wake(const std::function<void()>& launch) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
  do {
    launch();
  } while (std::chrono::steady_clock::now() < end);
}

inline void print_times(const std::vector<Arm>& arms) {
  struct Made {
    Round round;
    std::vector<double> times;
  };
  std::vector<Made> made;
  for (int place = 0; place < kPlaces; ++place) {
    for (const Arm& arm : arms) made.push_back({arm.make(), {}});
  }
  std::mt19937 random(std::random_device{}());
  std::vector<Made*> order;
  for (Made& each : made) order.push_back(&each);
  for (int round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (Made* each : order) {
      stay_awake(std::chrono::milliseconds(std::uniform_int_distribution(20, 50)(random)));
      wake(each->round.warm_up);
      each->times.push_back(each->round.seconds_of_a_call());
    }
  }
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    double logarithms = 0;
    for (int place = 0; place < kPlaces; ++place) {
      logarithms += std::log(median(made[place * arms.size() + arm].times));
    }
    std::printf("%s\"%s\": %.9g", arm == 0 ? "{" : ", ", arms[arm].name.c_str(),
                std::exp(logarithms / kPlaces));
  }
  std::puts("}");
}

}  // namespace bursts
