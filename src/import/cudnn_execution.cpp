#include "import/cudnn_execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace jitterscope::library_log {
namespace {

// cudnnBackendKnobType_t of cuDNN 9.19, by its values from 0. A plan's tag has the values.
constexpr std::array<std::string_view, 44> kKnobs = {"SPLIT_K",
                                                     "SWIZZLE",
                                                     "TILE_SIZE",
                                                     "USE_TEX",
                                                     "EDGE",
                                                     "KBLOCK",
                                                     "LDGA",
                                                     "LDGB",
                                                     "CHUNK_K",
                                                     "SPLIT_H",
                                                     "WINO_TILE",
                                                     "MULTIPLY",
                                                     "SPLIT_K_BUF",
                                                     "TILEK",
                                                     "STAGES",
                                                     "REDUCTION_MODE",
                                                     "CTA_SPLIT_K_MODE",
                                                     "SPLIT_K_SLC",
                                                     "IDX_MODE",
                                                     "SLICED",
                                                     "SPLIT_RS",
                                                     "SINGLEBUFFER",
                                                     "LDGC",
                                                     "SPECFILT",
                                                     "KERNEL_CFG",
                                                     "WORKSPACE",
                                                     "TILE_CGA",
                                                     "TILE_CGA_M",
                                                     "TILE_CGA_N",
                                                     "BLOCK_SIZE",
                                                     "OCCUPANCY",
                                                     "ARRAY_SIZE_PER_THREAD",
                                                     "NUM_C_PER_BLOCK",
                                                     "SPLIT_COLS",
                                                     "TILE_ROWS",
                                                     "TILE_COLS",
                                                     "LOAD_SIZE",
                                                     "CTA_COUNT",
                                                     "STREAM_K",
                                                     "SPLIT_P_SLC",
                                                     "TILE_M",
                                                     "TILE_N",
                                                     "WARP_SPEC_CFG",
                                                     "SWAP_AB"};

std::optional<Direction> direction_of_operation(std::string_view operation) {
  if (operation == "CONVOLUTION_FORWARD") return Direction::fprop;
  if (operation == "CONVOLUTION_BACKWARD_DATA") return Direction::dgrad;
  if (operation == "CONVOLUTION_BACKWARD_FILTER") return Direction::wgrad;
  return std::nullopt;
}

// CONVOLUTION_FORWARD of CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
std::string_view operation_name(const ApiFields& operation) {
  std::string_view name = operation.type();
  consume(name, "CUDNN_BACKEND_OPERATION_");
  constexpr std::string_view kSuffix = "_DESCRIPTOR";
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

LoggedTensor tensor(const ApiFields& operation, std::string_view name) {
  const std::optional<ApiFields> found = operation.find(name);
  return found ? read_tensor(*found) : LoggedTensor{};
}

double factor(const ApiFields& operation, std::string_view name, double usual) {
  const std::optional<ApiFields> found = operation.find(name);
  return found ? real_number(found->value()).value_or(usual) : usual;
}

std::optional<LoggedConvolution> read_operation_convolution(const ApiFields& operation, Direction direction) {
  const std::optional<ApiFields> numbers = operation.find("convDesc");
  if (!numbers) return std::nullopt;
  const auto list = [&](std::string_view name) {
    const std::optional<ApiFields> found = numbers->find(name);
    return found ? found->numbers() : std::vector<std::int64_t>();
  };
  LoggedConvolution result{.direction = direction,
                           .x = tensor(operation, direction == Direction::dgrad ? "dxDesc" : "xDesc"),
                           .y = tensor(operation, direction == Direction::fprop ? "yDesc" : "dyDesc"),
                           .w = tensor(operation, direction == Direction::wgrad ? "dwDesc" : "wDesc"),
                           .pad_before = list("lowerPadA"),
                           .pad_after = list("upperPadA"),
                           .stride = list("strideA"),
                           .dilation = list("dilationA"),
                           .mode = {},
                           .alpha = factor(operation, "alpha", 1.0),
                           .beta = factor(operation, "beta", 0.0)};
  if (const std::optional<ApiFields> mode = numbers->find("mode")) {
    std::string_view name = mode->value();
    consume(name, "CUDNN_");
    result.mode = quotable(name);
  }
  const bool whole = !result.x.dimensions.empty() && !result.y.dimensions.empty() &&
                     !result.w.dimensions.empty() && !result.mode.empty();
  return whole ? std::optional(result) : std::nullopt;
}

// As cudnn-frontend makes it: ConvFwd_eng38_k2=1_k13=0
std::string plan_tag(const ApiFields& engine, Direction direction) {
  const std::optional<ApiFields> id = engine.find("engine_id");
  if (!id || !id->number()) return {};
  std::string tag = fmt::format("{}_eng{}", plan_prefix(direction), *id->number());
  const std::optional<ApiFields> knobs = engine.find("knobDesc");
  if (!knobs) return tag;
  for (const ApiFields& knob : knobs->all()) {
    std::string_view name = knob.name();
    consume(name, "CUDNN_KNOB_TYPE_");
    const auto known = std::find(kKnobs.begin(), kKnobs.end(), name);
    if (known == kKnobs.end() || !knob.number()) return {};
    tag += fmt::format("_k{}={}", known - kKnobs.begin(), *knob.number());
  }
  return is_engine(tag) ? tag : std::string();
}

bool has_tensor_cores(const ApiFields& engine) {
  const std::optional<ApiFields> notes = engine.find("numericalNotes");
  if (!notes) return false;
  const std::optional<ApiFields> note = notes->find("CUDNN_NUMERICAL_NOTE_TENSOR_CORE");
  return note && note->value() == "true";
}

std::optional<ApiFields> engine_in(const ApiRecord& record) {
  std::optional<ApiFields> at = record.arguments();
  for (const std::string_view name : {"executionPlan", "engcfg", "engine"}) {
    at = at->find(name);
    if (!at) return std::nullopt;
  }
  return at;
}

}  // namespace

LoggedTensor read_tensor(const ApiFields& descriptor) {
  LoggedTensor result;
  for (const ApiFields& field : descriptor.all()) {
    if (field.name() == "dimA") result.dimensions = field.numbers();
    if (field.name() == "strideA") result.strides = field.numbers();
    if (field.name() == "type" || field.name() == "dataType") {
      std::string_view type = field.value();
      consume(type, "CUDNN_DATA_");
      result.type = quotable(type);
    }
  }
  return result;
}

std::optional<CudnnExecution> read_execution(const ApiRecord& record) {
  const std::optional<ApiFields> engine = engine_in(record);
  const std::optional<ApiFields> graph = engine ? engine->find("opGraph") : std::nullopt;
  const std::vector<ApiFields> operations = graph ? graph->find_all("operation") : std::vector<ApiFields>();
  if (operations.empty()) return std::nullopt;
  CudnnExecution result{.line = record.line,
                        .thread = std::string(record.thread()),
                        .name = {},
                        .reason = {},
                        .convolution = {},
                        .engine = {}};
  for (const ApiFields& operation : operations) {
    result.name += fmt::format("{}{}", result.name.empty() ? "" : "+", quotable(operation_name(operation)));
  }
  const std::optional<Direction> direction = direction_of_operation(result.name);
  if (operations.size() > 1) {
    result.reason = "operations that cuDNN fuses into one graph are not timed";
  } else if (!direction) {
    result.reason = "of cuDNN's graphs only convolutions are timed";
  } else {
    result.convolution = read_operation_convolution(operations.front(), *direction);
    if (!result.convolution) return std::nullopt;
    result.engine = plan_tag(*engine, *direction);
    result.tensor_cores = has_tensor_cores(*engine);
  }
  return result;
}

std::string cudnn_version(std::string_view text) {
  const std::int64_t number = whole_number(text).value_or(0);
  if (number <= 0) return {};
  // Since version 9 the major has four digits after it, before three.
  const std::int64_t major_unit = number >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", number / major_unit, number % major_unit / 100, number % 100);
}

}  // namespace jitterscope::library_log
