// `--counters`, and `--counters NAME,NAME`: a flag that may have a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace jitterscope::cli {

/// What is typed, with names of counters joined to the flag before them: `--counters a__b.sum` is
/// `--counters=a__b.sum`. A parser cannot tell them from the operation in `run --counters add:count=1Mi`; we
/// can, as every counter has a double underscore in its name, and no operation has.
std::vector<std::string> with_counter_names(const std::vector<std::string>& words);

/// The flag's value: empty where it is not there, "true" where it has none. Nothing: no counters; an empty
/// list: the default set. Throws UsageError for an empty name.
std::optional<std::vector<std::string>> asked_counters(const std::string& flag);

}  // namespace jitterscope::cli
