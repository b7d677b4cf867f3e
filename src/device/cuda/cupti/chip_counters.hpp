// The counters of a chip by name: which are read by default, and what a typed name means.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/cuda/cupti/counter_host.hpp"
#include "jitterscope/counters.hpp"

namespace jitterscope::cuda {

class ChipCounters {
 public:
  /// `host` must outlive it.
  explicit ChipCounters(const CounterHost& host);

  /// The default set first; then each of the chip's counters once, with its usual suffix.
  std::vector<Counter> all() const;
  std::vector<Counter> default_set() const;
  /// Those of these names, or the default set where none is named. A name without a suffix gets the usual
  /// one. Throws UsageError that names the nearest.
  std::vector<Counter> find(const std::vector<std::string>& names) const;

 private:
  Counter find_one(const std::string& name) const;
  Counter described(const std::string& name) const;
  std::string usual_suffix(const std::string& base) const;
  std::string base_of(const std::string& name) const;

  const CounterHost& host_;
  std::map<std::string, CUpti_MetricType> types_;  ///< by base name
};

std::vector<std::string> names_of(const std::vector<Counter>& counters);

}  // namespace jitterscope::cuda
