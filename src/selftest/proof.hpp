// What a proof of the tool's own numbers is, and what it finds. Plain data.
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
  inconclusive,  ///< what was seen fits the target, and what would refute it as well
  skipped,
};
std::string_view to_string(Verdict);

/// What a line's value counts: JSON gives it by this name.
enum class ValueKind {
  seconds,
  share,  ///< of trials: 0 to 1
  ratio,  ///< of what was measured to what is true, or of a distance to a time
  bytes_per_second,
};
std::string_view to_string(ValueKind);

/// From where to where a value meets its target.
struct ProofTarget {
  double low = 0.0, high = 0.0;
};

/// A number with the interval or range that its note explains.
struct ProofValue {
  ValueKind kind = ValueKind::ratio;
  double value = 0.0;
  std::optional<double> low, high;
  std::optional<ProofTarget> target = {};  ///< nothing where it is no range of the value alone
};

/// One row of the table: a claim, its target, and what was seen.
struct ProofLine {
  std::string group;     ///< name of the proof
  std::string name;      ///< what is claimed, and of what: "slope, 132 blocks"
  std::string target;    ///< "94–96 %", "at most 0.1 µs"
  std::string measured;  ///< as the table shows it; empty where skipped
  std::optional<ProofValue> value;
  Verdict verdict = Verdict::passed;
  std::string note;  ///< why it was skipped or failed, or what else there is to know; one sentence
};

/// The tool's own judgement of one device.
struct SelftestRecord {
  Environment environment;
  DeviceDescription device;
  std::uint64_t seed = 1;
  bool quick = false;
  std::vector<ProofLine> lines;
  Nanoseconds duration;
  bool interrupted = false;
};

/// Where a proof finds its truth.
enum class Place {
  machine,     ///< on any device: kernels of known time, other instruments, other processes
  simulation,  ///< on virtual GPUs of its own, whose truth is known
};

struct Proof {
  std::string_view name;
  std::string_view summary;  ///< what it shows, for --list
  Place place = Place::machine;
  Nanoseconds quick_time, full_time;  ///< roughly: for the plan, and for the time left
  /// Lines in the order printed. Throws UsageError or MissingError where the device cannot take part,
  /// InterruptedError where it was ended before it could judge.
  std::vector<ProofLine> (*prove)(ProofContext&) = nullptr;
};

// How proofs make their lines.

/// A judged line: passed where the claim holds.
ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      bool holds, std::string note = {});
ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      Verdict verdict, std::string note = {});
/// A target that is met this far to either side of a value.
ProofTarget around(double middle, double distance);
/// A line without a value, and why.
ProofLine skipped_line(std::string name, std::string target, std::string reason);

/// Passes where the fit's slope is within `tolerance` of one; its 95 % interval goes beside it.
ProofLine slope_line(std::string name, const statistics::LinearFit& fit, double tolerance,
                     std::string note = {});

/// "+0.013 µs": in microseconds, the unit of the targets.
std::string microseconds_text(Nanoseconds time);

// Lines about how often something happened in equal trials.

struct Frequency {
  std::int64_t hits = 0, trials = 0;

  void add(bool hit) {
    hits += hit ? 1 : 0;
    ++trials;
  }
  double value() const { return static_cast<double>(hits) / static_cast<double>(trials); }
};

/// "96 of 100: 96.0 % (90.1–98.9 %)": with its exact 95 % interval.
std::string frequency_text(const Frequency& share);

/// Missed where the exact interval of the share excludes `least` or more. Inconclusive where it holds that,
/// and also a share with twice the failures that `least` leaves: so few trials tell neither.
Verdict verdict_on(const Frequency& share, double least);

/// Missed where `holds` is false, else by verdict_on().
ProofLine at_least_line(std::string name, const Frequency& share, double least, bool holds, std::string note);
/// The same for `most` or less.
ProofLine at_most_line(std::string name, const Frequency& share, double most, std::string note);

}  // namespace jitterscope::selftest
