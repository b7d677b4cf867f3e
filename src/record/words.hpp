// Lists the words of each enumeration in files: the words that the tool prints, with _ for blanks.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "experiment/comparison.hpp"
#include "explain/explanation.hpp"
#include "jitterscope/measurement.hpp"
#include "statistics/effect.hpp"
#include "study/advice.hpp"

namespace jitterscope {

/// Returns the words as one identifier: "time limit" becomes "time_limit".
std::string identifier(std::string_view words);

inline constexpr std::string_view kUnknownData = "unknown";
/// Returns the kind of data, such as "normal", or "unknown".
std::string_view data_word(const Conditions& conditions);

// Below: the values of each enumeration that a file may hold. An enumeration is described by such a function
// and by to_string, both in its own namespace.
constexpr auto enumerators(CacheState) {
  return std::array{CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced};
}
constexpr auto enumerators(DataKind) {
  return std::array{DataKind::normal, DataKind::uniform, DataKind::zeros, DataKind::ones, DataKind::sparse};
}
constexpr auto enumerators(Load) { return std::array{Load::burst, Load::sustained}; }
constexpr auto enumerators(QueueMode) {
  return std::array{QueueMode::saturated, QueueMode::eager, QueueMode::graph};
}
constexpr auto enumerators(Instrument) {
  return std::array{Instrument::events, Instrument::graph, Instrument::cupti, Instrument::host};
}
constexpr auto enumerators(Steadiness::Verdict) {
  using enum Steadiness::Verdict;
  return std::array{steady, warming_up, slowing_down, never_steady, not_shown};
}
constexpr auto enumerators(StopReason) {
  return std::array{StopReason::precision, StopReason::time_limit, StopReason::interrupted};
}
constexpr auto enumerators(DataType) {
  using enum DataType;
  return std::array{f64, f32, tf32, f16, bf16, i64};
}
constexpr auto enumerators(Layout) { return std::array{Layout::nchw, Layout::nhwc}; }

std::string_view to_string(Amount::Unit);
constexpr auto enumerators(Amount::Unit) {
  using enum Amount::Unit;
  return std::array{loads, bytes, additions};
}

namespace statistics {
constexpr auto enumerators(EffectVerdict) {
  using enum EffectVerdict;
  return std::array{faster, slower, same, undecided};
}
}  // namespace statistics

namespace explain {
constexpr auto enumerators(Variation) {
  return std::array{Variation::position, Variation::idle, Variation::clock,
                    Variation::order,    Variation::loop, Variation::rest};
}
constexpr auto enumerators(FactorVerdict) {
  using enum FactorVerdict;
  return std::array{cause, cleared, unresolved, left_out, not_identifiable};
}
}  // namespace explain

namespace study {
constexpr auto enumerators(Goal) { return std::array{Goal::latency, Goal::throughput, Goal::memory}; }
constexpr auto enumerators(Trying) {
  using enum Trying;
  return std::array{taken, beaten, no_gain, slower, too_inexact, wrong, not_compared, failed, unfinished};
}
}  // namespace study

constexpr auto enumerators(CounterQuantity) {
  using enum CounterQuantity;
  return std::array{dram_bytes_read, dram_bytes_written, l2_hit_rate, processors_active,
                    tensor_active,   occupancy,          stalled,     other};
}
std::string_view to_string(ExitCode);
constexpr auto enumerators(ExitCode) {
  using enum ExitCode;
  return std::array{done, check_failed, usage, missing, imprecise, failed, interrupted};
}
std::string_view to_string(Check::Status);
constexpr auto enumerators(Check::Status) {
  using enum Check::Status;
  return std::array{good, limits, missing};
}
std::string_view to_string(EngineListing::Source);
constexpr auto enumerators(EngineListing::Source) {
  using enum EngineListing::Source;
  return std::array{heuristic, fallback, other};
}

}  // namespace jitterscope
