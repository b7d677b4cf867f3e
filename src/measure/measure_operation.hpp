// Operations from their text to their results.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "jitterscope/error.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// Prepares, measures, and verifies where asked (spin has nothing to verify). Throws what these throw.
Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification);

/// An operation under conditions. The limits, seed, idles and listeners of all trials are those of the first.
struct Trial {
  Operation operation;
  MeasureOptions options;
};

/// What came of one of several trials.
struct Outcome {
  Result result;
  std::optional<Error> error = {};  ///< what measuring it threw; then the result holds nothing
  std::string not_verified = {};    ///< why there is no verification, though there was memory for the times
};

/// How many operations are best measured at once: more share the idles between bursts, and more memory is
/// taken. One where nothing is shared.
std::size_t measured_at_once(const MeasureOptions& options);

/// Each trial as measure_operation would, but all prepared and measured at once, those of a group paired; an
/// outcome for each trial, group after group. One that fails is alone in that. A group that cannot be
/// prepared beside the others, as where memory does not hold them all, is measured after them. After an
/// interruption some outcomes hold nothing.
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
