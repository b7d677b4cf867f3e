// Stands in where the build found no cudnn.h.
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr const char* kProblem = "this jitterscope was built without cuDNN's headers";

}  // namespace

std::unique_ptr<PreparedOperation> prepare_convolution(const Context&, const Operation&, const InputData&) {
  throw MissingError(std::string(kProblem) +
                     ", so it has no convolutions on a GPU; install cudnn.h (version 9) and build anew");
}

std::vector<EngineListing> list_convolution_engines(const Context&, const Operation&) { return {}; }

LibraryInfo cudnn_library() { return {.name = "cudnn", .version = "", .path = "", .problem = kProblem}; }

}  // namespace jitterscope::cuda
