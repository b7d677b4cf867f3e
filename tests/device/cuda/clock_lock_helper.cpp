// Locks a clock and ends in the way that it is told; also the guardian, as the command line tool is.
//   clock_lock_helper lock REQUEST return|throw|wait
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "device/cuda/clock_lock.hpp"
#include "jitterscope/error.hpp"
#include "support/stand_in_nvml.hpp"

using namespace jitterscope;

namespace {

void lock_and_end(const char* request, const std::string& end) {
  const auto lock = cuda::lock_gpu_clock(stand_in::kUuid, request);
  std::printf("locked %.0f\n", lock->frequency().value() * 1e-6);
  std::fflush(stdout);
  if (end == "throw") throw std::runtime_error("an exception");
  while (end == "wait") pause();
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 4 && std::strcmp(arguments[1], cuda::kGuardianArgument) == 0) {
    return cuda::run_clock_guardian(arguments[2], std::atoi(arguments[3]));
  }
  if (count != 4) return 64;
  const char* guardian = std::getenv("HELPER_GUARDIAN");
  cuda::set_guardian_executable(
      guardian != nullptr ? guardian : std::filesystem::read_symlink("/proc/self/exe").string());
  try {
    lock_and_end(arguments[2], arguments[3]);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 70;
  }
  return 0;
}
