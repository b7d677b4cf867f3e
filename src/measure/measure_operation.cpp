#include "measure/measure_operation.hpp"

#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/iterations.hpp"
#include "measure/launch_kernels.hpp"
#include "measure/operand_sets.hpp"
#include "measure/verify.hpp"

namespace jitterscope {
namespace {

// The times are there already: a tracer that is missing or loses records must not cost them.
void trace_kernels(Session& session, Workload& workload, Result& result) {
  try {
    result.kernels = trace_launch(session.device(), session.queue(), workload);
  } catch (const MissingError& error) {
    result.without_kernels = Shortfall{error.exit_code(), error.what()};
  } catch (const FailedError& error) {
    result.without_kernels = Shortfall{error.exit_code(), error.what()};
  }
}

}  // namespace

Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification) {
  Device& device = session.device();
  const Operation resolved = resolve_engine(session, operation, options);
  // First of all, so that the first loop's first launch is the process's first of this operation.
  std::vector<IterationRun> iterations = run_iterations(session, resolved, options);
  const Nanoseconds start = device.host_time();
  RotatingWorkload workload = prepare_sets(device, resolved, options, kAnyNumberOfLaunches);
  const Nanoseconds prepare_time = device.host_time() - start;
  Result result = session.measure(workload, operation.text(), options);
  PreparedOperation& prepared = workload.first();
  result.iterations = std::move(iterations);
  result.prepare_time = prepare_time;
  result.provider = prepared.provider();
  result.algorithm = prepared.algorithm();
  result.stand_in = prepared.is_stand_in();
  result.workspace = prepared.workspace();
  result.flops = operation.flops();
  result.bytes = operation.bytes();
  // After the times: a tracer slows what runs beside it, and no operand is read back before the first call.
  if (options.kernels) trace_kernels(session, workload, result);
  if (with_verification && !operation.operands().empty()) {
    result.verification = verify(session.queue(), prepared);
  }
  return result;
}

}  // namespace jitterscope
