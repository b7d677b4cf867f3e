#include "worker/worker_plan.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "jitterscope/error.hpp"
#include "measure/schedule.hpp"
#include "record/describe_measurement.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"
#include "worker/plan_format.hpp"

namespace jitterscope {

inline Trial blank(std::type_identity<Trial>) { return {Operation(Elementwise{}), {}}; }
inline Operation blank(std::type_identity<Operation>) { return Operation(Elementwise{}); }

inline Layer blank(std::type_identity<Layer>) { return {{}, Operation(Elementwise{})}; }
inline StepExchange blank(std::type_identity<StepExchange>) { return {Operation(Elementwise{})}; }

template <class Fields>
void describe(Fields& fields, Described<Fields, Layer>& layer) {
  fields("operation", layer.operation);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, OperandSource>& source) {
  fields("operand", source.operand);
  fields("call", source.call);
  fields("source_operand", source.source_operand);
  fields("offset_bytes", source.offset);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Call>& call) {
  fields("layer", call.layer);
  fields("name", call.name);
  fields("inputs", call.inputs);
  fields("unwritten", call.unwritten);
}

// The part of a network that a worker needs: its calls and their operands.
template <class Fields>
void describe(Fields& fields, Described<Fields, Model>& network) {
  fields("name", network.name);
  fields("layers", network.layers);
  fields("calls", network.calls);
  if constexpr (!Fields::kWrites) {
    for (std::size_t c = 0; c < network.calls.size(); ++c) {
      const Call& call = network.calls[c];
      const std::string place = fmt::format("calls[{}]", c);
      fields.check(call.layer < network.layers.size(), place + ".layer", "an index of layers");
      for (const OperandSource& source : call.inputs)
        fields.check(source.call < c, place + ".inputs", "operands of earlier calls");
    }
  }
}

template <class Fields>
void describe(Fields& fields, Described<Fields, StepExchange>& exchange) {
  fields.require("collective");
  fields("collective", exchange.collective);
  fields("after", exchange.after);
  fields("before", exchange.before);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CallRange>& range) {
  fields("begin", range.begin);
  fields("end", range.end);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ParallelStep>& step) {
  fields("name", step.name);
  fields("network", step.network);
  fields("order", step.order);
  fields("exchanges", step.exchanges);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Trial>& trial) {
  if constexpr (Fields::kWrites) {
    if (const ParallelStep* step = trial.subject.step()) {
      fields("step", *step);
    } else if (trial.operation() != nullptr) {
      fields("operation", *trial.operation());
    } else {
      throw UsageError("plan: another process cannot call a function of this one");
    }
  } else if (fields.has("step")) {
    ParallelStep step;
    fields("step", step);
    trial.subject = TrialSubject(std::move(step));
  } else {
    fields.require("operation");
    Operation operation = *trial.operation();
    fields("operation", operation);
    trial.subject = operation;
  }
  fields("options", trial.options);
  fields("verify", trial.verify);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ArrivalOptions>& arrivals) {
  fields("operations", arrivals.operations);
  fields("work_seconds", arrivals.work);
  fields("rounds", arrivals.rounds);
  fields("delay_seconds", arrivals.delays);
  fields("delayed_rounds", arrivals.delayed_rounds);
  fields("seed", arrivals.seed);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, WorkerPlan>& plan) {
  fields.require("device");
  fields("device", plan.device);
  fields("device_seed", plan.device_seed);
  fields("parent", plan.parent);
  fields.where(plan.is_in_step, "is_in_step", plan.is_in_step);
  fields.where(plan.is_in_step, "rank", plan.rank);
  fields.where(plan.is_in_step, "ranks", plan.ranks);
  fields.require("groups");
  fields("groups", plan.plan.groups);
  fields("verify", plan.plan.verify);
  fields("ceilings", plan.plan.ceilings);
  fields("trace_kernels", plan.plan.trace_kernels);
  fields("arrivals", plan.plan.arrivals);
  fields("links", plan.plan.links);
  fields("in_sequence", plan.plan.in_sequence);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CallableRequest>& trial) {
  fields("callable", trial.callable);
  fields("options", trial.options);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CallablePlan>& plan) {
  fields("device", plan.device);
  fields("parent", plan.parent);
  fields("groups", plan.groups);
}

namespace {

constexpr std::string_view kPlanFormat = "jitterscope-plan", kErrorFormat = "jitterscope-error";
constexpr std::int64_t kPlanVersion = 1;
const std::string kPlanName = "plan";

struct WrittenError {
  ExitCode exit_code = ExitCode::failed;
  std::string message;
};

template <class Fields>
void describe(Fields& fields, Described<Fields, WrittenError>& error) {
  fields("exit_code", error.exit_code);
  fields("message", error.message);
}

// Checked before anything else is read: the rest of another program's plan has no meaning.
void check_envelope(const Json& document) {
  if (!has_format(document, kPlanFormat)) {
    throw UsageError(
        fmt::format("plan: its format is not {}; `run --processes` and `compare` make plans", kPlanFormat));
  }
  const auto version = document.find("version");
  if (version == document.end() || !version->is_number_integer() ||
      version->get<std::int64_t>() != kPlanVersion) {
    throw UsageError(
        fmt::format("plan: of another version than {}: parent and worker must be one program", kPlanVersion));
  }
}

// Measuring would refuse the same options; this error names their place in the plan.
void check_options_of(const Trial& trial, std::size_t group, std::size_t number) {
  try {
    check_options(trial.options);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("plan: groups[{}][{}].options: {}", group, number, error.what()));
  }
}

void check_plan(const WorkerPlan& plan) {
  if (plan.plan.groups.empty()) throw UsageError("plan: groups is empty: there is nothing to time");
  for (std::size_t number = 0; number < plan.plan.groups.size(); ++number) {
    const std::vector<Trial>& group = plan.plan.groups[number];
    if (group.empty()) throw UsageError("plan: a group has no trial");
    for (const Trial& trial : group) {
      check_options_of(trial, number, static_cast<std::size_t>(&trial - group.data()));
      const bool alike = trial.options.caches.size() == group.front().options.caches.size() &&
                         trial.options.loads == plan.plan.groups.front().front().options.loads;
      if (!alike) throw UsageError("plan: trials of a group have different numbers of cache states or loads");
    }
  }
}

}  // namespace

[[noreturn]] static void throw_as(ExitCode code, const std::string& message) {
  switch (code) {
    case ExitCode::usage: throw UsageError(message);
    case ExitCode::missing: throw MissingError(message);
    case ExitCode::interrupted: throw InterruptedError();
    default: throw FailedError(message);
  }
}

void throw_as_kind(const Error& error) { throw_as(error.exit_code(), error.what()); }

std::string write_plan(const WorkerPlan& plan) { return written_plan(kPlanFormat, kPlanVersion, plan); }
std::string write_plan(const CallablePlan& plan) { return written_plan(kPlanFormat, kPlanVersion, plan); }

WorkerPlan read_plan(std::string_view text) {
  const Json document = parse_document(text, kPlanName);
  check_envelope(document);
  auto plan = read_value<WorkerPlan>(document, kPlanName);
  check_plan(plan);
  return plan;
}

std::string write_error(const Error& error) {
  Json document = {{"format", kErrorFormat}};
  document.update(write_value(WrittenError{error.exit_code(), error.what()}));
  return document.dump() + '\n';
}

void rethrow_written_error(std::string_view text) {
  const Json document = Json::parse(text, nullptr, false);
  if (!has_format(document, kErrorFormat)) return;
  const auto error = read_value<WrittenError>(document, "error");
  throw_as(error.exit_code, error.message);
}

}  // namespace jitterscope
