// Replaces cuDNN's operations if the build found no cudnn.h.
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::cuda {
namespace {

constexpr const char* kProblem = "this jitterscope was built without cuDNN's headers";

[[noreturn]] void throw_absent(const Operation& operation) {
  throw MissingError(std::string(kProblem) + ", so it has no " + std::string(operation.kind()) +
                     " on a GPU; install cudnn.h (version 9) and build anew");
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_convolution(const Context&, const Operation& operation,
                                                       const InputData&) {
  throw_absent(operation);
}

std::unique_ptr<PreparedOperation> prepare_fused_convolution(const Context&, const Operation& operation,
                                                             const InputData&) {
  throw_absent(operation);
}

std::unique_ptr<PreparedOperation> prepare_attention(const Context&, const Operation& operation,
                                                     const InputData&) {
  throw_absent(operation);
}

std::unique_ptr<PreparedOperation> prepare_batch_norm(const Context& context, const Operation& operation,
                                                      const InputData& data) {
  if (pytorch_uses_cudnn(std::get<BatchNorm>(operation.parameters()))) throw_absent(operation);
  return prepare_builtin(context, operation, data);
}

std::vector<EngineListing> list_convolution_engines(const Context&, const Operation&) { return {}; }

LibraryInfo cudnn_library() { return {.name = "cudnn", .version = "", .path = "", .problem = kProblem}; }

}  // namespace jitterscope::cuda
