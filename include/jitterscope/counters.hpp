// Hardware counters: what a device counts of one launch, in passes of their own, never beside times.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// What a counter says, where a table has a column for it. Bytes are bytes, all else is in percent.
enum class CounterQuantity {
  dram_bytes_read,
  dram_bytes_written,
  l2_hit_rate,
  processors_active,  ///< share of the time in which a processor has work
  tensor_active,      ///< share of the time in which the units that multiply matrices work
  occupancy,          ///< warps in flight over those that would fit, while a processor has work
  stalled,            ///< share of their time that warps wait for one reason
  other,
};
std::string_view to_string(CounterQuantity);

/// One thing that a device can count.
struct Counter {
  std::string name;              ///< the device's own, as `run --counters` takes it
  std::string unit = {};         ///< byte, percent, …; may be empty
  std::string description = {};  ///< may be empty
  CounterQuantity quantity = CounterQuantity::other;
  std::string stall_reason = {};  ///< of CounterQuantity::stalled
  bool is_default = false;        ///< read where none is named
};

struct CounterValue {
  std::string name, unit = {};
  CounterQuantity quantity = CounterQuantity::other;
  std::string stall_reason = {};
  std::optional<double> value =
      {};  ///< nothing: a share of nothing, as the hit rate of a launch without reads
};

struct CounterReading {
  std::int64_t passes = 0;  ///< how often the launch was repeated for it
  std::vector<CounterValue> values;
};

/// What was read of a quantity; nothing where it was not counted, or is a share of nothing.
std::optional<double> counted_value(const CounterReading& reading, CounterQuantity quantity);
/// All that memory read and wrote; nothing where one of them was not counted.
std::optional<Bytes> moved_bytes(const CounterReading& reading);

/// Counts launches. Times taken while it lives are not to be used.
class CounterReader {
 public:
  virtual ~CounterReader() = default;
  /// Calls `prepare` and then `launch` for each pass, as few counters fit the hardware at once; only what
  /// `launch` puts on the device is counted. Both return when the device has done it. Values are in the order
  /// in which the counters were asked for.
  virtual CounterReading read(const std::function<void()>& prepare, const std::function<void()>& launch) = 0;
};

}  // namespace jitterscope
