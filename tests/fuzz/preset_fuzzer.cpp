// Any file is a preset that a GPU can run with, or a UsageError.
#include <cstddef>
#include <cstdlib>

#include "jitterscope/error.hpp"
#include "physics/machine.hpp"
#include "physics/preset.hpp"

using namespace jitterscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const physics::Parameters parameters =
        physics::parse_preset({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
    physics::Machine machine(parameters, 1);
    physics::KernelWork work;
    work.compute = Cycles(1000);
    const Bytes bytes(1000);
    work.accesses = {{machine.allocate(bytes), bytes, true}};
    const physics::Execution execution = machine.run(work, Nanoseconds(0));
    machine.rest_until(machine.free_at() + milliseconds(10));
    if (!(execution.end >= execution.start)) std::abort();
  } catch (const UsageError&) {
  }
  return 0;
}
