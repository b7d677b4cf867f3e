// A queue on a stream of its own, whose work runs beside that of the context's stream.
#pragma once

#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/stream.hpp"

namespace jitterscope::cuda {

class CompanionStream {
 protected:
  explicit CompanionStream(const Context& context) : stream_(made_in(context)) {}
  CUstream own_stream() const { return stream_.handle(); }

 private:
  static Stream made_in(const Context& context) {
    context.make_current();
    return Stream();
  }
  Stream stream_;
};

/// The stream is made before the queue, and destroyed after it, which leaves the context current.
class CompanionQueue final : private CompanionStream, public CudaQueue {
 public:
  explicit CompanionQueue(const Context& context)
      : CompanionStream(context), CudaQueue(context, own_stream()) {}
};

}  // namespace jitterscope::cuda
