// Any file is a database of Nsight Systems that can be shown, or a UsageError.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "timeline/exports.hpp"
#include "timeline_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // SQLite opens no file without a name.
  const std::filesystem::path file = "/dev/shm/nsight_systems_" + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    jitterscope::check_timeline(jitterscope::timeline::read_nsight_systems(file));
  } catch (const jitterscope::UsageError&) {
  }
  std::filesystem::remove(file);
  return 0;
}
