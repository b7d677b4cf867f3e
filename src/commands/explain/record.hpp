// What a study found out about one operation, as it stands in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explain/account.hpp"
#include "explain/explain.hpp"
#include "explain/explanation.hpp"
#include "explain/factors.hpp"
#include "measure/run_record.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct ExplainRecord {
  Environment environment;
  DeviceDescription device;
  std::vector<std::string> conclusions;       ///< sentences for a person to act on, the most important first
  std::optional<explain::Explanation> study;  ///< of one operation; or
  std::int64_t calls = 1;                     ///< of that operation in the network that it was picked from
  std::vector<explain::Account> accounts;     ///< of two records, operation by operation
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// Studies a subject, and adds to the record what was found, what follows from it, and its notes. Throws as
/// explain does.
void run_study(Session& session, const TrialSubject& subject, const explain::ExplainOptions& options,
               ExplainRecord& record);

std::string write_record(const ExplainRecord& record);
std::string record_text(const ExplainRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, ExplainRecord& record);

// What a study found out, for people: what follows first.

/// With details every dose of every factor, else the one that its verdict is about.
std::string explanation_table(const ExplainRecord& record, const Page& page);

/// The operation, and that it is one of several calls where a network has them.
std::string one_of_calls(const std::string& operation, std::int64_t calls);

/// What a study would switch, and what it would not and why.
std::string factors_text(const std::vector<explain::Factor>& factors, const std::string& subject,
                         Nanoseconds time_limit, std::size_t width);

// What each circumstance accounts for in the difference of two records.

/// Of one operation a row for each part; of several a row for each operation, what changes most first. Empty
/// for none.
std::string accounts_section(const std::vector<explain::Account>& accounts, const Page& page);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ExplainRecord& record);

}  // namespace jitterscope::report
