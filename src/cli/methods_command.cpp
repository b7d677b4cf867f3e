#include "cli/commands.hpp"
namespace jitterscope::cli { void add_methods_command(CLI::App&, Invocation&) {} }
