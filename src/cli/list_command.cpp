#include "cli/commands.hpp"
namespace jitterscope::cli { void add_list_command(CLI::App&, Invocation&) {} }
