#include "device/device.hpp"

#include <charconv>

#include <fmt/format.h>

#include "jitterscope/counters.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

std::string_view to_string(CacheState state) {
  switch (state) {
    case CacheState::warm: return "warm";
    case CacheState::cold: return "cold";
    case CacheState::dirty: return "dirty";
    case CacheState::produced: return "produced";
  }
  return "";
}

std::string_view to_string(DataKind kind) {
  switch (kind) {
    case DataKind::normal: return "normal";
    case DataKind::uniform: return "uniform";
    case DataKind::zeros: return "zeros";
    case DataKind::ones: return "ones";
    case DataKind::sparse: return "sparse";
  }
  return "";
}

std::string_view to_string(CounterQuantity quantity) {
  switch (quantity) {
    case CounterQuantity::dram_bytes_read: return "dram bytes read";
    case CounterQuantity::dram_bytes_written: return "dram bytes written";
    case CounterQuantity::l2_hit_rate: return "l2 hit rate";
    case CounterQuantity::processors_active: return "processors active";
    case CounterQuantity::tensor_active: return "tensor active";
    case CounterQuantity::occupancy: return "occupancy";
    case CounterQuantity::stalled: return "stalled";
    case CounterQuantity::other: return "other";
  }
  return "";
}

std::optional<double> counted_value(const CounterReading& reading, CounterQuantity quantity) {
  for (const CounterValue& value : reading.values) {
    if (value.quantity == quantity) return value.value;
  }
  return std::nullopt;
}

std::optional<Bytes> moved_bytes(const CounterReading& reading) {
  const auto read = counted_value(reading, CounterQuantity::dram_bytes_read),
             written = counted_value(reading, CounterQuantity::dram_bytes_written);
  if (!read || !written) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(*read + *written));
}

void Device::join(Ranks&) {
  throw UsageError(describe().id +
                   " has no collectives; take GPUs (--device cuda), or a simulated cluster "
                   "(--device virtual:cluster-2xh200)");
}

std::unique_ptr<PeerMemory> Device::open_to_peers(Ranks&, Bytes) {
  throw UsageError(describe().id + " has no links to other devices; take GPUs (--device cuda)");
}

std::unique_ptr<SideStream> Device::make_side_stream(std::size_t) {
  throw UsageError(describe().id + " has one queue and no streams; take GPUs (--device cuda)");
}

std::vector<Counter> Device::list_counters() {
  throw MissingError(
      describe().id +
      " has no hardware counters that jitterscope reads; take an NVIDIA GPU (--device cuda), or a "
      "simulated one (--device virtual)");
}

void Device::check_counters(const std::vector<std::string>&) {}

std::unique_ptr<CounterReader> Device::count(const std::vector<std::string>&) {
  list_counters();  // throws and says what is missing
  throw MissingError(describe().id + " lists counters and cannot read them");
}

Hertz requested_megahertz(std::string_view request) {
  constexpr std::string_view kUnit = "MHz";
  const std::string_view typed = request;
  if (request.ends_with(kUnit)) request.remove_suffix(kUnit.size());
  unsigned mhz = 0;
  const auto [end, error] = std::from_chars(request.data(), request.data() + request.size(), mhz);
  if (error == std::errc() && end == request.data() + request.size()) return megahertz(mhz);
  throw UsageError(fmt::format("a clock to lock is base, max or a number of MHz, not '{}'", typed));
}

}  // namespace jitterscope
