#include "device/virtual/virtual_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::virtual_gpu {
namespace {

std::optional<double> percent(double part, double whole) {
  if (!(whole > 0.0)) return std::nullopt;
  return 100.0 * part / whole;
}

double number_of(Bytes bytes) { return static_cast<double>(bytes.value()); }

// The model has no warps: it knows neither occupancy nor what warps wait for, nor which processors are
// active.
struct VirtualCounter {
  const char* name;
  const char* unit;
  const char* description;
  CounterQuantity quantity;
  std::optional<double> (*value)(const LaunchCounts&);
};

const std::array kCounters = {
    VirtualCounter{"dram__bytes_read.sum", "byte", "bytes read from DRAM", CounterQuantity::dram_bytes_read,
                   [](const LaunchCounts& counts) -> std::optional<double> {
                     return number_of(counts.traffic.read_misses);
                   }},
    VirtualCounter{"dram__bytes_write.sum", "byte", "bytes written to DRAM",
                   CounterQuantity::dram_bytes_written,
                   [](const LaunchCounts& counts) -> std::optional<double> {
                     return number_of(counts.traffic.write_backs);
                   }},
    VirtualCounter{"lts__t_sector_hit_rate.pct", "percent", "accesses to L2 that hit",
                   CounterQuantity::l2_hit_rate,
                   [](const LaunchCounts& counts) {
                     const Bytes hits = counts.traffic.accessed - counts.traffic.read_misses;
                     return percent(number_of(hits), number_of(counts.traffic.accessed));
                   }},
    VirtualCounter{
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "percent",
        "cycles in which units that multiply matrices work", CounterQuantity::tensor_active,
        [](const LaunchCounts& counts) { return percent(counts.tensor.value(), counts.cycles.value()); }},
    VirtualCounter{"sm__cycles_elapsed.avg", "cycle", "cycles of the SM clock", CounterQuantity::other,
                   [](const LaunchCounts& counts) -> std::optional<double> { return counts.cycles.value(); }},
    VirtualCounter{"gpu__time_duration.sum", "nanosecond", "time of the kernels", CounterQuantity::other,
                   [](const LaunchCounts& counts) -> std::optional<double> { return counts.time.value(); }}};

const VirtualCounter& counter_named(const std::string& name) {
  // Without what stands behind its dot it is the one that there is, as on a GPU.
  const auto found = std::ranges::find_if(kCounters, [&](const VirtualCounter& counter) {
    return counter.name == name || std::string_view(counter.name).starts_with(name + '.');
  });
  if (found != kCounters.end()) return *found;
  std::vector<std::string> known;
  for (const VirtualCounter& counter : kCounters) known.emplace_back(counter.name);
  throw UsageError(fmt::format("a simulated GPU has no counter '{}'{}", name, suggestion(name, known)));
}

Counter described(const VirtualCounter& counter) {
  return {.name = counter.name,
          .unit = counter.unit,
          .description = counter.description,
          .quantity = counter.quantity,
          .is_default = counter.quantity != CounterQuantity::other};
}

class VirtualCounterReader final : public CounterReader {
 public:
  VirtualCounterReader(Timeline& timeline, std::vector<Counter> counters)
      : timeline_(timeline), counters_(std::move(counters)) {}

  CounterReading read(const std::function<void()>& prepare, const std::function<void()>& launch) override {
    prepare();
    timeline_.synchronize();
    const Counting counting(timeline_);
    launch();
    timeline_.synchronize();
    CounterReading reading{.passes = 1, .values = {}};
    for (const Counter& counter : counters_) {
      reading.values.push_back({.name = counter.name,
                                .unit = counter.unit,
                                .quantity = counter.quantity,
                                .value = counter_named(counter.name).value(counting.counts)});
    }
    return reading;
  }

 private:
  struct Counting {
    explicit Counting(Timeline& counted) : timeline(counted) { timeline.counts = &counts; }
    ~Counting() { timeline.counts = nullptr; }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    Timeline& timeline;
    LaunchCounts counts;
  };

  Timeline& timeline_;
  std::vector<Counter> counters_;
};

}  // namespace

std::vector<Counter> virtual_counters() {
  std::vector<Counter> counters;
  for (const VirtualCounter& counter : kCounters) counters.push_back(described(counter));
  return counters;
}

std::vector<Counter> find_virtual_counters(const std::vector<std::string>& names) {
  std::vector<Counter> counters;
  for (const std::string& name : names) counters.push_back(described(counter_named(name)));
  if (!names.empty()) return counters;
  counters = virtual_counters();
  std::erase_if(counters, [](const Counter& counter) { return !counter.is_default; });
  return counters;
}

std::unique_ptr<CounterReader> count_virtual_launches(Timeline& timeline,
                                                      const std::vector<std::string>& names) {
  return std::make_unique<VirtualCounterReader>(timeline, find_virtual_counters(names));
}

}  // namespace jitterscope::virtual_gpu
