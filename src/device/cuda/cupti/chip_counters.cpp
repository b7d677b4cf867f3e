#include "device/cuda/cupti/chip_counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// Of each quantity the first that the chip has. Consumer chips of Blackwell (GB202) have dram__bytes_op_*;
// those that share the host's memory (GA10B, GB10B, GB20B) have neither. All accepted by CUPTI 13.0 for 29
// chips from GV100 to GB20B. On GH100 they take 2 passes, and 7 with what warps wait for.
struct DefaultCounter {
  CounterQuantity quantity;
  std::string_view name;
};
constexpr std::array kDefaultCounters = {
    DefaultCounter{CounterQuantity::dram_bytes_read, "dram__bytes_read.sum"},
    DefaultCounter{CounterQuantity::dram_bytes_read, "dram__bytes_op_read.sum"},
    DefaultCounter{CounterQuantity::dram_bytes_written, "dram__bytes_write.sum"},
    DefaultCounter{CounterQuantity::dram_bytes_written, "dram__bytes_op_write.sum"},
    DefaultCounter{CounterQuantity::l2_hit_rate, "lts__t_sector_hit_rate.pct"},
    DefaultCounter{CounterQuantity::processors_active, "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"},
    DefaultCounter{CounterQuantity::tensor_active,
                   "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    DefaultCounter{CounterQuantity::occupancy, "sm__warps_active.avg.pct_of_peak_sustained_active"}};

// "smsp__warp_issue_stalled_REASON_per_warp_active.pct" is the share of warps, over cycles, that wait for it.
constexpr std::string_view kStallBegin = "smsp__warp_issue_stalled_", kStallEnd = "_per_warp_active";
constexpr std::string_view kShareSuffix = ".pct";
// Not a wait: the warps that issue an instruction.
constexpr std::string_view kNoWait = "selected";

// Of a base name; empty where it counts something else.
std::string stall_reason(std::string_view base) {
  if (!base.starts_with(kStallBegin) || !base.ends_with(kStallEnd)) return {};
  base.remove_prefix(kStallBegin.size());
  base.remove_suffix(std::min(base.size(), kStallEnd.size()));
  return base == kNoWait ? std::string() : std::string(base);
}

void set_quantity(Counter& counter) {
  const auto known =
      std::ranges::find(kDefaultCounters, std::string_view(counter.name), &DefaultCounter::name);
  if (known != kDefaultCounters.end()) counter.quantity = known->quantity;
  const std::string_view name = counter.name;
  if (!name.ends_with(kShareSuffix)) return;
  counter.stall_reason = stall_reason(name.substr(0, name.size() - kShareSuffix.size()));
  if (!counter.stall_reason.empty()) counter.quantity = CounterQuantity::stalled;
}

}  // namespace

ChipCounters::ChipCounters(const CounterHost& host) : host_(host) {
  for (const CUpti_MetricType type :
       {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT}) {
    for (const std::string& base : host_.base_names(type)) types_.emplace(base, type);
  }
}

std::string ChipCounters::usual_suffix(const std::string& base) const {
  switch (types_.at(base)) {
    case CUPTI_METRIC_TYPE_COUNTER: return ".sum";
    case CUPTI_METRIC_TYPE_THROUGHPUT: return ".avg.pct_of_peak_sustained_elapsed";
    default: break;
  }
  const std::vector<std::string> known = host_.suffixes(base, CUPTI_METRIC_TYPE_RATIO);
  if (std::ranges::find(known, kShareSuffix) != known.end() || known.empty())
    return std::string(kShareSuffix);
  const bool has_ratio = std::ranges::find(known, ".ratio") != known.end();
  return has_ratio ? ".ratio" : known.front();
}

// The longest that the chip has, since some have points of their own (SM_C.TriageCompute.sm__cycles_active);
// empty where it has none.
std::string ChipCounters::base_of(const std::string& name) const {
  for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
    if (types_.contains(name.substr(0, end))) return name.substr(0, end);
  }
  return {};
}

Counter ChipCounters::described(const std::string& name) const {
  Counter counter{.name = name};
  if (auto properties = host_.properties(name)) {
    counter.unit = std::move(properties->unit);
    counter.description = std::move(properties->description);
  }
  set_quantity(counter);
  return counter;
}

Counter ChipCounters::find_one(const std::string& name) const {
  const std::string base = base_of(name);
  if (base.empty()) {
    std::vector<std::string> known;
    for (const auto& [each, type] : types_) known.push_back(each);
    const std::string nearest = nearest_name(name.substr(0, name.find('.')), known);
    throw UsageError(fmt::format(
        "{} has no counter '{}'{}; jitterscope list counters shows them", host_.chip(), name,
        nearest.empty() ? "" : fmt::format(" (did you mean '{}{}'?)", nearest, usual_suffix(nearest))));
  }
  if (base == name) return described(base + usual_suffix(base));
  const std::string suffix = name.substr(base.size());
  const std::vector<std::string> known = host_.suffixes(base, types_.at(base));
  if (std::ranges::find(known, suffix) == known.end()) {
    throw UsageError(fmt::format("the counter {} has no '{}'{}", base, suffix, suggestion(suffix, known)));
  }
  return described(name);
}

std::vector<Counter> ChipCounters::default_set() const {
  std::vector<Counter> counters;
  std::set<CounterQuantity> found;
  const auto add = [&](const std::string& name) {
    counters.push_back(described(name));
    counters.back().is_default = true;
  };
  for (const DefaultCounter& wanted : kDefaultCounters) {
    const std::string name(wanted.name);
    if (!base_of(name).empty() && found.insert(wanted.quantity).second) add(name);
  }
  for (const auto& [base, type] : types_) {
    if (type == CUPTI_METRIC_TYPE_RATIO && !stall_reason(base).empty()) add(base + std::string(kShareSuffix));
  }
  return counters;
}

std::vector<Counter> ChipCounters::all() const {
  std::vector<Counter> counters = default_set();
  const std::vector<std::string> first = names_of(counters);
  for (const auto& [base, type] : types_) {
    const std::string name = base + usual_suffix(base);
    if (std::ranges::find(first, name) == first.end()) counters.push_back(described(name));
  }
  return counters;
}

std::vector<Counter> ChipCounters::find(const std::vector<std::string>& names) const {
  if (names.empty()) return default_set();
  std::vector<Counter> counters;
  for (const std::string& name : names) counters.push_back(find_one(name));
  return counters;
}

std::vector<std::string> names_of(const std::vector<Counter>& counters) {
  std::vector<std::string> names;
  for (const Counter& counter : counters) names.push_back(counter.name);
  return names;
}

}  // namespace jitterscope::cuda
