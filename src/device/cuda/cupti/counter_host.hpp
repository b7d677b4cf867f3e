// CUPTI's host side for one chip: which counters it has, how many passes they take, what raw data say. It
// needs no GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/cupti/range_profiler.hpp"

namespace jitterscope::cuda {

/// What the hardware is told, to count a set of counters.
struct CounterSchedule {
  std::vector<std::uint8_t> image;
  std::size_t passes = 0;
};

struct CounterProperties {
  std::string description, unit;
};

/// Chips whose counters this CUPTI knows.
std::vector<std::string> supported_chips();

class CounterHost {
 public:
  /// A chip as NVIDIA names it: GH100. `availability` is the image of what the GPU at hand leaves free;
  /// empty: all. Throws MissingError where CUPTI knows no such chip.
  explicit CounterHost(std::string chip, std::vector<std::uint8_t> availability = {});
  ~CounterHost();
  CounterHost(const CounterHost&) = delete;
  CounterHost& operator=(const CounterHost&) = delete;

  const std::string& chip() const { return chip_; }
  /// Counters, ratios or throughputs, without a suffix: dram__bytes_read.
  std::vector<std::string> base_names(CUpti_MetricType type) const;
  /// What may follow a base name: .sum, .avg.per_second…
  std::vector<std::string> suffixes(const std::string& base, CUpti_MetricType type) const;
  /// Nothing where the chip has no counter of this name.
  std::optional<CounterProperties> properties(const std::string& name) const;
  /// To be called once, with names that exist. Throws UsageError where they cannot be counted together.
  CounterSchedule schedule(const std::vector<std::string>& names);
  /// From the one range of a counter data image; not finite where the hardware gave none.
  std::vector<double> evaluate(const std::vector<std::uint8_t>& data,
                               const std::vector<std::string>& names) const;

 private:
  // CUPTI does not say whether it copies what it is made from.
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// CUPTI takes names as pointers; valid as long as the names.
std::vector<const char*> name_pointers(const std::vector<std::string>& names);

}  // namespace jitterscope::cuda
