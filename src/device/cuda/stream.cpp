#include "device/cuda/stream.hpp"

#include "device/cuda/driver.hpp"

namespace jitterscope::cuda {

Stream::Stream(StreamPriority priority) {
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest), "asking for the priorities of streams");
  check(driver().cuStreamCreateWithPriority(&handle_, CU_STREAM_NON_BLOCKING,
                                            priority == StreamPriority::highest ? greatest : least),
        "making a stream");
}

Stream::~Stream() {
  if (handle_ != nullptr) driver().cuStreamDestroy(handle_);
}

OrderEvent::OrderEvent(unsigned flags) {
  check(driver().cuEventCreate(&handle_, CU_EVENT_DISABLE_TIMING | flags), "making an event");
}

OrderEvent::~OrderEvent() {
  if (handle_ != nullptr) driver().cuEventDestroy(handle_);
}

void OrderEvent::record(CUstream stream) const {
  check(driver().cuEventRecord(handle_, stream), "recording an event");
}

void OrderEvent::hold(CUstream stream) const {
  check(driver().cuStreamWaitEvent(stream, handle_, 0), "making a stream wait for another");
}

}  // namespace jitterscope::cuda
