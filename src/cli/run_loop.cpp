#include "cli/run_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/interruption.hpp"
#include "measure/ceilings.hpp"
#include "measure/engine_choice.hpp"
#include "measure/measure_operation.hpp"
#include "measure/sequence.hpp"

namespace jitterscope::cli {
namespace {

constexpr int kFailuresInARow = 3;

std::vector<DataType> multiplied_types(const WorkList& work) {
  std::set<DataType> types;
  for (const WorkItem& item : work.items) {
    const auto& parameters = item.operation.parameters();
    const bool multiplies =
        std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
        std::holds_alternative<Linear>(parameters) || std::holds_alternative<Attention>(parameters);
    if (multiplies) types.insert(item.operation.dtype());
  }
  return {types.begin(), types.end()};
}

bool asks_for_cold(const MeasureOptions& options) {
  return std::any_of(options.caches.begin(), options.caches.end(),
                     [](CacheState state) { return state != CacheState::warm; });
}

bool is_imprecise(const Result& result) {
  return std::any_of(result.measurements.begin(), result.measurements.end(),
                     [](const Measurement& measurement) {
                       return !has_settled(measurement) || !reached_precision(measurement);
                     });
}

class RunLoop {
 public:
  RunLoop(Session& session, const RunRequest& request, RunRecord& record, const StageListener& stage,
          const RecordListener& saved)
      : session_(session), request_(request), record_(record), stage_(stage), saved_(saved) {}

  ExitCode run() {
    prepare_context();
    const FindingContext context = finding_context();
    record_.findings = machine_findings(context);
    const std::size_t at_once = measured_at_once(request_.options), total = request_.work.items.size();
    for (std::size_t i = 0; i < total && !is_interrupted() && failures_in_a_row_ < kFailuresInARow;) {
      const std::size_t end = std::min(total, i + at_once);
      stage_(request_.work.items[i].operation.text(), i + 1, total);
      measure_items(i, end, context);
      i = end;
      saved_(record_);
    }
    if (request_.in_sequence && !is_interrupted()) measure_in_sequence();
    record_.interrupted = is_interrupted();
    return exit_code();
  }

 private:
  void prepare_context() {
    if (asks_for_cold(request_.options) && !is_interrupted()) {
      stage_("proving that eviction evicts", 0, request_.work.items.size());
      cache_proof_ = prove_cold(session_);
    }
    if (request_.ceilings && !is_interrupted()) {
      stage_("measuring this device's ceilings", 0, request_.work.items.size());
      record_.ceilings = measure_ceilings(session_, multiplied_types(request_.work));
    }
  }

  FindingContext finding_context() {
    return {record_.device,
            record_.calibration,
            record_.ceilings,
            session_.device().other_processes(),
            cache_proof_,
            record_.device.id != "cpu",
            request_.work.recorded_cudnn};
  }

  void measure_in_sequence() {
    Model model;
    model.name = request_.work.title;
    for (std::size_t i = 0; i < request_.work.items.size(); ++i) {
      const WorkItem& item = request_.work.items[i];
      // What is compared with its time alone is the engine that had this time.
      const bool was_measured = i < record_.results.size();
      model.layers.push_back(
          {item.layers, was_measured ? as_measured(item.operation, record_.results[i]) : item.operation});
    }
    model.calls = request_.work.calls;
    try {
      record_.sequence = measure_sequence(session_, model, request_.options, stage_);
      const bool any_failed = std::ranges::any_of(
          record_.sequence->calls, [](const SequenceCall& call) { return !call.failure.empty(); });
      if (any_failed && failure_ == ExitCode::done) failure_ = ExitCode::failed;
    } catch (const FailedError& error) {
      record_.notes.push_back(fmt::format("In sequence: {}.", error.what()));
      if (failure_ == ExitCode::done) failure_ = error.exit_code();
    }
  }

  void measure_items(std::size_t begin, std::size_t end, const FindingContext& context) {
    std::vector<Operation> operations;
    for (std::size_t i = begin; i < end; ++i) operations.push_back(request_.work.items[i].operation);
    const std::vector<Outcome> outcomes =
        measure_operations(session_, operations, request_.options, request_.verify);
    for (std::size_t i = begin; i < end && failures_in_a_row_ < kFailuresInARow; ++i) {
      Result result = result_of(request_.work.items[i], outcomes[i - begin]);
      // An interruption before its first round: as if its turn had not come.
      if (i > begin && is_interrupted() && result.failure.empty() && result.measurements.empty()) break;
      if (result.failure.empty()) result.findings = find_all(result, context);
      record_.results.push_back(std::move(result));
    }
  }

  Result result_of(const WorkItem& item, const Outcome& outcome) {
    Result result = outcome.result;
    try {
      if (outcome.error) std::rethrow_exception(outcome.error);
      failures_in_a_row_ = 0;
      if (result.without_kernels && failure_ == ExitCode::done) failure_ = result.without_kernels->exit_code;
    } catch (const Error& error) {
      result.failure = error.what();
      if (failure_ == ExitCode::done) failure_ = error.exit_code();
      failures_in_a_row_ = error.kind() == ErrorKind::failed ? failures_in_a_row_ + 1 : 0;
    }
    result.operation = item.operation.text();
    result.layers = item.layers;
    result.recorded_time = item.recorded_time;
    result.count = std::max<std::int64_t>(1, std::ssize(item.layers));
    return result;
  }

  ExitCode exit_code() const {
    if (record_.interrupted) return ExitCode::interrupted;
    if (failure_ != ExitCode::done) return failure_;
    if (request_.work.is_incomplete) return ExitCode::failed;
    const auto& results = record_.results;
    const bool wrong = std::any_of(results.begin(), results.end(), [](const Result& result) {
      return result.verification && !result.verification->passed;
    });
    if (wrong) return ExitCode::check_failed;
    const bool sequence_is_imprecise = record_.sequence && !reached_precision(*record_.sequence);
    const bool imprecise = sequence_is_imprecise || std::any_of(results.begin(), results.end(), is_imprecise);
    return imprecise ? ExitCode::imprecise : ExitCode::done;
  }

  Session& session_;
  const RunRequest& request_;
  RunRecord& record_;
  const StageListener& stage_;
  const RecordListener& saved_;
  std::optional<CacheProof> cache_proof_;
  ExitCode failure_ = ExitCode::done;
  int failures_in_a_row_ = 0;
};

}  // namespace

ExitCode run_all(Session& session, const RunRequest& request, RunRecord& record, const StageListener& stage,
                 const RecordListener& saved) {
  return RunLoop(session, request, record, stage, saved).run();
}

}  // namespace jitterscope::cli
