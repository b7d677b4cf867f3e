#include "device/collective.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/random.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope {
namespace {

// Whole numbers up to 2^digits are exact.
int exact_digits(DataType dtype) {
  switch (dtype) {
    case DataType::bf16: return 8;
    case DataType::f16:
    case DataType::tf32: return 11;
    default: return 24;
  }
}

std::uint64_t drawn(const RankData& data, std::int64_t rank, std::int64_t index) {
  const std::uint64_t place =
      (static_cast<std::uint64_t>(rank) << 44) ^ static_cast<std::uint64_t>(index % kInputPeriod);
  return Random(data.seed ^ Random(place).next()).next();
}

// Products of more ranks than this are of signs alone, so that no type overflows.
constexpr std::int64_t kRanksWithPowers = 8;

double factor(std::uint64_t random, std::int64_t rank) {
  constexpr double kPowers[] = {0.5, 1.0, 2.0};
  const double sign = (random & 1) != 0 ? -1.0 : 1.0;
  return rank < kRanksWithPowers ? sign * kPowers[(random >> 1) % 3] : sign;
}

// Even if all have the largest number, their sum is exact.
double summand(std::uint64_t random, std::int64_t rank, const Collective& collective) {
  const std::int64_t largest = std::int64_t{1} << exact_digits(collective.dtype);
  if (rank >= largest) return 0.0;
  const std::int64_t most = std::max<std::int64_t>(1, largest / std::max<std::int64_t>(1, collective.ranks));
  const auto width = static_cast<std::uint64_t>(2 * std::min<std::int64_t>(most, 1 << 11) + 1);
  return static_cast<double>(static_cast<std::int64_t>(random % width) -
                             static_cast<std::int64_t>(width / 2));
}

double combined(const Collective& collective, const RankData& data, std::int64_t index) {
  double result = collective_input(collective, data, 0, index);
  for (std::int64_t rank = 1; rank < collective.ranks; ++rank) {
    const double next = collective_input(collective, data, rank, index);
    switch (collective.op) {
      case Reduction::sum:
      case Reduction::avg: result += next; break;
      case Reduction::prod: result *= next; break;
      case Reduction::max: result = std::max(result, next); break;
      case Reduction::min: result = std::min(result, next); break;
    }
  }
  return collective.op == Reduction::avg ? result / static_cast<double>(collective.ranks) : result;
}

}  // namespace

double collective_input(const Collective& collective, const RankData& data, std::int64_t rank,
                        std::int64_t index) {
  if (data.kind == DataKind::zeros) return 0.0;
  if (data.kind == DataKind::ones) return 1.0;
  const std::uint64_t random = drawn(data, rank, index);
  return collective.op == Reduction::prod ? factor(random, rank) : summand(random, rank, collective);
}

std::optional<double> collective_content(const Collective& collective, const RankData& data,
                                         std::int64_t index) {
  if (collective.in_place && collective.kind == CollectiveKind::all_gather) {
    const std::int64_t part = part_of(collective);
    if (index / part != data.rank) return std::nullopt;
    return collective_input(collective, data, data.rank, index % part);
  }
  const bool is_received = collective.in_place &&
                           ((collective.kind == CollectiveKind::broadcast && data.rank != collective.root) ||
                            (collective.kind == CollectiveKind::send && data.rank == collective.to));
  if (is_received) return std::nullopt;
  return collective_input(collective, data, data.rank, index);
}

std::optional<double> collective_result(const Collective& collective, const RankData& data,
                                        std::int64_t index) {
  const std::int64_t part = part_of(collective);
  switch (collective.kind) {
    case CollectiveKind::all_reduce: return combined(collective, data, index);
    case CollectiveKind::reduce_scatter:
      if (!collective.in_place) return combined(collective, data, data.rank * part + index);
      if (index / part != data.rank) return std::nullopt;
      return combined(collective, data, index);
    case CollectiveKind::all_gather: return collective_input(collective, data, index / part, index % part);
    case CollectiveKind::broadcast: return collective_input(collective, data, collective.root, index);
    case CollectiveKind::reduce:
      if (data.rank != collective.root) return std::nullopt;
      return combined(collective, data, index);
    case CollectiveKind::all_to_all:
      return collective_input(collective, data, index / part, data.rank * part + index % part);
    case CollectiveKind::send_recv:
      return collective_input(collective, data, (data.rank + collective.ranks - 1) % collective.ranks, index);
    case CollectiveKind::send:
      if (data.rank != collective.to) return std::nullopt;
      return collective_input(collective, data, collective.root, index);
  }
  return std::nullopt;
}

double collective_tolerance(const Collective& collective) {
  if (collective.op != Reduction::avg) return 0.0;
  // Some multiply with a rounded 1 / ranks before they add up: two roundings of each term, and one of the
  // sum.
  return 4.0 * std::ldexp(1.0, -std::min(exact_digits(collective.dtype), 24));
}

std::string nccl_of(const DeviceDescription& device) {
  for (const LibraryInfo& library : device.libraries)
    if (library.name == "nccl" && library.problem.empty()) return "NCCL " + library.version;
  return {};
}

std::vector<Property> nccl_settings() {
  std::vector<Property> settings;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    // NCCL_VERSION is none: images name their own copy by it, which another one may replace.
    if (!text.starts_with("NCCL_") || text.starts_with("NCCL_VERSION=")) continue;
    const std::size_t equal = text.find('=');
    settings.push_back({std::string(text.substr(0, equal)), std::string(text.substr(equal + 1))});
  }
  std::ranges::sort(settings, {}, &Property::key);
  return settings;
}

std::string collective_order(const Collective& collective, const RankData& data) {
  return fmt::format("{} on {} data of seed {}", Operation(collective).text(), to_string(data.kind),
                     data.seed);
}

}  // namespace jitterscope
