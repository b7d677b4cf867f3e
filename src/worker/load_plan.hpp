// What a process is told that runs work beside another's: a plan, and then orders, each on a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "explain/treatment.hpp"

namespace jitterscope {

/// {"format": "jitterscope-load", "version": 1, …}, the first line.
struct LoadPlan {
  std::string device;       ///< as open_device takes it
  std::int64_t parent = 0;  ///< process that gives the orders; 0: none that is known
  std::uint64_t seed = 1;
};

/// Every other line.
struct LoadOrder {
  std::optional<explain::CompanionWork> work = {};  ///< nothing: to rest
  double duty = 1.0;                                ///< share of the time in which it has work on the device
};

/// The answer to each line, when what it says is so; or an error as write_error has it.
struct LoadAnswer {
  std::int64_t launches = 0;  ///< so far
};

std::string write_load_plan(const LoadPlan& plan);
/// Nothing where the line is something else. Throws UsageError where it is damaged, or of another version.
std::optional<LoadPlan> read_load_plan(std::string_view line);
std::string write_load_order(const LoadOrder& order);
/// Throws UsageError where it is damaged, or its duty no share.
LoadOrder read_load_order(std::string_view line);
std::string write_load_answer(const LoadAnswer& answer);
/// Throws UsageError where it is damaged; what write_error wrote is thrown.
LoadAnswer read_load_answer(std::string_view line);

}  // namespace jitterscope
