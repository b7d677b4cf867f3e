// Hardware counters of one launch, read in passes of their own, never together with times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// The quantity that a counter measures, if tables show it. Bytes are in bytes, all others in percent.
enum class CounterQuantity {
  dram_bytes_read,
  dram_bytes_written,
  l2_hit_rate,
  processors_active,  ///< share of the time in which a processor has work
  tensor_active,      ///< share of the time in which the matrix units (tensor cores) work
  occupancy,          ///< warps in flight over the maximum, while a processor has work
  stalled,            ///< share of their time that warps wait for one reason
  other,
};
std::string_view to_string(CounterQuantity);

/// A counter that a device offers.
struct Counter {
  std::string name;              ///< the device's own name, as `run --counters` takes it
  std::string unit = {};         ///< byte, percent, …; may be empty
  std::string description = {};  ///< may be empty
  CounterQuantity quantity = CounterQuantity::other;
  std::string stall_reason = {};  ///< for CounterQuantity::stalled
  bool is_default = false;        ///< part of the set that is read if no counter is named
};

struct CounterValue {
  std::string name, unit = {};
  CounterQuantity quantity = CounterQuantity::other;
  std::string stall_reason = {};
  std::optional<double> value = {};  ///< nullopt: 0/0, such as the hit rate of a launch without reads
};

struct CounterReading {
  std::int64_t passes = 0;  ///< number of times that the launch was repeated
  std::vector<CounterValue> values;
};

/// Returns the value of a quantity; nullopt if it was not counted or is 0/0.
std::optional<double> counted_value(const CounterReading& reading, CounterQuantity quantity);
/// Returns DRAM bytes read plus written; nullopt if one of them was not counted.
std::optional<Bytes> moved_bytes(const CounterReading& reading);

/// Counts launches. Times taken while it exists are invalid.
class CounterReader {
 public:
  virtual ~CounterReader() = default;
  /// Calls `prepare` and then `launch` once for each pass, because few counters fit the hardware at once.
  /// Only work enqueued by `launch` is counted. Both must return only when the device has finished. Values
  /// are in the order in which the counters were requested.
  virtual CounterReading read(const std::function<void()>& prepare, const std::function<void()>& launch) = 0;
};

}  // namespace jitterscope
