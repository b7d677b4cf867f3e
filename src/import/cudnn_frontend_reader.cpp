#include "import/cudnn_frontend_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace jitterscope::library_log {
namespace {

// PyTorch names its tensors by letters: x, y, w.
constexpr std::int64_t kIdOfX = 'x', kIdOfY = 'y', kIdOfW = 'w';

std::optional<Direction> direction_of_tag(std::string_view graph_tag) {
  for (const Direction direction : {Direction::fprop, Direction::dgrad, Direction::wgrad}) {
    if (graph_tag == fmt::format("{}_", plan_prefix(direction))) return direction;
  }
  return std::nullopt;
}

// ["FLOAT"]
std::string quoted_word(std::string_view text) {
  const std::optional<std::string_view> word = after(text, "[\"");
  return word ? quotable(until(*word, "\"")) : std::string();
}

}  // namespace

void FrontendReader::read(const Line& line) {
  std::string_view text = line.text;
  if (consume(text, "[cudnn_frontend]")) {
    end_tensor();
    read_labelled(trimmed(text), line);
    return;
  }
  text = trimmed(text);
  if (text.starts_with('{')) {
    end_tensor();
    read_json(text, line);
  } else if (consume(text, "Tag:")) {
    end_tensor();
    begin_graph(trimmed(text), line);
  } else if (open_tensor_) {
    read_tensor_field(text);
  }
}

void FrontendReader::read_labelled(std::string_view text, const Line& line) {
  if (text.starts_with("CUDNN_BACKEND_TENSOR_DESCRIPTOR")) {
    open_tensor_ = Tensor{.line = line.number, .id = {}, .tensor = {}};
  } else if (text.starts_with("CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR")) {
    read_convolution(text, line);
  } else if (consume(text, "CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR")) {
    read_plan(text, line);
  } else if (text.starts_with("CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR")) {
    read_variant_pack(line);
  } else if (text.starts_with("Filtered plans count")) {
    if (!record_.graphs.empty()) record_.graphs[current_].autotunes = true;
  } else if (text.starts_with("Auto-tuning returns")) {
    if (!record_.graphs.empty()) record_.graphs[current_].autotuned = true;
  } else if (consume(text, "Plan ")) {
    read_time(text, line);
  } else if (consume(text, "INFO: Executing ")) {
    read_named_execution(text, line);
  } else if (text.starts_with("INFO: Executed ")) {
    names_executions_ = false;
  } else if (text.starts_with('{')) {
    read_json(text, line);
  }
}

void FrontendReader::read_tensor_field(std::string_view text) {
  if (consume(text, "Datatype:")) {
    open_tensor_->tensor.type = quoted_word(text);
  } else if (consume(text, "Id:")) {
    open_tensor_->id = whole_number(text);
  } else if (consume(text, "Dim ")) {
    open_tensor_->tensor.dimensions = number_list(text).value_or(std::vector<std::int64_t>());
  } else if (consume(text, "Str ")) {
    open_tensor_->tensor.strides = number_list(text).value_or(std::vector<std::int64_t>());
  }
}

void FrontendReader::end_tensor() {
  if (!open_tensor_) return;
  const Tensor tensor = *std::exchange(open_tensor_, std::nullopt);
  const LoggedTensor& shape = tensor.tensor;
  if (!tensor.id || shape.type.empty() || shape.dimensions.empty() ||
      shape.dimensions.size() != shape.strides.size()) {
    report_damage_(tensor.line, "is a tensor without its id, type, dimensions or strides");
    return;
  }
  if (*tensor.id == kIdOfX) x_ = tensor;
  if (*tensor.id == kIdOfY) y_ = tensor;
  if (*tensor.id == kIdOfW) w_ = tensor;
}

void FrontendReader::read_convolution(std::string_view text, const Line& line) {
  const auto list = [&](std::string_view name) {
    const std::optional<std::string_view> found = after(text, name);
    return found ? number_list(*found) : std::nullopt;
  };
  const auto pad_before = list("PadLower"), pad_after = list("PadUpper"), dilation = list("Dilation"),
             stride = list(" Stride");
  const std::optional<std::string_view> mode = after(text, "Mode:");
  if (!pad_before || !pad_after || !dilation || !stride || !mode) {
    report_damage_(line.number, "is a convolution without its mode, padding, dilation or stride");
    return;
  }
  convolution_ = LoggedConvolution{.pad_before = *pad_before,
                                   .pad_after = *pad_after,
                                   .stride = *stride,
                                   .dilation = *dilation,
                                   .mode = quoted_word(*mode)};
}

std::optional<LoggedConvolution> FrontendReader::described_convolution(Direction direction) const {
  if (!x_ || !y_ || !w_ || !convolution_) return std::nullopt;
  LoggedConvolution result = *convolution_;
  result.direction = direction;
  result.x = x_->tensor;
  result.y = y_->tensor;
  result.w = w_->tensor;
  return result;
}

void FrontendReader::begin_graph(std::string_view tag, const Line& line) {
  FrontendGraph graph{.line = line.number, .tag = {}, .convolutions = {}, .others = {}};
  const std::optional<Direction> direction = direction_of_tag(tag);
  if (dumped_) {
    graph = *std::exchange(dumped_, std::nullopt);
  } else if (!direction) {
    const std::string_view name = tag.ends_with('_') ? tag.substr(0, tag.size() - 1) : tag;
    graph.others.push_back({.name = quotable(name),
                            .reason = tag.starts_with("Conv")
                                          ? "a convolution fused with other operations is not timed"
                                          : "of cuDNN's graphs only convolutions are timed"});
  } else if (const auto convolution = described_convolution(*direction)) {
    graph.convolutions.push_back(*convolution);
  } else {
    report_damage_(line.number,
                   "is a convolution without descriptors of x (id 120), y (121), w (119) and itself");
  }
  graph.tag = tag;
  graph.line = line.number;
  record_.graphs.push_back(std::move(graph));
  current_ = record_.graphs.size() - 1;
  x_ = y_ = w_ = std::nullopt;
  convolution_.reset();
}

// Threads write into one log, so that a plan may come after another thread's graph.
FrontendGraph* FrontendReader::graph_of(std::string_view plan_tag) {
  constexpr std::size_t kFarthest = 64;
  const std::size_t engine = plan_tag.find("_eng");
  if (dumped_ && engine != std::string_view::npos) {  // a graph in JSON that has not told its tag
    dumped_->tag = plan_tag.substr(0, engine + 1);
    record_.graphs.push_back(*std::exchange(dumped_, std::nullopt));
    current_ = record_.graphs.size() - 1;
  }
  const std::size_t count = record_.graphs.size();
  for (std::size_t back = 0; back < std::min(count, kFarthest); ++back) {
    FrontendGraph& graph = record_.graphs[count - 1 - back];
    std::string_view rest = plan_tag;
    if (consume(rest, graph.tag) && rest.starts_with("eng")) return &graph;
  }
  return nullptr;
}

// " : ConvFwd_eng38_k2=1, numeric_notes:[CUDNN_NUMERICAL_NOTE_TENSOR_CORE,] behavior_notes:[] workSpaceSize:
// 6717456"
void FrontendReader::read_plan(std::string_view text, const Line& line) {
  constexpr std::size_t kMostPlans = 2000;  // PyTorch builds at most 1000 of one graph
  text = trimmed(text);
  consume(text, ":");
  const std::string_view tag = trimmed(until(text, ","));
  const std::optional<std::string_view> size = after(text, "workSpaceSize:");
  const std::optional<std::int64_t> workspace = size ? whole_number(*size) : std::nullopt;
  FrontendGraph* graph = graph_of(tag);
  if (!is_engine(tag) || !workspace || *workspace < 0 || graph == nullptr) {
    report_damage_(line.number, "is a plan without its tag, its workspace or its graph");
    return;
  }
  if (graph->executed && !graph->autotunes && !names_executions_) {
    // PyTorch builds another plan only where the one before it failed to run.
    const auto failed = static_cast<std::size_t>(graph - record_.graphs.data());
    std::erase_if(record_.executions, [&](const FrontendExecution& run) { return run.graph == failed; });
    graph->executed = false;
  }
  if (graph->find_plan(tag) != nullptr || graph->plans.size() == kMostPlans) return;
  graph->plans.push_back(
      {.tag = std::string(tag),
       .workspace = Bytes(*workspace),
       .tensor_cores = text.find("CUDNN_NUMERICAL_NOTE_TENSOR_CORE") != std::string_view::npos});
}

// "Plan ConvFwd_eng48_k2=2 took   0.179072", in milliseconds
void FrontendReader::read_time(std::string_view text, const Line& line) {
  const std::string_view tag = until(text, " ");
  const std::optional<std::string_view> rest = after(text, " took");
  const double time = rest ? real_number(*rest).value_or(-1.0) : -1.0;
  FrontendGraph* graph = graph_of(tag);
  FrontendPlan* plan = graph == nullptr ? nullptr : graph->find_plan(tag);
  if (time < 0.0 || plan == nullptr) {
    report_damage_(line.number, "is the time of a plan without its number, or of a plan that was not built");
    return;
  }
  // A plan that heuristics name twice is timed twice; PyTorch takes the faster of the two.
  const Nanoseconds taken = milliseconds(time);
  plan->time = std::min(taken, plan->time.value_or(taken));
  if (!graph->executed) return;
  const auto index = static_cast<std::size_t>(graph - record_.graphs.data());
  std::erase_if(record_.executions, [&](const FrontendExecution& run) {
    return run.graph == index && run.tag == tag;  // those that timed it
  });
}

void FrontendReader::read_variant_pack(const Line& line) {
  if (std::exchange(names_executions_, false)) return;
  if (record_.graphs.empty() || record_.graphs[current_].executed) {
    ++record_.unnamed_executions;
    return;
  }
  FrontendGraph& graph = record_.graphs[current_];
  if (graph.autotunes && !graph.autotuned) return;  // one pack serves all plans while they are timed
  const FrontendPlan* plan = graph.chosen_plan();
  record_.executions.push_back(
      {.graph = current_, .tag = plan == nullptr ? "" : plan->tag, .line = line.number});
  graph.executed = true;
}

// "INFO: Executing ConvFwd_eng38_k2=1...", of fe::graph
void FrontendReader::read_named_execution(std::string_view text, const Line& line) {
  if (text.starts_with("plan at index")) return;  // its tag follows on a line of its own
  const std::string_view tag = until(text, ".");
  FrontendGraph* graph = graph_of(tag);
  if (!is_engine(tag) || graph == nullptr) {
    report_damage_(line.number, "is the execution of a plan whose graph the log lacks");
    return;
  }
  names_executions_ = true;
  graph->executed = true;
  record_.executions.push_back({.graph = static_cast<std::size_t>(graph - record_.graphs.data()),
                                .tag = std::string(tag),
                                .line = line.number});
}

void FrontendReader::read_json(std::string_view text, const Line& line) {
  std::optional<FrontendDump> dump = read_graph_json(text, line.number);
  if (!dump) {
    report_damage_(line.number, "is a graph in JSON that cannot be read");
    return;
  }
  if (record_.cudnn_version.empty()) record_.cudnn_version = dump->cudnn_version;
  if (dumped_) record_.graphs.push_back(*std::exchange(dumped_, std::nullopt));
  dumped_ = std::move(dump->graph);
}

FrontendRecord FrontendReader::finish() && {
  end_tensor();
  if (dumped_) record_.graphs.push_back(*std::exchange(dumped_, std::nullopt));
  return std::move(record_);
}

}  // namespace jitterscope::library_log
