// What the reader of the command line refuses, as one sentence that says what to type.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/invocation.hpp"

namespace jitterscope::cli {

/// `arguments`: as typed, without the program's name.
std::string explained(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments);

/// Whether a word stands where a command is wanted and is none: its --help would be that of another thing.
bool has_wrong_command(const CLI::App& app, const std::vector<std::string>& arguments);

/// Names of the commands that --help shows, and of the options of one of them, without their dashes.
std::vector<std::string> command_names(const CLI::App& app);
std::vector<std::string> option_names(const CLI::App& command);

// Flags that were typed where they say nothing.

/// Throws UsageError for a flag that was typed and is none of `taken`, as --json, with `why`. What settings
/// give is for other calls, and passed over.
void refuse_typed_flags(const CLI::App& command, const Invocation& invocation,
                        const std::vector<std::string>& taken, const std::string& why);

// Names of files that a command writes.

/// Every flag of every command that writes a file refuses a name whose ending says that it holds something
/// else, as --html x.pdf and --json x.csv.
void check_file_endings(CLI::App& app);

// `--counters`, and `--counters NAME,NAME`: a flag that may have a value.

/// What is typed, with names of counters joined to the flag before them: `--counters a__b.sum` is
/// `--counters=a__b.sum`. A parser cannot tell them from the operation in `run --counters add:count=1Mi`; we
/// can, as every counter has a double underscore in its name, and no operation has.
std::vector<std::string> with_counter_names(const std::vector<std::string>& words);

/// The flag's value: empty where it is not there, "true" where it has none. Nothing: no counters; an empty
/// list: the default set. Throws UsageError for an empty name.
std::optional<std::vector<std::string>> asked_counters(const std::string& flag);

}  // namespace jitterscope::cli
