// Reads any line as what ranks tell each other: it is refused, or it is written and read back as the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "group/control_plane.hpp"
#include "jitterscope/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace jitterscope;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    const std::string written = group::write_message(group::read_message(line));
    if (written.find('\n') != std::string::npos ||
        group::write_message(group::read_message(written)) != written)
      std::abort();
  } catch (const UsageError&) {
  }
  try {
    const std::string written = group::write_hello(group::read_hello(line));
    if (written.find('\n') != std::string::npos || group::write_hello(group::read_hello(written)) != written)
      std::abort();
  } catch (const UsageError&) {
  }
  return 0;
}
