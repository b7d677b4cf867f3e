// Defines the proofs of the tool's own numbers and their results, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_record.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {

class ProofContext;

enum class Verdict {
  passed,
  missed,
  inconclusive,  ///< the result fits the target, but also a value that would refute it
  skipped,
};
std::string_view to_string(Verdict);

/// Quantity of a line's value; `kind` in JSON.
enum class ValueKind {
  seconds,
  share,  ///< share of trials, 0 to 1
  ratio,  ///< measured over true value, or a distance over a time
  bytes_per_second,
};
std::string_view to_string(ValueKind);

/// Range of values that meet the target.
struct ProofTarget {
  double low = 0.0, high = 0.0;
};

/// A number with an interval or a range, which the line's note explains.
struct ProofValue {
  ValueKind kind = ValueKind::ratio;
  double value = 0.0;
  std::optional<double> low, high;
  std::optional<ProofTarget> target = {};  ///< empty if the target is no range of this value alone
};

/// One row of the table: a claim, its target, and the result.
struct ProofLine {
  std::string group;     ///< name of the proof
  std::string name;      ///< claim and subject: "slope, 132 blocks"
  std::string target;    ///< "94–96 %", "at most 0.1 µs"
  std::string measured;  ///< text of the table; empty if skipped
  std::optional<ProofValue> value;
  Verdict verdict = Verdict::passed;
  std::string note;  ///< reason for skipping or failing, or further information; one sentence
};

/// All results of the selftest on one device.
struct SelftestRecord {
  Environment environment;
  DeviceDescription device;
  std::uint64_t seed = 1;
  bool quick = false;
  std::vector<ProofLine> lines;
  Nanoseconds duration;
  bool interrupted = false;
};

/// Place where a proof gets its true values.
enum class Place {
  machine,     ///< any device: kernels of known time, other instruments, other processes
  simulation,  ///< its own virtual GPUs, whose true values are known
};

struct Proof {
  std::string_view name;
  std::string_view summary;  ///< for --list
  Place place = Place::machine;
  Nanoseconds quick_time, full_time;  ///< rough durations, for the plan and the time left
  /// Returns lines in the order printed. Throws UsageError or MissingError if the device cannot take part,
  /// InterruptedError if interrupted before a verdict.
  std::vector<ProofLine> (*prove)(ProofContext&) = nullptr;
};

// Below: functions that make a proof's lines.

/// Makes a line that passes if the claim holds.
ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      bool holds, std::string note = {});
ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      Verdict verdict, std::string note = {});
/// Returns the target `middle` ± `distance`.
ProofTarget around(double middle, double distance);
/// Makes a line without a value, with the reason.
ProofLine skipped_line(std::string name, std::string target, std::string reason);

/// Makes a line that passes if the slope is within `tolerance` of 1, with the slope's 95 % interval.
ProofLine slope_line(std::string name, const statistics::LinearFit& fit, double tolerance,
                     std::string note = {});

/// Returns "+0.013 µs": always in microseconds, the unit of the targets.
std::string microseconds_text(Nanoseconds time);

// Below: lines about how often something happened in equal trials.

struct Frequency {
  std::int64_t hits = 0, trials = 0;

  void add(bool hit) {
    hits += hit ? 1 : 0;
    ++trials;
  }
  double value() const { return static_cast<double>(hits) / static_cast<double>(trials); }
};

/// Returns "96 of 100: 96.0 % (90.1–98.9 %)", with the exact 95 % interval.
std::string frequency_text(const Frequency& share);

/// Returns missed if the share's exact interval lies below `least`; inconclusive if the interval also holds a
/// share with twice the failures that `least` allows, because the trials are too few; otherwise passed.
Verdict verdict_on(const Frequency& share, double least);

/// Makes a line that is missed if `holds` is false; otherwise verdict_on() decides.
ProofLine at_least_line(std::string name, const Frequency& share, double least, bool holds, std::string note);
/// Makes a line for a share of at most `most`.
ProofLine at_most_line(std::string name, const Frequency& share, double most, std::string note);

}  // namespace jitterscope::selftest
