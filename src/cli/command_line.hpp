// Explains errors of the command line in one sentence that says what to type, and checks flags.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/invocation.hpp"

namespace jitterscope::cli {

/// `arguments` are the typed words without the program's name.
std::string explained(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments);

/// Returns the sentence for a program that stands behind `capture` without --.
std::string without_dashes_before(const CLI::App& command, const std::vector<std::string>& program);

/// Takes the program with its arguments, which stand behind the -- of `capture`, out of the words. They are
/// another's: none of them is a flag or a name of this one.
std::vector<std::string> take_program(std::vector<std::string>& words);

/// True if an unknown word stands in the command's place: --help then would show help for something else.
bool has_wrong_command(const CLI::App& app, const std::vector<std::string>& arguments);

/// Writes --help in lines no wider than the page.
class WrappingFormatter final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
};

/// Returns the names of the commands in --help. option_names returns a command's options without dashes.
std::vector<std::string> command_names(const CLI::App& app);
std::vector<std::string> option_names(const CLI::App& command);

// Below: flags that have no effect where they are typed.

/// Throws UsageError, with `why`, for a typed flag that is not in `taken` (such as --json). Ignores flags
/// from the settings file, which are meant for other calls.
void refuse_typed_flags(const CLI::App& command, const Invocation& invocation,
                        const std::vector<std::string>& taken, const std::string& why);

// Below: names of files that commands write.

/// Makes every flag that writes a file refuse a name with another format's ending, such as --html x.pdf and
/// --json x.csv.
void check_file_endings(CLI::App& app);

// Below: whole numbers.

/// Makes every flag of a whole number refuse all else, as 1.5, 1e3 and a negative seed.
void check_whole_numbers(CLI::App& app);

// Below: `--counters`, `--counters NAME,NAME`: a flag whose value is optional.

/// Joins counter names to the flag before them: `--counters a__b.sum` becomes `--counters=a__b.sum`. A parser
/// cannot tell them from the operation in `run --counters add:count=1Mi`. Here every counter name has a
/// double underscore, and no operation has.
std::vector<std::string> with_counter_names(const std::vector<std::string>& words);

/// Reads the flag's value: "" without the flag, "true" without names. Returns nullopt for no counters, an
/// empty list for the default set. Throws UsageError for an empty name.
std::optional<std::vector<std::string>> asked_counters(const std::string& flag);

}  // namespace jitterscope::cli
