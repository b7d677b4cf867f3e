// Replaces the kernel trace if the build found no cupti.h.
#include "device/cuda/cupti/kernel_trace.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr const char* kProblem = "this jitterscope was built without CUPTI's headers";

}  // namespace

KernelTrace::KernelTrace() {
  throw MissingError(std::string(kProblem) +
                     ", so it cannot record kernels; install cupti.h of the CUDA toolkit and build anew");
}
KernelTrace::~KernelTrace() = default;
bool KernelTrace::is_recording() { return false; }
void KernelTrace::begin_launch(std::uint64_t) {}
void KernelTrace::end_launch() {}
std::vector<KernelTime> KernelTrace::stop() { return {}; }

LibraryInfo cupti_library() { return {.name = "cupti", .version = "", .path = "", .problem = kProblem}; }

}  // namespace jitterscope::cuda
