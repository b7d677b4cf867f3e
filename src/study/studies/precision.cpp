// Precision. Varies the data type of all tensors. Reports time, and the error of each result against float64
// from the inputs of the finest type, so that rounding the inputs counts. Can go wrong: a network may need
// more than its layers' errors show (loss scaling, sums that overflow f16).
#include <algorithm>

#include "device/can_run.hpp"
#include "jitterscope/error.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

bool is_product(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
         std::holds_alternative<Linear>(parameters);
}

// TF32 is a way to multiply: what multiplies nothing stays in f32.
Arm precision_arm(DataType dtype) {
  return {std::string(to_string(dtype)), [dtype](Trial& trial) {
            const bool stays = dtype == DataType::tf32 && !is_product(trial.operation);
            trial.operation = trial.operation.with_dtype(stays ? DataType::f32 : dtype);
          }};
}

std::vector<Arm> precision_arms(const StudyContext& context) {
  const DataType own = context.operations.front().dtype();
  const bool any_product = std::ranges::any_of(context.operations, is_product);
  std::vector<Arm> arms = {precision_arm(own)};
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::bf16, DataType::f16}) {
    const auto has = [&](const std::vector<DataType>& types) {
      return std::ranges::find(types, dtype) != types.end();
    };
    const bool is_there =
        has(context.description.data_types) || (!any_product && has(context.description.further_types));
    const bool makes_a_difference = dtype != DataType::tf32 || any_product;
    if (dtype != own && is_there && makes_a_difference) arms.push_back(precision_arm(dtype));
  }
  if (arms.size() < 2) throw UsageError(context.description.id + " computes in no other data type");
  return arms;
}

std::string precision_subject(const DeviceDescription& device) {
  return device.capabilities.is_host ? "linear:n=256,in=1024,out=1024" : "linear:n=4096,in=4096,out=4096";
}

std::string torch_type(const std::string& arm) {
  if (arm == "f64") return "torch.float64";
  if (arm == "bf16") return "torch.bfloat16";
  return arm == "f16" ? "torch.float16" : "torch.float32";
}

Remedy precision_remedy(const std::string& arm) {
  if (arm == "tf32") {
    return {{"torch.backends.cuda.matmul.allow_tf32 = True", "torch.backends.cudnn.allow_tf32 = True"},
            "Tensors stay in float32."};
  }
  const std::vector<std::string> lines = {"model = model.to(" + torch_type(arm) + ")",
                                          "batch = batch.to(" + torch_type(arm) + ")"};
  if (arm != "bf16" && arm != "f16") return {lines, ""};
  return {lines,
          std::string("torch.autocast does it layer by layer, and converts where a layer's inputs are of "
                      "another type, which is not in these times.") +
              (arm == "f16" ? " Training in float16 needs torch.amp.GradScaler." : "")};
}

std::vector<std::string> precision_answer(const ComparisonRecord& record) {
  return answer_by_fastest(record, precision_remedy);
}

}  // namespace

Study precision() {
  return {.id = "precision",
          .question = "Which data type is faster, and how exact is the result?",
          .concerns = "everything but copies, spins, your own kernels and operators that only PyTorch has",
          .subject = precision_subject,
          .can_be_asked_of = has_type_of_its_own,
          .arms = precision_arms,
          .remedy = precision_remedy,
          .answer = precision_answer};
}

}  // namespace jitterscope::study::studies
