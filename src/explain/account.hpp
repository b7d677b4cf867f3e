// Two results that differ, measured apart: how much of the difference each circumstance accounts for.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"
#include "operation/model.hpp"

namespace jitterscope::explain {

/// A circumstance in which the two differ, or that each knows only so well.
struct AccountedPart {
  std::string name = {};                    ///< device, driver, engine, clock, cache, process…
  std::string first = {}, second = {};      ///< what it was; empty for what is alike and only uncertain
  std::optional<RatioEstimate> ratio = {};  ///< what it does to the time; nothing: the records do not tell
  std::string source = {};                  ///< how that is known, or why it is not
  std::string experiment = {};              ///< the command that would tell, where this machine can run it
};

struct Account {
  std::vector<std::string> layers = {};  ///< of the first record; empty for what was typed
  std::int64_t count = 1;
  std::string first_subject = {}, second_subject = {};  ///< in normal form
  Conditions first_conditions = {}, second_conditions = {};
  TimeEstimate first = {}, second = {};  ///< what each process would read again
  RatioEstimate time = {};               ///< second over first
  /// In the order in which they are looked at: environment, problem, library, engine, kernels, clock, cache,
  /// load, data, method, process.
  std::vector<AccountedPart> parts = {};
  RatioEstimate rest = {};  ///< what no part accounts for

  bool is_explained() const { return rest.low <= 1.0 && 1.0 <= rest.high; }
  /// Against a trace's times: the layer's place in its network is a part of those alone.
  bool is_of_trace() const {
    return std::ranges::any_of(parts, [](const AccountedPart& part) { return part.name == "network"; });
  }
};

/// One for each operation that both records timed, in the conditions nearest to each other. Throws UsageError
/// where they have none in common.
std::vector<Account> account_for(const RunRecord& first, const RunRecord& second);

/// A record of ours against the times that a trace of PyTorch holds of the same layers: alone, where it runs
/// in the network (if the record has it, `run --in-sequence`), and in PyTorch. Throws UsageError where they
/// have no layer in common, or the trace has no times.
std::vector<Account> account_for(const RunRecord& record, const Model& trace);

/// The network's name for it, or what was typed.
const std::string& name_of(const Account& account);
/// By how much each changes the whole, as often as the network runs it.
std::vector<const Account*> largest_change_first(const std::vector<Account>& accounts);

/// The most important first: the difference, what accounts for it, what stays.
std::vector<std::string> conclusions_of(const std::vector<Account>& accounts);

}  // namespace jitterscope::explain
