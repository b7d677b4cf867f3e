// Precision study. It varies the data type of all tensors, and of products alone, as torch.autocast does. It
// reports time, and each result's error against float64 from inputs of the finest type, so that rounding of
// the inputs counts. Limits: a network may need more than its layers' errors show (loss scaling, sums that
// overflow f16), and autocast converts less between layers than before each layer, as here.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/names.hpp"
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

// TF32 is a way to multiply: operations without products stay in f32.
Operation in_type(const Operation& operation, DataType dtype) {
  return operation.with_dtype(dtype == DataType::tf32 && !is_product(operation) ? DataType::f32 : dtype);
}

const char* torch_type(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return "torch.float64";
    case DataType::bf16: return "torch.bfloat16";
    case DataType::f16: return "torch.float16";
    default: return "torch.float32";
  }
}

const char* scaler_of(DataType dtype) {
  return dtype == DataType::f16 ? " Training in float16 needs torch.amp.GradScaler." : "";
}

Remedy precision_remedy(DataType dtype) {
  if (dtype == DataType::tf32) {
    return {{"torch.backends.cuda.matmul.allow_tf32 = True", "torch.backends.cudnn.allow_tf32 = True"},
            "Tensors stay in float32."};
  }
  Remedy remedy{{fmt::format("model = model.to({})", torch_type(dtype)),
                 fmt::format("batch = batch.to({})", torch_type(dtype))}};
  if (dtype == DataType::f32) {
    remedy.lines.insert(remedy.lines.end(), {"torch.backends.cudnn.allow_tf32 = False",
                                             "torch.backends.cuda.matmul.allow_tf32 = False"});
  }
  if (dtype == DataType::bf16 || dtype == DataType::f16) {
    remedy.price = fmt::format(
        "torch.autocast does it layer by layer, and converts inputs of another type, which is not in these "
        "times.{}",
        scaler_of(dtype));
  }
  return remedy;
}

Arm precision_arm(DataType dtype) {
  Arm arm = arm_of(
      std::string(to_string(dtype)),
      [dtype](const Operation& operation) { return in_type(operation, dtype); }, precision_remedy(dtype));
  arm.value = dtype;
  return arm;
}

bool are_all_in(DataType dtype, const std::vector<Operation>& operations) {
  return std::ranges::all_of(
      operations, [&](const Operation& operation) { return in_type(operation, dtype) == operation; });
}

// The original work: "f16", or "tf32+f32" if PyTorch runs convolutions in tf32 and the rest in f32.
Arm arm_as_it_is(const std::vector<Operation>& operations) {
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::bf16, DataType::f16}) {
    if (are_all_in(dtype, operations)) return {std::string(to_string(dtype)), [](OperationTrial&) {}};
  }
  std::vector<std::string> types;
  for (const Operation& operation : operations) {
    std::string type(to_string(operation.dtype()));
    if (std::ranges::find(types, type) == types.end()) types.push_back(std::move(type));
  }
  return {joined(types, "+"), [](OperationTrial&) {}};
}

bool is_stored_as_f32(const Operation& operation) {
  return operation.dtype() == DataType::f32 || operation.dtype() == DataType::tf32;
}

// Autocast keeps these in f32. Other operations that are no products compute in the type left by the product
// before them.
bool stays_in_f32(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return std::holds_alternative<Softmax>(parameters) || std::holds_alternative<LayerNorm>(parameters) ||
         std::holds_alternative<Embedding>(parameters) || std::holds_alternative<OptimizerStep>(parameters);
}

Operation converted(const Operand& operand, DataType from, DataType to) {
  return Operation(Convert{.w = operand.count, .dtype = from, .to_dtype = to});
}

// Converts the first input. The second one is the weights, whose conversion autocast keeps for all passes
// until they change. Gradients arrive in the lower type and leave as f32, like the inputs that forward
// converted.
Operation as_autocast(const Operation& operation, DataType dtype) {
  if (!is_stored_as_f32(operation) || stays_in_f32(operation)) return operation;
  Operation lower = operation.with_dtype(dtype);
  if (!is_product(operation)) return lower;
  const std::vector<Operand> operands = lower.operands();
  const auto* conv = std::get_if<Conv2d>(&operation.parameters());
  if (conv != nullptr && conv->direction != Direction::fprop) {
    return Operation(Chain{.steps = {lower, converted(operands.back(), dtype, DataType::f32)}});
  }
  return Operation(Chain{.steps = {converted(operands.front(), DataType::f32, dtype), lower}});
}

// Not a remedy. The type without conversions is the remedy, with autocast's lines or the model's own. In a
// network most layers read the lower type left by the layer before, and this arm would charge each of them
// with a conversion.
Arm autocast_arm(DataType dtype) {
  Arm arm =
      arm_of(fmt::format("autocast {}", to_string(dtype)),
             [dtype](const Operation& operation) { return as_autocast(operation, dtype); },
             {{fmt::format("with torch.autocast(batch.device.type, dtype={}): output = model(batch)",
                           torch_type(dtype))},
              fmt::format("Weights are converted once, which is not in these times.{}", scaler_of(dtype))});
  arm.is_remedy = false;
  arm.value = dtype;
  return arm;
}

std::vector<Arm> precision_arms(const StudyContext& context) {
  const bool any_product = std::ranges::any_of(context.operations, is_product);
  const auto has = [](const std::vector<DataType>& types, DataType dtype) {
    return std::ranges::find(types, dtype) != types.end();
  };
  std::vector<Arm> arms = {arm_as_it_is(context.operations)};
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::tf32, DataType::bf16, DataType::f16}) {
    const bool is_there = has(context.description.data_types, dtype) ||
                          (!any_product && has(context.description.further_types, dtype));
    const bool is_first = arms.front().name == to_string(dtype) || are_all_in(dtype, context.operations);
    if (is_there && !is_first) arms.push_back(precision_arm(dtype));
  }
  const bool any_autocast = std::ranges::any_of(context.operations, [](const Operation& operation) {
    return is_product(operation) && is_stored_as_f32(operation);
  });
  for (const DataType dtype : {DataType::bf16, DataType::f16}) {
    if (any_autocast && has(context.description.data_types, dtype)) arms.push_back(autocast_arm(dtype));
  }
  if (arms.size() < 2) throw UsageError(context.description.id + " computes in no other data type");
  return arms;
}

// For one operation or a network's total: says what is left of the gain if the fastest type is autocast's and
// each product converts.
Sentences what_autocast_leaves(const StudyResult& result) {
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  const ArmOutcome* best = recommended_of(result, outcomes);
  if (best == nullptr || !result.arms[best->alternative].is_remedy) return {};
  const auto* type = value_of<DataType>(result, best->alternative);
  const auto is_autocast = [&](const ArmOutcome& outcome) {
    return !result.arms[outcome.alternative].is_remedy &&
           *value_of<DataType>(result, outcome.alternative) == *type;
  };
  if (std::ranges::count_if(outcomes, is_autocast) != 1) return {};
  const ArmOutcome& autocast = *std::ranges::find_if(outcomes, is_autocast);
  const ComparisonRecord& record = result.record;
  const std::string where = fmt::format("the conversion that torch.autocast makes where {} is in float32",
                                        record.totals.empty() ? "its input" : "each layer's input");
  const std::string& first = record.alternatives.front();
  if (is_undecided(autocast)) return {not_decided("whether a gain is left with " + where)};
  const bool is_same = !is_faster(autocast) && !is_slower(autocast);
  return {fmt::format("With {} it is {}.", where,
                      is_same ? "as fast as " + first : speed_against(autocast.time, first))};
}

}  // namespace

Study precision() {
  return {
      .id = "precision",
      .question = "Which data type is faster, and how exact is its result?",
      .concerns = "all operations except copies, spins, your own kernels and operators that only PyTorch has",
      .varies_type = true,
      .subject = "linear:n=4096,in=4096,out=4096",
      .host_subject = "linear:n=256,in=1024,out=1024",
      .can_be_asked_of = has_type_of_its_own,
      .arms = precision_arms,
      .details = what_autocast_leaves};
}

}  // namespace jitterscope::study::studies
