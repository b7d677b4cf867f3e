// Another process on the same GPU.
#pragma once

#include <vector>

#include "base/random.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

class OtherProcess {
 public:
  OtherProcess(const Parameters& parameters, std::uint64_t seed);

  struct Share {
    bool ours = true;        ///< false: the GPU belongs to the other now
    double bandwidth = 1.0;  ///< what is left of it
    Nanoseconds until;       ///< when this may change
  };
  Share share_at(Nanoseconds time);
  bool is_active(Nanoseconds time);

 private:
  std::size_t interval_at(Nanoseconds time);
  bool active_in(std::size_t interval) const { return starts_active_ == (interval % 2 == 0); }

  bool on_;
  Contention contention_;
  Random random_;
  bool starts_active_ = false;
  std::vector<Nanoseconds> ends_;  ///< of the intervals in turn active and not
  std::size_t last_ = 0;           ///< the interval asked for last: time moves on slowly
};

}  // namespace jitterscope::physics
