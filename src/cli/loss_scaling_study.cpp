#include "cli/loss_scaling_study.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/interpreter.hpp"
#include "cli/python_process.hpp"
#include "cli/python_subject.hpp"
#include "jitterscope/error.hpp"
#include "measure/environment.hpp"
#include "operation/words.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

std::string callable_of(const std::vector<std::string>& targets) {
  if (targets.empty()) return {};
  if (targets.size() == 1 && are_python(targets)) return targets.front().substr(kPythonPrefix.size());
  throw UsageError(
      fmt::format("{}: the study loss-scaling trains one model: name python:FILE:FUNCTION, whose function "
                  "returns a torch.nn.Module and its loss(model, step), or nothing for ResNet-18",
                  in_quotes(targets.size() == 1 ? targets.front() : targets[1])));
}

DeviceDescription describe_trainer(const std::string& device) {
  DeviceDescription description = open_device(device)->describe();
  if (!description.capabilities.is_simulated) return description;
  throw UsageError(description.id + " is simulated and trains nothing: use --device cpu or --device cuda");
}

// Python writes what it found; the envelope is this program's.
study::LossScalingRecord record_of(const study::LossScalingRecord& envelope, const std::string& output) {
  const nlohmann::json found = nlohmann::json::parse(output, nullptr, false);
  if (!found.is_object()) throw FailedError("the process of Python wrote nothing that can be read");
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(write_record(envelope));
  for (const auto& [key, value] : found.items()) document[key] = value;
  try {
    return std::get<study::LossScalingRecord>(
        read_record(document.dump(), "what the process of Python wrote"));
  } catch (const UsageError& error) {
    throw FailedError(error.what());
  }
}

}  // namespace

std::string training_plan_text(const std::vector<std::string>& targets, const std::string& device) {
  const std::string callable = callable_of(targets);
  // Others are opened by who runs it, on a machine that may have another one.
  if (device.starts_with("virtual")) describe_trainer(device);
  return fmt::format("{} is trained for 100 steps in float32, and as many with each scale, by {}\n",
                     callable.empty() ? "ResNet-18" : "The model of " + callable, interpreter());
}

study::LossScalingRecord train_with_scales(const std::vector<std::string>& targets, const std::string& device,
                                           std::uint64_t seed, const Invocation& invocation) {
  const std::string callable = callable_of(targets);
  study::LossScalingRecord record;
  record.environment = read_environment(invocation.command_line);
  record.device = describe_trainer(device);
  const nlohmann::json asked = {
      {"callable", callable}, {"device", record.device.capabilities.pytorch_device}, {"seed", seed}};
  return record_of(record, ask_python("loss-scaling", asked.dump(), invocation));
}

}  // namespace jitterscope::cli
