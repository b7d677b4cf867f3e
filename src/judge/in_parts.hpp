// Work that several threads share, each a piece of it. OpenMP's threads would go on spinning behind it,
// beside what a worker is timed with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace jitterscope::judging {

/// Calls part(begin, end) for pieces of [0, count), each at least `least` long, on as many threads as there
/// are processors at most. The calling thread does one of them.
template <class Part>
void in_parts(std::size_t count, std::size_t least, const Part& part) {
  // Asked once: each time glibc opens a file of /sys for it.
  static const std::size_t processors = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const std::size_t threads = std::clamp<std::size_t>(count / std::max<std::size_t>(1, least), 1, processors);
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.emplace_back([&part, count, threads, i] { part(count * i / threads, count * (i + 1) / threads); });
  }
  part(std::size_t{0}, count / threads);
}

}  // namespace jitterscope::judging
