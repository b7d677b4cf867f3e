// Repetitions in a program's work on a GPU: the steps of a training, the tokens of a decoding loop. They are
// found, or it is said that none were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "statistics/statistics.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

struct Step {
  std::uint32_t first = 0, last = 0;  ///< of the device's work: [first, last)
  Time begin = 0, end = 0;            ///< from its first work's begin to that of the next step's
  std::uint32_t kind = 0;             ///< index of Steps::kinds
  bool is_whole = true;               ///< within one window of light recording: its time counts
  bool is_full = false;               ///< within one window in which calls were recorded, too
};

/// Work of one name in a step, on average.
struct WorkOfStep {
  std::uint32_t what = 0;  ///< index of Process::names
  double calls = 0.0, seconds = 0.0;
};

/// Steps that do the same work: "decode", beside "prefill". The most frequent one is the first.
struct StepKind {
  std::size_t count = 0;          ///< whole ones
  std::size_t work = 0;           ///< kernels and copies in one
  double seconds = 0.0;           ///< the median of the whole ones
  statistics::Interval interval;  ///< of the median, 95 %; from blocks of steps that follow each other
  double mean = 0.0, p95 = 0.0, p99 = 0.0;  ///< seconds
  bool has_usual_kernels = true;  ///< those of the first kind: they differ in copies alone, if at all
};

struct Steps;

/// The work that repeats within a step and makes nearly all of it, if there is any: layers of a network, or
/// the program's own steps where every tenth has something more. The work alone does not tell which.
struct Repetition {
  std::shared_ptr<const Steps> pieces;  ///< cut so: the first kind is what repeats
  double times = 0.0;                   ///< that a step holds it, on average
  std::vector<WorkOfStep> rest;         ///< the step's other work, the longest first
};

enum class StepSource : std::uint8_t { none, repetition, ranges };

struct Steps {
  StepSource source = StepSource::none;
  std::vector<StepKind> kinds;
  std::vector<Step> steps;     ///< in the order of time
  std::size_t other_work = 0;  ///< work before, between and behind them
  std::string reason;          ///< why none were found
  std::optional<Repetition> repetition;

  bool were_found() const { return source != StepSource::none; }
};

/// Looks for the longest repetition: a kernel, or a sequence of them, that occurs again and again at equal
/// distances begins a step, if at least five steps hold the same work, nine of ten work items lie in steps
/// that occur at least three times, and these cover half of the GPU's time. A wrong answer would be worse
/// than none: gaps between kernels alone are no evidence, nor is one kernel that comes again and again. A
/// step is no shorter than a launch of a graph. A repetition within a longer one is the step where all
/// kernels lie in it, so that only copies come in between, or where each stands behind a gap of its own.
Steps find_steps(const Process& process, const DeviceWork& work);

/// Steps as the program named them: one begins with each range of that name. Throws UsageError, with the
/// names that there are, if there is none.
Steps steps_of_ranges(const Process& process, const DeviceWork& work, const std::string& name);

/// True if more than one range has the name, so that it can begin steps.
bool comes_again(const Process& process, const std::string& range);

/// Names of ranges that come at least five times: three at most, those that take the longest.
std::vector<std::string> repeated_ranges(const Process& process);

/// Names at most so many ranges and how often each comes: "forward ×20, load ×20, 3 more". First stand those
/// that come again, which can begin steps, then those that take longest. Empty if there are none.
std::string ranges_in_words(const Process& process, std::size_t most);

}  // namespace jitterscope::timeline
