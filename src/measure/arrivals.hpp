// Measures how long a rank stays in a collective that it launches as a program does, so that waiting for
// other ranks shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"
#include "measure/run_record.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// How arrivals are measured. Every rank needs the same, since all make the same launches.
struct ArrivalOptions {
  std::vector<Operation> operations;     ///< collectives in which each rank waits for all others
  Nanoseconds work = microseconds(100);  ///< before each collective, on the GPU
  std::int64_t rounds = 200;             ///< without a delay
  /// Each rank in turn comes later by each of these, for `delayed_rounds` rounds: a proof on this machine
  /// that a late rank is seen.
  std::vector<Nanoseconds> delays = {microseconds(5), microseconds(20), microseconds(100)};
  std::int64_t delayed_rounds = 24;
  std::uint64_t seed = 1;  ///< of the order of delays, the same on every rank
};

/// Measures the arrivals of each operation; all ranks must call it at the same place. Nothing is decided by
/// times, so that every rank makes the same launches. `interrupted` is not asked for the same reason: it
/// takes some seconds.
std::vector<CollectiveArrivals> measure_arrivals(Session& session, Ranks& ranks,
                                                 const ArrivalOptions& options);

}  // namespace jitterscope
