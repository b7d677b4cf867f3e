// Where a network's time goes, by kind of operation and by part of the network, and what faster kernels could
// save.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// From this share of its ceiling on, an operation counts as being at it: a faster kernel saves too little.
inline constexpr double kAtCeiling = 0.9;

/// Returns the share of its ceiling that the operation reaches in this time, at most 1. nullopt if its
/// ceiling is not known: nothing was measured to compare with, it is faster than that (such as in a cache),
/// or its work is not known, as that of PyTorch's own operators, whose outputs are not.
std::optional<double> reached_of_ceiling(const Result& result, Nanoseconds time, const RunRecord& record);

/// Operations that are counted together. All shares are of the network's timed calls.
struct WorkGroup {
  std::string name = {};  ///< convolutions, or a part of them: convolutions 3x3 of layer1
  std::int64_t calls = 0;
  Nanoseconds time = {};     ///< all calls
  double share = 0.0;        ///< part of the network's time
  double known_share = 0.0;  ///< the same of those calls whose ceiling is known
  double could_save = 0.0;   ///< at most, if those calls ran at their ceilings; 0 if none is known
  std::vector<std::size_t> results = {};  ///< indices of RunRecord::entries

  /// Returns the share of their ceilings that these calls reach; nullopt if no ceiling is known.
  std::optional<double> of_ceiling() const;
  bool is_at_ceiling() const { return of_ceiling().value_or(0.0) >= kAtCeiling; }
};

struct WhereToWork {
  Conditions conditions;         ///< the first ones that the run timed
  std::vector<WorkGroup> kinds;  ///< the longest first
  std::vector<WorkGroup> parts;  ///< kinds by size and place in the network, what could save most first
  double at_ceiling = 0.0;       ///< share of the time of operations at their ceilings
  double unknown = 0.0;          ///< share of the time of operations whose ceiling is not known
  double faster_than_ceiling =
      0.0;  ///< the part of `unknown` that was faster than what was measured as its ceiling
};

/// Returns nullopt if the record is not that of a network of several operations with a time, or if it was
/// interrupted before all of them had one.
std::optional<WhereToWork> where_to_work(const RunRecord& record);

/// Returns one sentence: what to work on first, or why nothing can be named.
std::string advice_of(const WhereToWork& where);
/// What that says of faster kernels, that a GPU idles for so large a share of the time: "no faster kernel
/// shortens that, at most the other 43 %". Empty below a half.
std::string limit_of_faster_kernels(double idle);
/// Says of how much of the time no ceiling is known, and why; empty if all are known.
std::string unknown_ceilings(const WhereToWork& where);

}  // namespace jitterscope
