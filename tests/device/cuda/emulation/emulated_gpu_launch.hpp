// The emulated GPU for code that is no kernel.
#pragma once

namespace emulation {

/// Runs a kernel by its name, as cuLaunchKernel does. Throws std::out_of_range for a name that is none, or a
/// grid that the kernel cannot have.
void launch(const char* name, unsigned blocks, unsigned threads, void** arguments);

}  // namespace emulation
