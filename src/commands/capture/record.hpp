// Writes, reads and prints the record of `capture show`: what was found in a capture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "timeline/analysis.hpp"
#include "timeline/captured_calls.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope {

struct CaptureCause {
  timeline::Follows what = timeline::Follows::clock;
  double share = 0.0, effect = 0.0;
  double low = 0.0, high = 0.0;  ///< of the effect
};

/// A kernel with its shape, copies between two kinds of memory, or memsets of one.
struct CaptureWork {
  std::string label;      ///< as tables show it: "vectorized_add [1024]"
  std::string full_name;  ///< demangled
  std::vector<std::uint32_t> grid, block;
  std::int64_t calls = 0;
  double calls_per_step = 0.0, share = 0.0;
  Nanoseconds total, median, p5, p95;
  std::vector<CaptureCause> follows;
  std::optional<double> rest;
  bool converts_layout = false;
};

struct CaptureStepKind {
  std::int64_t count = 0, launches = 0;
  Nanoseconds median, low, high, p99;
  Nanoseconds mean, p95;  ///< 0 in older records
};

/// Work of one name in a step, on average.
struct CaptureWorkOfStep {
  std::string label;  ///< as tables show it
  double calls = 0.0;
  Nanoseconds time;
};

/// Work that repeats within a step and is nearly all of it.
struct CaptureRepetition {
  double times = 0.0;  ///< in a step
  std::int64_t launches = 0;
  Nanoseconds median;
  std::vector<CaptureWorkOfStep> rest;  ///< the step's other work, the longest first
};

/// A change of the steps' times that stays.
struct CaptureStepLevels {
  std::int64_t step = 0;                ///< number of the first step of the later level, as --step takes it
  std::int64_t earlier = 0, later = 0;  ///< steps of each level
  Nanoseconds at;                       ///< from the first step's begin
  Nanoseconds before, before_low, before_high;
  Nanoseconds after, after_low, after_high;  ///< medians with their 95 % intervals
  Nanoseconds busy, idle;                    ///< of a step, beyond the earlier ones; may be negative

  double longer() const { return after.value() / before.value() - 1.0; }
};

struct CaptureTrait {
  timeline::StepTrait trait = timeline::StepTrait::idle;
  std::int64_t slow = 0, other = 0;
  Nanoseconds longer;  ///< idle time beyond the usual
};

/// A part of a step that takes longer in the slow ones than in the others.
struct CaptureLongerPart {
  std::string label;    ///< of work, as tables show it
  bool is_gap = false;  ///< the idle time before it
  Nanoseconds longer;
};

/// Slow steps come back: so many of each period.
struct CaptureStepRecurrence {
  std::int64_t period = 0, slow = 0;
};

struct CaptureSlowSteps {
  std::int64_t steps = 0, of = 0;
  double longer = 0.0;
  std::vector<CaptureTrait> traits;
  Nanoseconds time, other_time;  ///< medians of the slow steps and the others; 0 in older records
  std::optional<CaptureStepRecurrence> recurrence;
  std::vector<CaptureLongerPart> parts;
};

struct CaptureStretch {
  Nanoseconds begin, end;  ///< from the first step's begin
};
/// Steps, one after the other, that took longer than most.
struct CaptureLongStretches {
  std::vector<CaptureStretch> stretches;  ///< in the order of time
  std::int64_t steps = 0, of = 0;
  double longer = 0.0;
  Nanoseconds busy, idle;  ///< of a step, beyond the others'
};

/// A factor that all kernels have in common, but for that of another process.
struct CaptureCommonFactor {
  bool is_clock = false, is_after_allocation = false;
  double share = 0.0, low = 0.0, high = 0.0;  ///< of what steps vary by
  double effect = 0.0;
  std::int64_t kernels = 0;
};

/// The program took so much longer for being recorded.
struct CaptureCost {
  double ratio = 0.0, low = 0.0, high = 0.0;
  std::int64_t windows = 0;
  std::optional<double> null_ratio;
};

/// Time in collectives that other GPUs had not come to yet.
struct CaptureWaits {
  double share = 0.0;                      ///< of all time
  std::int64_t collectives = 0, last = 0;  ///< in so many of these the others waited for this one
};

/// Kernels that no recorded call of a library explains.
struct CaptureOtherKernels {
  timeline::KernelOrigin origin = timeline::KernelOrigin::other;
  double share = 0.0;
};
/// Calls of libraries, with shares of the kernels' time while they were recorded.
struct CaptureCalls {
  std::int64_t calls = 0;
  double explained = 0.0, replayable = 0.0;
  std::vector<CaptureOtherKernels> others;  ///< the largest first
};

struct CaptureIdle {
  timeline::IdleCause cause = timeline::IdleCause::unknown;
  double share = 0.0;  ///< of all time
};

struct CaptureCopies {
  std::string name;
  std::int64_t count = 0;
  double bytes = 0.0, beside_kernels = 0.0;
  Nanoseconds total;
};

struct CaptureLoss {
  std::int64_t count = 0;  ///< 0: not known
  std::string sentence;
  std::int64_t times = 1;  ///< that it happened
};

// What plots are made of.

struct CaptureStepTime {
  Nanoseconds at, time;
  bool slow = false;
};
struct CaptureSensor {
  Nanoseconds at;  ///< from the first step's begin, like a step's, or from the first work's without steps
  Hertz clock;
  double held = 0.0;  ///< share of the time that a cap held the clock
  Watts power;
};
/// Work of one step, from its begin on.
struct CaptureSlice {
  std::int64_t stream = 0;
  Nanoseconds begin, end;
  std::string label;
};
struct CapturePicture {
  std::string title;   ///< "step 17, the slowest"
  Nanoseconds length;  ///< to the next step's begin: what is behind the last slice is idle
  std::vector<CaptureSlice> slices;
};

/// One GPU of one process.
struct CaptureDevice {
  std::string process, gpu;
  std::optional<std::int64_t> rank;
  Nanoseconds length;
  bool is_complete = true;
  std::int64_t kernels = 0, copies = 0, sets = 0, lost = 0;
  std::int64_t names = 0, audited = 0, corrected = 0;
  std::vector<CaptureStepKind> steps;
  std::string no_steps;             ///< why none were found
  std::vector<std::string> ranges;  ///< where none were found: the program's own that come again and again
  double busy = 0.0;                ///< share of the time
  std::vector<CaptureIdle> idle;
  std::int64_t idle_windows = 0;
  double with_others = 0.0;  ///< share of the time in which another process was on the GPU
  std::optional<CaptureCommonFactor> common;
  std::optional<CaptureRepetition> repetition;
  std::optional<CaptureStepLevels> levels;
  std::optional<CaptureLongStretches> stretches;
  std::optional<CaptureSlowSteps> slow;
  std::optional<CaptureCost> cost;
  std::optional<CaptureWaits> waits;
  std::optional<CaptureCalls> calls;  ///< with `capture --calls`
  std::vector<CaptureWork> work;      ///< by their time, the longest first
  std::vector<CaptureCopies> copied;
  std::vector<CaptureStepTime> step_times;  ///< 2,000 at most, the slow ones among them
  std::vector<CaptureSensor> sensors;       ///< 1,000 at most
  std::vector<CapturePicture> pictures;     ///< of the median and the slowest step
};

struct CaptureRecord {
  Environment environment;
  DeviceDescription device;  ///< of the GPU that worked longest
  std::string source;
  bool can_be_run = false;             ///< `run` and `advise` take the source as work
  std::vector<CaptureDevice> devices;  ///< the one that worked longest first
  std::vector<CaptureLoss> losses;     ///< what was lost or not recorded
  bool interrupted = false;
};

CaptureRecord make_capture_record(const timeline::Timeline& timeline, const timeline::Analysis& analysis);

std::string write_record(const CaptureRecord& record);
/// Returns the first screen: steps, whether all is there, what the recording cost, findings, idle time,
/// kernels.
Text record_text(const CaptureRecord& record, const ShownPage& shown);
/// Returns the step's time, or how much the GPU works where there are no steps.
Headline headline_of(const CaptureRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, CaptureRecord& record);

inline constexpr std::size_t kShortName = 44;
/// A name in so many characters at most: its beginning and its end.
std::string shortened_name(const std::string& name, std::size_t most = kShortName);
/// A device's process on one line, of 60 characters at most: "pid 4711 python3 train.py --batch 256 …".
std::string process_label(const CaptureDevice& device);
/// A kernel's name and how many blocks it has, as tables show it: "vectorized_add [1024]".
std::string kernel_label(const timeline::WorkName& name, std::size_t most = kShortName);
/// A table that leaves out what has no room, or, with details, nothing.
Text table_for(std::vector<TableColumn> columns, const ShownPage& shown);
/// "follows" in a few words: "clock 88 % (+14 %)".
std::string follows_text(const CaptureCause& cause);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const CaptureRecord& record);

}  // namespace jitterscope::report
