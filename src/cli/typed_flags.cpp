#include "cli/typed_flags.hpp"

#include <algorithm>

namespace jitterscope::cli {

void refuse_typed_flags(const CLI::App& command, const Invocation& invocation,
                        const std::vector<std::string>& taken, const std::string& why) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool is_taken = !name.starts_with("--") || std::ranges::find(taken, name) != taken.end();
    const auto& of_settings = invocation.options_of_settings;
    const bool is_typed = option->count() > 0 && std::ranges::find(of_settings, option) == of_settings.end();
    if (!is_taken && is_typed) throw UsageError(name + ": " + why);
  }
}

}  // namespace jitterscope::cli
