// Engine. Varies who chooses among a library's engines: PyTorch's heuristic, its timing of ten, or a careful
// timing of all. Reports time. Can go wrong: PyTorch's timing takes another engine from time to time, so that
// processes differ by more than they else do.
#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/engine.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

bool has_engines(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
         std::holds_alternative<Linear>(parameters);
}

Arm engine_arm(const std::string& name, const std::string& engine) {
  return {name, [engine](Trial& trial) { trial.operation = with_engine(trial.operation, engine); }};
}

std::vector<Arm> engine_arms(const StudyContext& context) {
  const auto can_choose = [&](const Operation& operation) {
    return !context.device.list_engines(operation).empty();
  };
  if (std::ranges::none_of(context.operations, can_choose)) {
    throw UsageError(context.description.id + " has no engines to choose from");
  }
  return {engine_arm("pytorch", ""), engine_arm("autotune", "autotune"), engine_arm("best", "best")};
}

std::string engine_subject(const DeviceDescription&) {
  return "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16";
}

Remedy engine_remedy(const std::string& arm) {
  if (arm == "autotune") {
    return {{"torch.backends.cudnn.benchmark = True"},
            "The first call of each shape then times ten engines, and takes seconds."};
  }
  return {{},
          "PyTorch does not take this engine by itself: `jitterscope engines` names it, and cuDNN's own "
          "interface takes it."};
}

std::vector<std::string> engine_answer(const ComparisonRecord& record) {
  return answer_by_fastest(record, engine_remedy);
}

}  // namespace

Study engine() {
  return {.id = "engine",
          .question = "Is there a faster engine than the one that PyTorch takes?",
          .concerns = "convolutions, matmul and linear",
          .subject = engine_subject,
          .can_be_asked_of = has_engines,
          .arms = engine_arms,
          .remedy = engine_remedy,
          .answer = engine_answer};
}

}  // namespace jitterscope::study::studies
