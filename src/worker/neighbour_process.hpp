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

/// `executable`: path of this program, of which `EXECUTABLE worker` is started; `device`: as open_device
/// takes it. Returns when it has opened the device. It ends with what is returned, or when this process ends,
/// however that comes about. Throws NeighbourLostError with the reason where it cannot.
std::unique_ptr<explain::Neighbour> start_neighbour_process(const std::string& executable,
                                                            const std::string& device,
                                                            const std::function<bool()>& interrupted);

// What a process is told that runs work beside another's: a plan, and then orders, each on a line.

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

// Work beside another process's, begun and ended as that process says.

/// Opens the device, answers that it is there, and then does what each line of `orders` says until they end,
/// or it is interrupted. Throws what opening, preparing or launching throws, and UsageError for a line that
/// is no order.
void carry_out_load(const LoadPlan& plan, LineReader& orders,
                    const std::function<void(const std::string& line)>& answer,
                    const std::function<bool()>& interrupted);

}  // namespace jitterscope
