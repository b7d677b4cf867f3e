// Any text is what it is read as, or a UsageError; what is written of it is read again the same.
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "commands/advise/record.hpp"
#include "commands/compare/record.hpp"
#include "fuzzers.hpp"
#include "group/control_plane.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "operation/model.hpp"
#include "physics/machine.hpp"
#include "physics/preset.hpp"
#include "record/envelope.hpp"
#include "record/run_file.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {
namespace {

void check_operation(const Operation& operation) {
  if (!(Operation::parse(operation.text()) == operation)) std::abort();
  if (!(operation.flops() >= 0.0) || operation.bytes() < Bytes(0)) std::abort();
}

template <class Record>
void read_and_print(const Json& document) {
  Record record, again;
  read_fields(document, "fuzz.json", record);
  const std::string text = write_record(record);
  read_fields(Json::parse(text), "written.json", again);
  if (write_record(again) != text) std::abort();
  record_text(record, {});
  record_text(record, {.width = 60, .details = true, .top = 1});
}

void read_run(std::string_view file) {
  const std::string text = write_record(read_run_record(file, "fuzz.json"));
  if (write_record(read_run_record(text, "written.json")) != text) std::abort();
}

}  // namespace

// An operation or a sweep.
void fuzz_operation(std::string_view input) {
  try {
    check_operation(Operation::parse(input));
  } catch (const UsageError&) {
  }
  try {
    const std::vector<Operation> operations = parse_sweep(input);
    if (operations.empty() || operations.size() > 10'000) std::abort();
    check_operation(operations.front());
    check_operation(operations.back());
  } catch (const UsageError&) {
  }
}

void fuzz_model(std::string_view input) {
  try {
    const Model model = read_model(input, "fuzz.json");
    if (model.name.empty() || model.layers.empty()) std::abort();
    for (const Layer& layer : model.layers) {
      if (layer.count() < 1) std::abort();
    }
  } catch (const UsageError&) {
  }
}

// A preset that a GPU can run with.
void fuzz_preset(std::string_view input) {
  try {
    const physics::Parameters parameters = physics::parse_preset(input, "fuzz.toml");
    physics::Machine machine(parameters, 1);
    physics::KernelWork work;
    work.compute = Cycles(1000);
    const Bytes bytes(1000);
    work.accesses = {{machine.allocate(bytes), bytes, true}};
    const physics::Execution execution = machine.run(work, Nanoseconds(0));
    machine.rest_until(machine.free_at() + milliseconds(10));
    if (!(execution.end >= execution.start)) std::abort();
  } catch (const UsageError&) {
  }
}

// A worker's plan; and no text but a written error is one.
void fuzz_plan(std::string_view input) {
  try {
    const WorkerPlan plan = read_plan(input);
    if (plan.plan.groups.empty() || plan.plan.groups.front().empty()) std::abort();
    const std::string written = write_plan(plan);
    if (write_plan(read_plan(written)) != written) std::abort();
  } catch (const UsageError&) {
  }
  try {
    rethrow_written_error(input);
  } catch (const Error&) {
  }
}

// A message from one rank to another, or the first one, with which a rank joins.
void fuzz_rank_message(std::string_view input) {
  try {
    const std::string written = group::write_message(group::read_message(input));
    if (written.find('\n') != std::string::npos ||
        group::write_message(group::read_message(written)) != written)
      std::abort();
  } catch (const UsageError&) {
  }
  try {
    const std::string written = group::write_hello(group::read_hello(input));
    if (written.find('\n') != std::string::npos || group::write_hello(group::read_hello(written)) != written)
      std::abort();
  } catch (const UsageError&) {
  }
}

// A record of the commands whose tables take numbers of a list's elements from the file: run, compare with
// study and gate, advise.
void fuzz_record(std::string_view input) {
  try {
    read_run(input);
  } catch (const UsageError&) {
  }
  try {
    const Json document = parse_document(input, "fuzz.json");
    const std::string command = command_of(document, "fuzz.json");
    if (command == "compare") read_and_print<ComparisonRecord>(document);
    if (command == "advise") read_and_print<study::AdviceRecord>(document);
  } catch (const UsageError&) {
  }
}

}  // namespace jitterscope
