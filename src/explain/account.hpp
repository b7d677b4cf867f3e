// Accounts for the difference between two results measured apart: what each circumstance adds.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
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
  /// The ratio's interval is what the part can do: how much of that it does, the records do not tell.
  bool is_bound = false;
};

struct Account {
  std::vector<std::string> layers = {};  ///< from the first record; empty for typed operations
  std::int64_t count = 1;
  std::string first_subject = {}, second_subject = {};  ///< in normal form
  Conditions first_conditions = {}, second_conditions = {};
  TimeEstimate first = {}, second = {};  ///< as `compare` has them (experiment/times_apart)
  RatioEstimate time = {};               ///< second over first, as `compare` has it
  /// Times of the processes if both records have several.
  std::vector<Nanoseconds> first_processes = {}, second_processes = {};
  /// In the order in which they are examined: environment, problem, library, engine, kernels, clock, memory
  /// clock, power, temperature, host launch, cache, kernel before, overlap, load, data, launch gaps,
  /// instrument, process.
  std::vector<AccountedPart> parts = {};
  RatioEstimate rest = {};                       ///< what no part accounts for
  bool is_of_program = false;                    ///< the second times are those that a program's record holds
  std::optional<TimeEstimate> in_sequence = {};  ///< of a program's: the call in its order, timed here
  /// Part at which the account of a program's call ends, because another GPU or other kernels ran: of
  /// different work, nothing further can be told apart. Empty if there is none.
  std::string stopped_at = {};

  bool is_explained() const { return stopped_at.empty() && rest.low <= 1.0 && 1.0 <= rest.high; }
};

/// True if a part has no effect, only an uncertainty, which the interval of the time has already.
inline bool is_only_uncertain(const std::optional<RatioEstimate>& effect) {
  return effect && effect->ratio == 1.0;
}

/// True if a part's effect is known and its interval excludes none: only then the part is named as a cause.
inline bool is_named(const AccountedPart& part) {
  return part.ratio && (part.ratio->low > 1.0 || part.ratio->high < 1.0);
}

/// Returns "+13.8 %", the most that a part can do whose ratio is a bound.
std::string most_text(const RatioEstimate& bounds);

/// Returns what the step from the parts to the whole is, for a row.
std::string_view rest_name(const RatioEstimate& rest);

/// Returns an account for each operation that both records timed, in their nearest conditions. Throws
/// UsageError if they share none.
std::vector<Account> account_for(const RunRecord& first, const RunRecord& second);
/// The same of different networks: only for equal operations.
std::vector<Account> account_for_equal_work(const RunRecord& first, const RunRecord& second);

/// Returns what one call of the layer took in the program: its kernels' sum, by the mean. nullopt if its
/// record does not say.
std::optional<TimeEstimate> recorded_time_of(const Layer& layer);

/// Compares a record with the times of the same layers in a program's record: alone, in sequence (if the
/// record has it, from `run --in-sequence`), and in the program. Throws UsageError if they share no layer, or
/// if the program's record has no times.
std::vector<Account> account_for(const RunRecord& record, const Model& program);

/// Returns the time in sequence over that alone; nullopt if there is no sequence.
std::optional<RatioEstimate> effect_of_place(const Account& account);

/// A circumstance, over all operations of two records.
struct TotalPart {
  std::string name = {};
  std::string first = {}, second = {};  ///< its values
  std::string of = {};  ///< if operations have several values: the one that these are of, which changed most
  std::size_t operations = 0;               ///< number of operations that have it
  Nanoseconds change = {};                  ///< how much longer these operations take in the second record
  Nanoseconds change_half = {};             ///< half of the change's interval
  std::optional<RatioEstimate> ratio = {};  ///< effect on the time of all; nullopt: unknown of an operation
  bool acts_by_clock = false;               ///< its effect is in the clock's part
  bool is_bound = false;                    ///< as AccountedPart has it, of one operation at least

  bool is_change_shown() const { return std::abs(change.value()) > change_half.value(); }
};

/// The accounts together: what all calls take, and what each circumstance does to that.
struct AccountTotal {
  std::int64_t calls = 0;
  TimeEstimate first = {}, second = {};  ///< as those of `compare` (SumsApart)
  RatioEstimate time = {};               ///< second over first
  std::vector<TotalPart> parts = {};     ///< in the order in which they are examined
  RatioEstimate rest = {};               ///< what no part accounts for

  Nanoseconds change() const { return second.median - first.median; }
  /// True if the interval excludes no change: only then the change has shares.
  bool is_changed() const { return time.low > 1.0 || time.high < 1.0; }
  bool is_explained() const { return rest.low <= 1.0 && 1.0 <= rest.high; }
};

/// The calls that accounts are about, and those of the records.
struct ComparedCalls {
  std::int64_t together = 0, of_first = 0, of_second = 0;

  bool are_all() const { return together >= of_first && together >= of_second; }
};
ComparedCalls compared_calls(const RunRecord& first, const RunRecord& second,
                             const std::vector<Account>& accounts);
/// Counts operators of the program that cannot be timed, too.
ComparedCalls compared_calls(const RunRecord& record, const Model& program,
                             const std::vector<Account>& accounts);

/// Returns a sentence for each record that has calls without an account, and says which times are accounted
/// for.
std::vector<std::string> notes_on(const RunRecord& first, const RunRecord& second,
                                  const std::vector<Account>& accounts);

/// nullopt for one operation: its account says all.
std::optional<AccountTotal> total_of(const std::vector<Account>& accounts);

/// Returns how much longer all calls of the operation take in the second record.
Nanoseconds change_of_all(const Account& account);

/// Name of the part of the clock at which the device computes.
inline constexpr const char* kClock = "clock";
/// Source of a part that changes the time by the clock alone, whose part accounts for it.
inline constexpr const char* kByTheClock = "acts by the clock, whose part accounts for it";

/// Returns the network's name for the operation, or the operation as text.
const std::string& name_of(const Account& account);
/// Sorts by the change of the whole time: each change times the number of calls.
std::vector<const Account*> largest_change_first(const std::vector<Account>& accounts);

/// Returns sentences, the most important first: the difference of all calls, and which operations make it up;
/// what accounts for it, what remains; then the same of the operations that changed most.
std::vector<std::string> conclusions_of(const std::vector<Account>& accounts,
                                        const std::optional<ComparedCalls>& calls = std::nullopt);

}  // namespace jitterscope::explain
