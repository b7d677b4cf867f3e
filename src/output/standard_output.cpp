#include "output/standard_output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

int first_error = 0;

void keep_error(bool arrived) {
  if (!arrived && first_error == 0) first_error = errno != 0 ? errno : EIO;
}

}  // namespace

// A buffer that is flushed when the process ends has nobody left to tell.
void print_result(std::string_view text) {
  errno = 0;
  const bool taken = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  keep_error(taken && std::fflush(stdout) == 0);
}

void check_standard_output() {
  print_result("");  // flushes; no data is a null pointer, which fwrite may not be given
  if (first_error == 0 || first_error == EPIPE) return;
  throw FailedError(
      fmt::format("standard output cannot be written ({}): what was printed there is lost, in part or whole; "
                  "print to another place, or write a file with --json where the command has it",
                  std::strerror(first_error)));
}

}  // namespace jitterscope
