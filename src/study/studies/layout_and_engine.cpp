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

std::vector<Arm> layout_arms(const StudyContext& context) {
  const Layout own = layout_of(context.operations.front());
  const Layout other = own == Layout::nchw ? Layout::nhwc : Layout::nchw;
  const auto remedy = [](Layout layout) -> Remedy {
    const char* format = layout == Layout::nhwc ? "torch.channels_last" : "torch.contiguous_format";
    return {{fmt::format("model = model.to(memory_format={})", format),
             fmt::format("batch = batch.to(memory_format={})", format)},
            "If a layer needs the other layout, converting costs a copy, which is not in these times."};
  };
  const auto arm = [&](Layout layout) {
    return arm_of(
        std::string(to_string(layout)),
        [layout](const Operation& operation) { return in_layout(operation, layout); }, remedy(layout));
  };
  // Not a remedy. The layout without conversions is the remedy, for a network in which all layers have it.
  Arm converted = arm_of(
      fmt::format("{}, converted at the borders", to_string(other)),
      [other](const Operation& operation) { return with_conversions(operation, other); }, remedy(other));
  converted.is_remedy = false;
  return {arm(own), arm(other), converted};
}

// Says what conversions leave of a gain, for one operation or a network's total; else empty.
Sentences what_conversions_leave(const StudyResult& result) {
  const std::vector<ArmOutcome> outcomes = arm_outcomes(result.record);
  if (outcomes.size() != 2 || !is_faster(outcomes[0])) return {};
  const ArmOutcome &other = outcomes[0], &converted = outcomes[1];
  if (result.arms[converted.alternative].is_remedy || converted.is_wrong || other.is_wrong) return {};
  const std::string& first = result.record.alternatives.front();
  const char* borders = result.record.totals.empty() ? "its borders" : "each layer's borders";
  if (is_faster(converted)) {
    return {
        fmt::format("With conversions at {} it is still {}.", borders, speed_against(converted.time, first))};
  }
  if (is_undecided(converted)) {
    return {fmt::format(
        "Not decided: whether a gain is left with conversions at {}; use more processes (--processes).",
        borders)};
  }
  return {fmt::format(
      "**With conversions at {} the gain is gone**: it is {}. {} pays where the layers around it have that "
      "layout, too.",
      borders, is_slower(converted) ? speed_against(converted.time, first) : "as fast as " + first,
      other.name)};
}

}  // namespace

Study layout() {
  return {.id = "layout",
          .question = "Which layout of images is faster: NCHW, or NHWC (channels last)?",
          .concerns = "convolutions, pooling, batch normalization and bias additions",
          .subject = "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16",
          .host_subject = "conv2d:n=1,c=64,hw=56,k=64,rs=3,pad=1",
          .can_be_asked_of = has_layout,
          .arms = layout_arms,
          .details = what_conversions_leave};
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

std::vector<Arm> engine_arms(const StudyContext& context) {
  const auto can_choose = [&](const Operation& operation) {
    return !context.device.list_engines(operation).empty();
  };
  if (std::ranges::none_of(context.operations, can_choose)) {
    throw UsageError(context.description.id + " has no engines to choose from");
  }
  const auto arm = [](const char* name, const char* engine, Remedy remedy) {
    return arm_of(
        name, [engine](const Operation& operation) { return with_engine(operation, engine); },
        std::move(remedy));
  };
  return {arm("pytorch", "", {}),
          arm("autotune", "autotune",
              {{"torch.backends.cudnn.benchmark = True"},
               "The first call of each shape then times ten engines, and takes seconds."}),
          arm("best", "best",
              {{},
               "PyTorch does not choose this engine: `jitterscope engines` names it for cuDNN's own "
               "interface."})};
}

}  // namespace

Study engine() {
  return {.id = "engine",
          .question = "Is there a faster engine than the one that PyTorch takes?",
          .concerns = "convolutions, matmul and linear",
          .subject = "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16",
          .can_be_asked_of = has_engines,
          .arms = engine_arms};
}

}  // namespace jitterscope::study::studies
