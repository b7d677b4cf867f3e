#include "physics/contention.hpp"

#include <cmath>
#include <limits>

#include "physics/streams.hpp"

namespace jitterscope::physics {

OtherProcess::OtherProcess(const Parameters& parameters, std::uint64_t seed)
    : on_(parameters.has(Mechanism::contention) && parameters.contention.mean_on > Nanoseconds(0)),
      contention_(parameters.contention),
      random_(stream_of(seed, Mechanism::contention)) {
  if (on_)
    starts_active_ = random_.uniform() < contention_.mean_on / (contention_.mean_on + contention_.mean_off);
}

std::size_t OtherProcess::interval_at(Nanoseconds time) {
  while (ends_.empty() || ends_.back() <= time) {
    const Nanoseconds mean = active_in(ends_.size()) ? contention_.mean_on : contention_.mean_off;
    const Nanoseconds start = ends_.empty() ? Nanoseconds(0) : ends_.back();
    ends_.push_back(start + Nanoseconds(exponential(random_, mean.value())));
  }
  while (last_ > 0 && ends_[last_ - 1] > time) --last_;
  while (ends_[last_] <= time) ++last_;
  return last_;
}

bool OtherProcess::is_active(Nanoseconds time) { return on_ && active_in(interval_at(time)); }

OtherProcess::Share OtherProcess::share_at(Nanoseconds time) {
  if (!on_) return {.until = Nanoseconds(std::numeric_limits<double>::infinity())};
  const std::size_t interval = interval_at(time);
  Share share{.until = ends_[interval]};
  if (!active_in(interval)) return share;
  share.bandwidth = 1.0 - contention_.bandwidth_loss;
  if (contention_.time_slice == Nanoseconds(0)) return share;
  const Nanoseconds start = interval == 0 ? Nanoseconds(0) : ends_[interval - 1];
  const double slices = std::floor((time - start) / contention_.time_slice);
  Nanoseconds slice_end = start + contention_.time_slice * (slices + 1.0);
  // Rounding may put `time` at the very end of a slice: then it is in the next one.
  const bool next = slice_end <= time;
  if (next) slice_end += contention_.time_slice;
  share.ours = std::fmod(slices + (next ? 1.0 : 0.0), 2.0) != 0.0;  // the newcomer gets the first slice
  share.until = std::min(share.until, slice_end);
  return share;
}

}  // namespace jitterscope::physics
