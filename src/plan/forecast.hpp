// Forecasts of a job on so many ranks: each arrangement's step, ranked, with intervals and what limits it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/arrangement.hpp"

namespace jitterscope::plan {

enum class Limit { computing, bubble, exposed, straggler, launch, memory };
std::string_view to_string(Limit);

struct Forecast {
  Arrangement arrangement;
  Nanoseconds step = {}, low = {},
              high = {};  ///< 95 % as far as it is measured; all equal if it was not drawn
  double samples_per_second = 0,
         speedup = 1;                  ///< over one GPU that does the same samples one after the other
  IdleTime idle = {};                  ///< mean over ranks
  Nanoseconds busy = {}, hidden = {};  ///< mean over ranks
  PeakMemory memory = {};
  bool fits = true;
  bool has_stated_network = false;                 ///< some exchange costs what the user said
  std::int64_t busiest_rank = 0;                   ///< one of those that compute longest
  std::optional<Nanoseconds> straggler_adds = {};  ///< what is added if that rank is slower
};
/// The largest part of the ranks' time beside computing, or computing if all other parts are below a
/// twentieth.
Limit limit_of(const Forecast& forecast);

struct ForecastAsked {
  double straggler = 0.02;  ///< by how much one rank is slower
  std::int64_t draws = 100;
  std::uint64_t seed = 1;
};

/// Returns the step and what ranks wait for, without an interval.
Forecast forecast(const Job& job, const Arrangement& arrangement);
/// Adds the interval, from draws of the costs' errors, and what a straggler costs.
void add_uncertainty(Forecast& forecast, const Job& job, const ForecastAsked& asked);

/// Arrangements that are worth comparing on so many ranks: data-parallel in all its ways, tensor-parallel,
/// each schedule of a pipeline, and all factorizations. One that does not fit is also there with its
/// optimizer or weights sharded and its stages cut by memory. Those that are impossible are left out.
std::vector<Arrangement> arrangements_for(const Job& job, std::int64_t ranks);

}  // namespace jitterscope::plan
