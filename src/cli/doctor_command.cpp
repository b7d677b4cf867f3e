#include "cli/commands.hpp"
namespace jitterscope::cli { void add_doctor_command(CLI::App&, Invocation&) {} }
