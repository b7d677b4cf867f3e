// Trials: a subject under conditions, from the request to its result.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/measure.hpp"
#include "measure/session.hpp"
#include "measure/subject.hpp"

namespace jitterscope {

/// A subject under conditions. Limits, seed, idles and callbacks of all trials are those of the first.
struct Trial {
  TrialSubject subject;
  MeasureOptions options;
  bool verify = true;  ///< false: its results are not compared, even if those of the plan are

  /// Null if the subject is something else.
  const Operation* operation() const { return subject.operation(); }
};

/// The result of one of several trials.
struct Outcome {
  Result result;
  std::optional<Error> error = {};      ///< why it could not be measured; the result is then empty
  std::string not_verified = {};        ///< why it is not verified, though it was timed
  std::vector<std::string> notes = {};  ///< sentences: what the subject does that changed how it was timed
};

/// Prepares, measures, and verifies if asked (spin has nothing to verify). Throws what these throw.
Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification);

/// Returns how many groups are best measured at once: more of them share the idles between bursts, but take
/// more memory. 1 if nothing is shared.
std::size_t measured_at_once(const MeasureOptions& options);

/// Prepares and measures all trials at once, those of a group paired; returns an outcome for each trial,
/// group after group. Trials fail singly. A group that cannot be prepared beside the others, for example for
/// want of memory, is measured after them. After an interruption some outcomes are empty.
///
/// A callable on a simulated device is refused (UsageError). If it cannot be recorded though QueueMode::graph
/// asks for that, it is launched; if it leaves work on other streams, each launch is timed with a wait for
/// the device.
std::vector<Outcome> measure_trials(Session& session, const std::vector<std::vector<Trial>>& groups,
                                    bool with_verification);

/// Measures any number of groups, as many at once as is best. `begin` gets the next group's number and
/// returns whether to go on; `done` gets the outcomes of every few groups and the number of the first.
void measure_in_turn(Session& session, const std::vector<std::vector<Trial>>& groups, bool with_verification,
                     const std::function<bool(std::size_t group)>& begin,
                     const std::function<void(std::size_t first_group, std::vector<Outcome>)>& done);

/// Returns a group for each operation, so that none is compared.
std::vector<std::vector<Trial>> trials_of(const std::vector<Operation>& operations,
                                          const MeasureOptions& options);

}  // namespace jitterscope
