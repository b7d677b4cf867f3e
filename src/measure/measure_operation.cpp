#include "measure/measure_operation.hpp"

#include "measure/verify.hpp"

namespace jitterscope {

Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification) {
  Device& device = session.device();
  const Nanoseconds start = device.host_time();
  const auto prepared = device.prepare(operation, {.kind = options.data, .seed = options.seed});
  const Nanoseconds prepare_time = device.host_time() - start;
  Result result = session.measure(*prepared, operation.text(), options);
  result.prepare_time = prepare_time;
  result.provider = prepared->provider();
  result.algorithm = prepared->algorithm();
  result.workspace = prepared->workspace();
  result.flops = operation.flops();
  result.bytes = operation.bytes();
  // After the times, so that the first call is the operation's own and no operand was read back before it.
  if (with_verification && !operation.operands().empty())
    result.verification = verify(session.queue(), *prepared);
  return result;
}

}  // namespace jitterscope
