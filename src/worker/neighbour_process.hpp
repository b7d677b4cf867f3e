// A fresh process that works beside this one on the same device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "explain/treatment.hpp"

namespace jitterscope {

/// Starts `EXECUTABLE worker`; `executable` is this program's path, `device` as open_device takes it. Returns
/// once it has opened the device. The process ends with the returned object, or when this process ends for
/// whatever reason. Throws NeighbourLostError with the reason if it cannot start.
std::unique_ptr<explain::Neighbour> start_neighbour_process(const std::string& executable,
                                                            const std::string& device,
                                                            const std::function<bool()>& interrupted);

// The lines between both processes: first a plan, then orders, each on a line.

/// The first line: {"format": "jitterscope-load", "version": 1, …}.
struct LoadPlan {
  std::string device;       ///< as open_device takes it
  std::int64_t parent = 0;  ///< process that gives the orders; 0: unknown
  std::uint64_t seed = 1;
};

/// Every later line.
struct LoadOrder {
  std::optional<explain::CompanionWork> work = {};  ///< nullopt: rest
  double duty = 1.0;  ///< share of the time during which it has work on the device
};

/// The answer to each line, once it is followed; or an error as write_error writes it.
struct LoadAnswer {
  std::int64_t launches = 0;  ///< number so far
};

std::string write_load_plan(const LoadPlan& plan);
/// nullopt if the line is something else. Throws UsageError if it is damaged or of another version.
std::optional<LoadPlan> read_load_plan(std::string_view line);
std::string write_load_order(const LoadOrder& order);
/// Throws UsageError if it is damaged or its duty is no share.
LoadOrder read_load_order(std::string_view line);
std::string write_load_answer(const LoadAnswer& answer);
/// Throws UsageError if it is damaged, or the error that write_error wrote.
LoadAnswer read_load_answer(std::string_view line);

/// Opens the device, answers, and then follows each line of `orders` until they end or it is interrupted.
/// Throws what opening, preparing or launching throws, and UsageError for a line that is no order.
void carry_out_load(const LoadPlan& plan, LineReader& orders,
                    const std::function<void(const std::string& line)>& answer,
                    const std::function<bool()>& interrupted);

}  // namespace jitterscope
