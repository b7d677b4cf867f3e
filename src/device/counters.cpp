#include "jitterscope/counters.hpp"

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

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

std::vector<Counter> Device::list_counters() {
  throw MissingError(
      describe().id +
      " has no hardware counters that jitterscope reads; take an NVIDIA GPU (--device cuda), or a "
      "simulated one (--device virtual)");
}

void Device::check_counters(const std::vector<std::string>&) {}

std::unique_ptr<CounterReader> Device::count(const std::vector<std::string>&) {
  list_counters();  // says what is missing
  throw MissingError(describe().id + " lists counters and cannot read them");
}

}  // namespace jitterscope
