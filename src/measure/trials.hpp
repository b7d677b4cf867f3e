// Trials: a subject under conditions, from what was asked to its result.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/measure.hpp"
#include "measure/session.hpp"
#include "measure/subject.hpp"

namespace jitterscope {

/// A subject under conditions. The limits, seed, idles and listeners of all trials are those of the first.
struct Trial {
  TrialSubject subject;
  MeasureOptions options;

  /// Null for a trial of something else.
  const Operation* operation() const { return subject.operation(); }
};

/// The result of one of several trials.
struct Outcome {
  Result result;
  std::optional<Error> error = {};  ///< why it could not be measured; then the result holds nothing
  std::string not_verified = {};    ///< why there is no verification, though there was memory for the times
  std::vector<std::string> notes = {};  ///< sentences: what the subject does that changed how it was timed
};

/// Prepares, measures, and verifies if asked (spin has nothing to verify). Throws what these throw.
Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification);

/// How many groups are best measured at once: more share the idles between bursts, and more memory is taken.
/// One if nothing is shared.
std::size_t measured_at_once(const MeasureOptions& options);

/// All trials prepared and measured at once, those of a group paired; an outcome for each trial, group after
/// group. A trial that fails is alone in that. A group that cannot be prepared beside the others, as when
/// memory does not hold them all, is measured after them. After an interruption some outcomes hold nothing.
///
/// A callable on a simulated device is refused (UsageError). If it cannot be recorded though QueueMode::graph
/// asks for that, it is launched; if it leaves work on other streams, each launch is timed with a wait for
/// the device.
std::vector<Outcome> measure_trials(Session& session, const std::vector<std::vector<Trial>>& groups,
                                    bool with_verification);

/// Any number of groups, as many at once as is best. `begin` is told which group comes next and says whether
/// to go on; `done` gets the outcomes of each few groups and which the first of them is.
void measure_in_turn(Session& session, const std::vector<std::vector<Trial>>& groups, bool with_verification,
                     const std::function<bool(std::size_t group)>& begin,
                     const std::function<void(std::size_t first_group, std::vector<Outcome>)>& done);

/// A group for each operation: none is compared.
std::vector<std::vector<Trial>> trials_of(const std::vector<Operation>& operations,
                                          const MeasureOptions& options);

}  // namespace jitterscope
