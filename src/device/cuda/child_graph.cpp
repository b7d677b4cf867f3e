#include "device/cuda/child_graph.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// As CUDA 11.3 has them. The headers of CUDA 13 declare newer ones by these names, with parameters for edges
// that no node of ours has; every driver still exports these.
using GetCaptureInfo = CUresult(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                                std::size_t*);
using UpdateDependencies = CUresult(CUstream, CUgraphNode*, std::size_t, unsigned);
using AddChildGraph = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUgraph);

template <class Function>
Function* find(const char* name) {
  if (Function* function = driver().library.find_function<Function>(name)) return function;
  throw MissingError(
      fmt::format("the NVIDIA driver is too old for recordings: it has no {}; install 470 or newer", name));
}

}  // namespace

void add_to_capture(CUstream stream, CUgraph graph) {
  static GetCaptureInfo* const get_info = find<GetCaptureInfo>("cuStreamGetCaptureInfo_v2");
  static UpdateDependencies* const update = find<UpdateDependencies>("cuStreamUpdateCaptureDependencies");
  static AddChildGraph* const add = find<AddChildGraph>("cuGraphAddChildGraphNode");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph whole = nullptr;
  const CUgraphNode* before = nullptr;
  std::size_t count = 0;
  check(get_info(stream, &status, nullptr, &whole, &before, &count), "asking for a recording's end");
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    throw FailedError("the recording was ended by what it recorded");
  CUgraphNode node = nullptr;
  check(add(&node, whole, before, count, graph), "adding recorded work to a recording");
  check(update(stream, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES), "going on behind recorded work");
}

}  // namespace jitterscope::cuda
