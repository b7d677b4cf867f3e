// Programs on a GPU that never ran, whose causes are therefore known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline::test {

/// What a training or a decoding loop does, and what disturbs it.
struct MadeProgram {
  std::uint64_t seed = 1;
  std::size_t steps = 400;
  std::size_t kernels = 24;   ///< different ones in a step
  std::size_t layers = 1;     ///< how often a block of kernels repeats within a step
  std::size_t head = 0;       ///< kernels that occur once a step, in front of the layers
  double kernel_us = 100.0;   ///< of the first; others up to three times as long
  double noise = 0.003;       ///< of each call
  double drift = 0.0;         ///< of each kernel on its own, from step to step; neighbours correlate by 0.9
  double gap_us = 1.0;        ///< between kernels
  double step_gap_us = 5.0;   ///< between steps
  double layer_gap_us = 0.0;  ///< in front of each layer
  double clock = 0.0;         ///< all kernels slow down by up to so much, in waves
  double wave_s = 10.0;       ///< length of a wave of the clock
  bool clock_shows = true;    ///< NVML's throttled time grows with it
  bool power_shows = false;   ///< NVML's power rises with it
  bool is_capped = false;     ///< NVML's clock falls with it, and is held all the time, more or less
  double sensors_late_s = 0.0;
  std::size_t slow_host_from = 0, slow_host_to = 0;  ///< steps that begin 0.4 to 0.8 ms late
  std::size_t late_input_every = 0;                  ///< every so many steps the input comes 9 ms late
  std::size_t long_kernel_every = 0;  ///< every so many steps kernel 2 takes half as long again
  double late_by_chance_us = 0.0;     ///< one step in ten, at random, begins so much later
  std::size_t allocates_every = 0;    ///< every so many steps the GPU waits 5 ms while memory is allocated
  double memory_slows = 0.0;          ///< in seven steps after each all kernels take so much longer
  double copy_slows =
      -1.0;  ///< >= 0: beside every second step a copy runs, and kernels beside it take so much longer
  std::size_t copy_every = 2;
  double place_slows = 0.0;  ///< the second of two equal kernels takes so much longer
  double preceding_slows =
      0.0;  ///< kernel 3 takes so much longer behind kernel 1; in half of the steps, at random
  double first_calls_slow = 0.0;     ///< the first seven calls of each kernel take so much longer
  double trend = 0.0;                ///< of the first three kernels, from the first step to the last
  double other_process_slows = 0.0;  ///< in every second stretch of 3 s another process is there
  std::size_t slower_from = 0;       ///< from this step on all kernels take longer by
  double slower = 0.0;
  std::size_t extra_every = 0;    ///< a kernel more, that no other step has, ends every so many steps
  bool extra_at_random = false;   ///< the same as often, at random places
  std::size_t save_every = 0;     ///< a copy to the host, of 200 µs, ends every so many steps
  std::size_t prefill_every = 0;  ///< a step of another kind in front of every so many steps
  std::size_t warm_up = 37;       ///< kernels before the first step that follow no order
  bool records_calls = false;     ///< as --detail full
  bool as_graphs = false;         ///< a step is one launch of a graph, and kernels are its nodes
};

Timeline make_timeline(const MadeProgram& program);

}  // namespace jitterscope::timeline::test
