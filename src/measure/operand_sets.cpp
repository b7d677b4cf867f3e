#include "measure/operand_sets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/traffic.hpp"

namespace jitterscope {
namespace {

// A set is a prepared operation of its own: so many take seconds where no plan has to be built.
constexpr std::int64_t kMostSets = 4096;
// The rest is for workspaces, and for others.
constexpr double kShareOfMemory = 0.75;

UsageError refused(const Operation& operation, const std::string& reason) {
  return UsageError(fmt::format("fresh data for {}: {}", operation.text(), reason));
}

// By the seed where they are drawn anew later on; none where the driver chooses.
std::optional<std::uint64_t> placement_of(const MeasureOptions& options) {
  if (!options.placement) return options.seed;
  return *options.placement > 0 ? std::optional(static_cast<std::uint64_t>(*options.placement))
                                : std::nullopt;
}

}  // namespace

std::size_t sets_for_fresh_data(const DeviceDescription& device, const Operation& operation) {
  constexpr std::int64_t kCaches = 3;
  const Bytes cache = device.last_level_cache, moved = operation.bytes();
  if (cache.value() <= 0 || moved.value() <= 0) {
    throw refused(
        operation,
        "the device does not say how large its last-level cache is, or the operation moves no data; "
        "leave --fresh-data out, or measure with --cache cold");
  }
  const std::int64_t between = (kCaches * cache.value() + moved.value() - 1) / moved.value();
  const std::int64_t sets = between + 1;
  if (sets > kMostSets) {
    throw refused(operation,
                  fmt::format("{} sets of {} would be needed to outgrow the cache of {} {} times, and {} are "
                              "made at most; take a larger operation, or measure with --cache cold",
                              sets, bytes_text(moved), bytes_text(cache), kCaches, kMostSets));
  }
  const double needed = static_cast<double>(operand_memory(operation).value()) * static_cast<double>(sets);
  if (needed > kShareOfMemory * static_cast<double>(device.memory_free.value())) {
    throw refused(
        operation,
        fmt::format("its {} sets of operands need {}, and {} of memory are free, of which a quarter is left "
                    "to others; take a smaller operation, or measure with --cache cold",
                    sets, bytes_text(Bytes(static_cast<std::int64_t>(needed))),
                    bytes_text(device.memory_free)));
  }
  return static_cast<std::size_t>(sets);
}

RotatingWorkload prepare_sets(Device& device, const Operation& operation, const MeasureOptions& options,
                              std::size_t launches) {
  const std::size_t wanted = options.fresh_data ? sets_for_fresh_data(device.describe(), operation) : 1;
  const std::size_t sets = std::clamp<std::size_t>(launches, 1, wanted);
  std::vector<std::unique_ptr<PreparedOperation>> prepared;
  for (std::size_t i = 0; i < sets; ++i) {
    InputData data{.kind = options.data, .seed = options.seed + i};
    // Another set for each launch is another place for each launch.
    if (!options.fresh_data) data.placement = placement_of(options);
    prepared.push_back(device.prepare(operation, data));
  }
  return RotatingWorkload(std::move(prepared));
}

}  // namespace jitterscope
