#include "measure/measure_operation.hpp"

#include <utility>

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

struct PreparedWork {
  const Operation* operation;
  std::vector<IterationRun> iterations;
  Nanoseconds prepare_time;
  RotatingWorkload workload;
};

PreparedWork prepare(Session& session, const Operation& operation, const MeasureOptions& options) {
  Device& device = session.device();
  const Operation resolved = resolve_engine(session, operation, options);
  // First of all, so that the first loop's first launch is the process's first of this operation.
  std::vector<IterationRun> iterations = run_iterations(session, resolved, options);
  const Nanoseconds start = device.host_time();
  RotatingWorkload workload = prepare_sets(device, resolved, options, kAnyNumberOfLaunches);
  return {&operation, std::move(iterations), device.host_time() - start, std::move(workload)};
}

// What is to be said beside the times, and what can only be asked after them.
void complete(Session& session, PreparedWork& work, const MeasureOptions& options, bool with_verification,
              Result& result) {
  PreparedOperation& prepared = work.workload.first();
  result.iterations = std::move(work.iterations);
  result.prepare_time = work.prepare_time;
  result.provider = prepared.provider();
  result.algorithm = prepared.algorithm();
  result.stand_in = prepared.is_stand_in();
  result.workspace = prepared.workspace();
  result.flops = work.operation->flops();
  result.bytes = work.operation->bytes();
  // After the times: a tracer slows what runs beside it, and no operand is read back before the first call.
  if (options.kernels) trace_kernels(session, work.workload, result);
  if (with_verification && !work.operation->operands().empty()) {
    result.verification = verify(session.queue(), prepared);
  }
}

}  // namespace

Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification) {
  PreparedWork work = prepare(session, operation, options);
  Result result = session.measure(work.workload, operation.text(), options);
  complete(session, work, options, with_verification, result);
  return result;
}

std::size_t measured_at_once(const MeasureOptions& options) {
  // ResNet-50's 117 operations idle for 68 of 106 s one by one, and for 40 s in threes (H200).
  // Sustained loads have no idle, and a loop's first launch is to be the process's first.
  const bool shares = options.loads == std::vector{Load::burst} && options.iterations.empty();
  return shares ? 3 : 1;
}

namespace {

bool is_interrupted(const MeasureOptions& options) { return options.interrupted && options.interrupted(); }

template <class Step>
bool succeeds(const Step& step, Outcome& outcome) {
  try {
    step();
    return true;
  } catch (const Error&) {
    outcome = {Result(), std::current_exception()};
    return false;
  }
}

// Returns those that are to be measured alone: what does not fit beside the others, and all of them where one
// fails while it is measured, as nobody knows which.
std::vector<std::size_t> measure_at_once(Session& session, const std::vector<Operation>& operations,
                                         const MeasureOptions& options, bool with_verification,
                                         std::vector<Outcome>& outcomes) {
  std::vector<std::size_t> members, alone;
  std::vector<PreparedWork> works;
  works.reserve(operations.size());
  for (std::size_t i = 0; i < operations.size() && !is_interrupted(options); ++i) {
    const bool others_are_there = !works.empty();
    if (succeeds([&] { works.push_back(prepare(session, operations[i], options)); }, outcomes[i])) {
      members.push_back(i);
    } else if (others_are_there) {
      alone.push_back(i);
    }
  }
  std::vector<NamedWorkload> workloads;
  for (PreparedWork& work : works) workloads.push_back({work.workload, work.operation->text()});
  std::vector<Result> results;
  Outcome together;
  if (!succeeds([&] { results = session.measure(workloads, options); }, together)) {
    if (members.size() == 1) outcomes[members.front()] = together;
    if (members.size() > 1) alone.insert(alone.begin(), members.begin(), members.end());
    return alone;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Outcome& outcome = outcomes[members[i]];
    outcome.result = std::move(results[i]);
    succeeds([&] { complete(session, works[i], options, with_verification, outcome.result); }, outcome);
  }
  return alone;
}

}  // namespace

std::vector<Outcome> measure_operations(Session& session, const std::vector<Operation>& operations,
                                        const MeasureOptions& options, bool with_verification) {
  std::vector<Outcome> outcomes(operations.size());
  for (const std::size_t i : measure_at_once(session, operations, options, with_verification, outcomes)) {
    outcomes[i] = {};
    if (is_interrupted(options)) break;
    const auto measure_alone = [&] {
      outcomes[i].result = measure_operation(session, operations[i], options, with_verification);
    };
    succeeds(measure_alone, outcomes[i]);
  }
  return outcomes;
}

}  // namespace jitterscope
