#include "output/run_rates.hpp"

#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

// From the text: results also hold callables, which are no operation that could be parsed.
std::string_view dtype_of(std::string_view operation) {
  constexpr std::string_view kKey = "dtype=";
  const std::size_t start = operation.find(kKey);
  if (start == std::string_view::npos) return {};
  const std::string_view value = operation.substr(start + kKey.size());
  return value.substr(0, value.find(','));
}

std::string share_text(double share, bool compute_bound) {
  // The ceiling is itself a measurement: what is above it by less than this may still come from memory.
  constexpr double kAboveMemory = 1.05;
  return share > kAboveMemory && !compute_bound ? std::string(kInCache) : percent_text(share);
}

std::optional<double> compute_ceiling(const Result& result, const Ceilings& ceilings) {
  const std::string_view dtype = dtype_of(result.operation);
  for (const Ceilings::Compute& compute : ceilings.compute) {
    if (to_string(compute.dtype) == dtype && compute.flops_per_second > 0) return compute.flops_per_second;
  }
  return std::nullopt;
}

}  // namespace

std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const Ceilings& ceilings) {
  const auto bytes = static_cast<double>(result.bytes.value());
  if (!(time.value() > 0) || (result.flops <= 0 && bytes <= 0)) return std::nullopt;
  const std::optional<double> flops_ceiling = compute_ceiling(result, ceilings);
  std::optional<double> bytes_ceiling = ceilings.bytes_per_second;
  if (bytes_ceiling && *bytes_ceiling <= 0) bytes_ceiling.reset();
  // Where a ceiling is unknown: below 10 FLOP per byte, memory is the limit of every CPU and GPU made lately.
  constexpr double kBalance = 10.0;
  const double balance = flops_ceiling && bytes_ceiling ? *flops_ceiling / *bytes_ceiling : kBalance;
  const bool compute_bound = result.flops > bytes * balance;
  const double rate = (compute_bound ? result.flops : bytes) / to_seconds(time);
  const std::optional<double> ceiling = compute_bound ? flops_ceiling : bytes_ceiling;
  return AchievedRate{rate_text(rate, compute_bound ? "FLOP/s" : "B/s"),
                      ceiling ? share_text(rate / *ceiling, compute_bound) : std::string(), compute_bound};
}

}  // namespace jitterscope
