#include "measure/achieved_rate.hpp"

#include <algorithm>

namespace jitterscope {
namespace {

std::optional<double> compute_ceiling(const Result& result, const Ceilings& ceilings) {
  const Operation* operation = operation_of(result.subject);
  if (operation == nullptr) return std::nullopt;
  for (const Ceilings::Compute& compute : ceilings.compute) {
    if (compute.dtype == operation->dtype() && compute.flops_per_second > 0) return compute.flops_per_second;
  }
  return std::nullopt;
}

}  // namespace

std::optional<AchievedRate> achieved_rate(const Result& result, Nanoseconds time, const RunRecord& record) {
  const Ceilings& ceilings = record.ceilings;
  const auto bytes = static_cast<double>(result.bytes.value());
  if (!(time.value() > 0) || (result.flops <= 0 && bytes <= 0)) return std::nullopt;
  const std::optional<double> flops_ceiling = compute_ceiling(result, ceilings);
  std::optional<double> bytes_ceiling = ceilings.bytes_per_second;
  if (bytes_ceiling && *bytes_ceiling <= 0) bytes_ceiling.reset();
  // Where a ceiling is unknown: below 10 FLOP per byte, memory is the limit of every CPU and GPU made lately.
  constexpr double kBalance = 10.0;
  const double balance = flops_ceiling && bytes_ceiling ? *flops_ceiling / *bytes_ceiling : kBalance;
  AchievedRate rate;
  rate.compute_bound = result.flops > bytes * balance;
  rate.per_second = (rate.compute_bound ? result.flops : bytes) / to_seconds(time);
  const std::optional<double> ceiling = rate.compute_bound ? flops_ceiling : bytes_ceiling;
  const Operation* operation = operation_of(result.subject);
  const bool is_known = operation == nullptr || !is_only_moved(*operation, record.device);
  if (ceiling && is_known) rate.ceiling_share = rate.per_second / *ceiling;
  return rate;
}

bool is_only_moved(const Operation& operation, const DeviceDescription& device) {
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    return std::ranges::any_of(chain->steps,
                               [&](const Operation& step) { return is_only_moved(step, device); });
  }
  return device.capabilities.is_simulated && std::holds_alternative<CudaKernel>(operation.parameters());
}

}  // namespace jitterscope
