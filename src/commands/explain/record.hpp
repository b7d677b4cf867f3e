// Writes, reads and prints the record of `explain`: why an operation's time varies or differs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/account.hpp"
#include "explain/explain.hpp"
#include "explain/explanation.hpp"
#include "explain/factors.hpp"
#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct ExplainRecord {
  Environment environment;
  DeviceDescription device;
  std::vector<std::string> conclusions;  ///< sentences that a person can act on, the most important first
  std::optional<explain::Explanation> study;  ///< for one operation; empty if two records were compared
  std::int64_t calls = 1;                     ///< number of calls of the operation in its network
  std::vector<explain::Account> accounts;     ///< for two records, operation by operation
  std::optional<explain::ComparedCalls> compared_calls;  ///< nullopt in records of earlier versions
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// Studies a subject, and adds to the record what was found, what follows from it, and its notes. Throws as
/// explain does.
void run_study(Session& session, const TrialSubject& subject, const explain::ExplainOptions& options,
               ExplainRecord& record);

std::string write_record(const ExplainRecord& record);
Text record_text(const ExplainRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const ExplainRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, ExplainRecord& record);

// Below: the printed study, conclusions first.

/// Shows every dose of every factor with details, else only the dose that the factor's verdict is about.
Text explanation_table(const ExplainRecord& record, const Page& page);

/// Returns the operation, and says that it is one of several calls if its network has several.
std::string one_of_calls(const std::string& operation, std::int64_t calls);

/// Says which factors a study would switch, and which not and why.
std::string factors_text(const std::vector<explain::Factor>& factors, const std::string& subject,
                         const std::string& duration, std::size_t width);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ExplainRecord& record);
/// Draws the way from the first time to the second: of all operations, then of those that changed most.
std::vector<Plot> plots_of_accounts(const std::vector<explain::Account>& accounts);

}  // namespace jitterscope::report
