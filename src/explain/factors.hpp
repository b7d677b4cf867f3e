// A cause that may move a time, and how it is switched on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explain/treatment.hpp"
#include "measure/subject.hpp"

namespace jitterscope::explain {

/// What decides whether a factor can be switched here.
struct FactorContext {
  DeviceDescription device = {};
  bool reads_data = true;
  bool is_callable = false;    ///< a program's own: neither its operands nor its memory are ours to change
  bool launches_wait = false;  ///< for the device
  bool fits_queue = true;      ///< a loop's launches, behind a gate
  Nanoseconds launch_time = {};
  Nanoseconds timer_grain = {};           ///< of the marks around a launch
  std::optional<Bytes> alignment = {};    ///< PreparedOperation::operand_alignment
  bool has_row_strides = true;            ///< PreparedOperation::has_row_strides
  bool lies_in_pages = true;              ///< PreparedOperation::lies_in_pages
  Bytes operand_memory = {};              ///< of all operands together
  bool starts_processes = true;           ///< whoever asks can have another process run work beside the loop
  std::vector<std::string> engines = {};  ///< that PyTorch may take for it; the first is its heuristic's
  std::string engine_note = {};           ///< how often which is taken
};

struct Dose {
  std::string text;  ///< "idle of 200 ms"
  std::function<void(Treatment&)> apply;
};

/// What becomes of a factor in a study that has no time for all of them.
enum class WhenShort { keep, leave_out };

struct Factor {
  std::string id = {};           ///< idle, load, cache…
  std::string cause = {};        ///< for a sentence: "an idle before the loop"
  std::string usual = {};        ///< what the plain loop has in its place: "idle of 10 ms"
  std::vector<Dose> doses = {};  ///< the last is the strongest, which the screening uses
  /// A dose has more of it than the one before, so that a cause must grow from the first to the last.
  bool doses_grow = false;
  std::string remedy = {};                      ///< one sentence
  std::vector<std::string> not_told_from = {};  ///< ids of factors that look the same in so short a study
  std::string not_available = {};               ///< empty, or why it cannot be switched here
  std::string note = {};                        ///< what else is known of it
  bool shows_in_counters = false;               ///< of one launch
  bool may_be_power = false;                    ///< or something else: rests between launches tell
  bool is_tried_last = false;                   ///< it leaves the process changed for the others
  WhenShort when_time_is_short = WhenShort::keep;
};

using FactorList = std::vector<const Factor*>;

/// What the device and the subject decide; the rest is found out by launching.
FactorContext factor_context(Device& device, const TrialSubject& subject);

/// Every factor, whether it can be switched here or not, in the order in which treatments are put together.
std::vector<Factor> all_factors(const FactorContext& context);
/// Those of the ids, all for none. Throws UsageError for one that is none, with the nearest.
std::vector<Factor> chosen_factors(const FactorContext& context, const std::vector<std::string>& ids);
/// Their ids, as --factors takes them.
std::vector<std::string> factor_ids();

}  // namespace jitterscope::explain
