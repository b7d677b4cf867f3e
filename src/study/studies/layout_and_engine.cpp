#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Layout study. It varies how image tensors are stored, without and with conversions at the borders, and
// reports the time of each layer and of all. Limit: each layer pays for both of its conversions here, like a
// layer whose neighbours keep the original layout; a network converted as a whole pays once.

namespace jitterscope::study::studies {
namespace {

using statistics::EffectVerdict;

constexpr const char* kConverted = ", converted at the borders";

template <class Change>
bool change_layout(Operation::Parameters& parameters, const Change& change) {
  return std::visit(
      [&](auto& shape) {
        using Shape = std::decay_t<decltype(shape)>;
        if constexpr (std::is_same_v<Shape, Conv2d> || std::is_same_v<Shape, Pool2d> ||
                      std::is_same_v<Shape, BatchNorm> || std::is_same_v<Shape, BiasAdd>) {
          change(shape.layout);
          return true;
        }
        return false;
      },
      parameters);
}

bool has_layout(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  return change_layout(parameters, [](Layout&) {});
}

Layout layout_of(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  Layout found = Layout::nchw;
  change_layout(parameters, [&](Layout layout) { found = layout; });
  return found;
}

Operation in_layout(const Operation& operation, Layout layout) {
  Operation::Parameters parameters = operation.parameters();
  change_layout(parameters, [layout](Layout& own) { own = layout; });
  return {parameters};
}

// The images that an operation reads first and writes first; a gradient of weights is no image.
struct Borders {
  Convert read;
  std::optional<Convert> written;
};

Borders borders_of(const Conv2d& conv) {
  const Convert x{.n = conv.n, .c = conv.c, .h = conv.h, .w = conv.w};
  const Convert y{.n = conv.n, .c = conv.k, .h = conv.out_h(), .w = conv.out_w()};
  switch (conv.direction) {
    case Direction::fprop: return {x, y};
    case Direction::dgrad: return {y, x};
    case Direction::wgrad: break;
  }
  return {x, std::nullopt};
}
Borders borders_of(const Pool2d& pool) {
  const Convert x{.n = pool.n, .c = pool.c, .h = pool.h, .w = pool.w};
  const Convert y{.n = pool.n, .c = pool.c, .h = pool.out_h(), .w = pool.out_w()};
  return pool.pass == Pass::backward ? Borders{y, x} : Borders{x, y};
}
template <class Shape>
Borders borders_of(const Shape& shape) {
  if constexpr (std::is_same_v<Shape, BatchNorm> || std::is_same_v<Shape, BiasAdd>) {
    const Convert x{.n = shape.n, .c = shape.c, .h = shape.h, .w = shape.w};
    return {x, x};
  }
  return {};
}

Operation conversion(Convert images, Layout from, Layout to, DataType dtype) {
  images.from = from;
  images.to = to;
  images.dtype = images.to_dtype = dtype;
  return {images};
}

// Converts only the first input, because a chain passes no other. A gradient's second input was left in the
// layer's layout by forward, and is mostly as large.
Operation with_conversions(const Operation& operation, Layout layout) {
  const Layout own = layout_of(operation);
  if (own == layout) return operation;
  const Borders borders =
      std::visit([](const auto& shape) { return borders_of(shape); }, operation.parameters());
  const DataType dtype = operation.dtype();
  Chain chain{.steps = {conversion(borders.read, own, layout, dtype), in_layout(operation, layout)}};
  if (borders.written) chain.steps.push_back(conversion(*borders.written, layout, own, dtype));
  return {chain};
}

Arm layout_arm(Layout layout) {
  return {std::string(to_string(layout)),
          [layout](OperationTrial& trial) { trial.operation = in_layout(trial.operation, layout); }};
}

// Not a remedy. The layout without conversions is the remedy, for a network in which all layers have it.
Arm converted_arm(Layout layout) {
  return {
      .name = std::string(to_string(layout)) + kConverted,
      .apply =
          [layout](OperationTrial& trial) { trial.operation = with_conversions(trial.operation, layout); },
      .is_remedy = false};
}

std::vector<Arm> layout_arms(const StudyContext& context) {
  const Layout own = layout_of(context.operations.front());
  const Layout other = own == Layout::nchw ? Layout::nhwc : Layout::nchw;
  return {layout_arm(own), layout_arm(other), converted_arm(other)};
}

std::string layout_subject(const DeviceDescription& device) {
  return device.capabilities.is_host ? "conv2d:n=1,c=64,hw=56,k=64,rs=3,pad=1"
                                     : "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16";
}

Remedy layout_remedy(const std::string& arm) {
  const std::string format = arm.starts_with("nhwc") ? "torch.channels_last" : "torch.contiguous_format";
  return {
      {"model = model.to(memory_format=" + format + ")", "batch = batch.to(memory_format=" + format + ")"},
      "If a layer needs the other layout, converting costs a copy, which is not in these times."};
}

// Says what conversions leave of a gain, for one operation or a network's total; else empty.
std::string conversions_sentence(const ComparisonRecord& record) {
  const std::vector<ArmOutcome> outcomes = arm_outcomes(record);
  if (outcomes.size() != 2 || outcomes[0].verdict != EffectVerdict::faster) return {};
  const ArmOutcome &other = outcomes[0], &converted = outcomes[1];
  if (!converted.name.ends_with(kConverted) || converted.is_wrong || other.is_wrong) return {};
  const std::string& first = record.alternatives.front();
  const char* borders = record.totals.empty() ? "its borders" : "each layer's borders";
  if (converted.verdict == EffectVerdict::faster) {
    return fmt::format("With conversions at {} it is still {}.", borders,
                       speed_against(converted.time, first));
  }
  if (converted.verdict == EffectVerdict::undecided) {
    return fmt::format(
        "Not decided: whether a gain is left with conversions at {}; use more processes (--processes).",
        borders);
  }
  return fmt::format(
      "**With conversions at {} the gain is gone**: it is {}. {} pays where the layers around it have "
      "that layout, too.",
      borders,
      converted.verdict == EffectVerdict::slower ? speed_against(converted.time, first)
                                                 : "as fast as " + first,
      other.name);
}

std::vector<std::string> layout_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences = answer_by_fastest(record, layout_remedy);
  if (std::string conversions = conversions_sentence(record); !conversions.empty()) {
    sentences.push_back(std::move(conversions));
  }
  return sentences;
}

}  // namespace

Study layout() {
  return {.id = "layout",
          .question = "Which layout of images is faster: NCHW, or NHWC (channels last)?",
          .concerns = "convolutions, pooling, batch normalization and bias additions",
          .subject = layout_subject,
          .can_be_asked_of = has_layout,
          .arms = layout_arms,
          .remedy = layout_remedy,
          .answer = layout_answer};
}

// Engine study. It varies who chooses among a library's engines: PyTorch's heuristic, its timing of ten, or a
// careful timing of all; it reports time. Limit: PyTorch's timing sometimes takes another engine, so
// processes differ by more than usual.

namespace {

bool has_engines(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
         std::holds_alternative<Linear>(parameters);
}

Arm engine_arm(const std::string& name, const std::string& engine) {
  return {name, [engine](OperationTrial& trial) { trial.operation = with_engine(trial.operation, engine); }};
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
          "PyTorch does not choose this engine: `jitterscope engines` names it for cuDNN's own interface."};
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
