// When launches on several streams start and end, if a GPU runs side by side what there is room for. Pure: no
// clock, no noise.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope::virtual_gpu {

/// What runs a launch. A copy engine runs one copy at a time, and takes no processors.
enum class Engine { processors, copy_to_device, copy_to_host };

struct StreamLaunch {
  struct Dependency {
    std::size_t launch = 0;
    Nanoseconds delay;  ///< from its end on
  };
  Nanoseconds time;         ///< that it takes alone
  double processors = 1.0;  ///< share of them that its blocks fill
  double bandwidth = 0.0;   ///< share of the memory's that it takes alone
  Engine engine = Engine::processors;
  std::size_t stream = 0;
  std::vector<Dependency> dependencies = {};  ///< beyond its predecessor on its stream
  Nanoseconds earliest = {};                  ///< when the stream may begin with it
};

struct StreamCosts {
  Nanoseconds gap;       ///< between neighbours on a stream
  Nanoseconds dispatch;  ///< between starts of kernels of unlike streams
};

/// Other blocks on all processors, in waves: a launch waits for the end of a wave, or for that of all.
struct StreamLoad {
  Nanoseconds time, wave;
  bool is_passed = false;  ///< the launches have the higher priority
};

struct Span {
  Nanoseconds start, end;
};

/// From the start of all, 0, on. A launch starts when its stream has reached it and a processor, or its copy
/// engine, is free. Blocks of launches that started earlier come first; the others take what is left, and the
/// rest of their blocks follow later. If more bandwidth is wanted than there is, all who want some are
/// slower.
std::vector<Span> schedule_streams(const std::vector<StreamLaunch>& launches, const StreamCosts& costs,
                                   const std::optional<StreamLoad>& load = std::nullopt);

}  // namespace jitterscope::virtual_gpu
