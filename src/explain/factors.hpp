// The factors of a study: causes that may move a time, and how to switch each one on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "explain/treatment.hpp"
#include "measure/subject.hpp"

namespace jitterscope::explain {

/// Facts that decide whether a factor can be switched here.
struct FactorContext {
  DeviceDescription device = {};
  bool reads_data = true;
  bool is_callable = false;    ///< a program's function: neither its operands nor its memory can be changed
  bool launches_wait = false;  ///< a launch waits for the device
  bool fits_queue = true;      ///< a loop's launches fit a held queue
  Nanoseconds launch_time = {};
  Nanoseconds timer_grain = {};           ///< for the marks around a launch
  std::optional<Bytes> alignment = {};    ///< PreparedOperation::operand_alignment
  bool has_row_strides = true;            ///< PreparedOperation::has_row_strides
  bool lies_in_pages = true;              ///< PreparedOperation::lies_in_pages
  Bytes operand_memory = {};              ///< all operands together
  bool starts_processes = true;           ///< the caller can start a process that works beside the loop
  std::vector<std::string> engines = {};  ///< candidates of PyTorch; the first is its heuristic's
  std::string engine_note = {};           ///< how often each was taken
};

struct Dose {
  std::string text;  ///< "idle of 200 ms"
  std::function<void(Treatment&)> apply;
};

struct Factor {
  std::string id = {};           ///< idle, load, cache…
  std::string cause = {};        ///< for a sentence: "an idle before the loop"
  std::string usual = {};        ///< state in the plain loop: "idle of 10 ms"
  std::vector<Dose> doses = {};  ///< the last is the strongest, used for screening
  /// Each dose is stronger than the one before, so a cause's effect must grow from first to last.
  bool doses_grow = false;
  /// A dose can only take something from a launch: one that makes it faster does so by what goes with it.
  bool only_slows = false;
  std::string remedy = {};                      ///< one sentence
  std::vector<std::string> not_told_from = {};  ///< ids of factors that look the same in so short a study
  std::string not_available = {};               ///< why it cannot be switched here; empty if it can
  std::string note = {};                        ///< what else is known about it
  bool shows_in_counters = false;               ///< counters of one launch show it
  bool may_be_power = false;                    ///< power or something else: rests between launches tell
  bool is_tried_last = false;                   ///< it leaves the process changed for the others
};

using FactorList = std::vector<const Factor*>;

/// Returns what device and subject decide; launching tells the rest.
FactorContext factor_context(Device& device, const TrialSubject& subject);

/// Returns every factor, available or not, in the order in which treatments are applied.
std::vector<Factor> all_factors(const FactorContext& context);
/// Returns the factors with these ids, or all. Throws UsageError for an unknown id, with the nearest.
std::vector<Factor> chosen_factors(const FactorContext& context, const std::vector<std::string>& ids);
/// Throws UsageError for an unknown id, with the nearest.
void require_factor(const std::string& id);
/// Returns all ids, as --factors takes them.
std::vector<std::string> factor_ids();

}  // namespace jitterscope::explain
