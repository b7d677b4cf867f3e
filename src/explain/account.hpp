// Accounts for the difference between two results measured apart: what each circumstance adds.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"
#include "operation/model.hpp"

namespace jitterscope::explain {

/// A circumstance in which two results differ, or that is known only within an uncertainty.
struct AccountedPart {
  std::string name = {};                    ///< device, driver, engine, clock, cache, process…
  std::string first = {}, second = {};      ///< its values; empty if only the uncertainty matters
  std::optional<RatioEstimate> ratio = {};  ///< effect on the time; nullopt: unknown
  std::string source = {};                  ///< how the ratio is known, or why it is not
  std::string experiment = {};              ///< command that would measure it, if this machine can run it
};

struct Account {
  std::vector<std::string> layers = {};  ///< from the first record; empty for typed operations
  std::int64_t count = 1;
  std::string first_subject = {}, second_subject = {};  ///< in normal form
  Conditions first_conditions = {}, second_conditions = {};
  TimeEstimate first = {}, second = {};  ///< without the variation between processes
  RatioEstimate time = {};               ///< second over first
  /// In the order in which they are examined: environment, problem, library, engine, kernels, clock, cache,
  /// load, data, method, process.
  std::vector<AccountedPart> parts = {};
  RatioEstimate rest = {};  ///< what no part accounts for

  bool is_explained() const { return rest.low <= 1.0 && 1.0 <= rest.high; }
  /// True if the second times are a trace's: only then the place in the network is a part.
  bool is_of_trace() const {
    return std::ranges::any_of(parts, [](const AccountedPart& part) { return part.name == "network"; });
  }
};

/// Returns an account for each operation that both records timed, in their nearest conditions. Throws
/// UsageError if they share none.
std::vector<Account> account_for(const RunRecord& first, const RunRecord& second);

/// Compares a record with the times of the same layers in a PyTorch trace: alone, in the network (if the
/// record has it, from `run --in-sequence`), and in PyTorch. Throws UsageError if they share no layer, or if
/// the trace has no times.
std::vector<Account> account_for(const RunRecord& record, const Model& trace);

/// Returns the network's name for the operation, or the operation as text.
const std::string& name_of(const Account& account);
/// Sorts by the change of the whole time: each change times the number of calls.
std::vector<const Account*> largest_change_first(const std::vector<Account>& accounts);

/// Returns sentences, the most important first: the difference, what accounts for it, what remains.
std::vector<std::string> conclusions_of(const std::vector<Account>& accounts);

}  // namespace jitterscope::explain
