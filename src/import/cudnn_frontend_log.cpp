#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "import/import.hpp"
#include "import/library_log.hpp"
#include "import/model_builder.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/units.hpp"
#include "operation/operation.hpp"

// Imports cudnn-frontend logs: their graphs, plans and executions.

namespace jitterscope::library_log {

struct FrontendPlan {
  std::string tag;
  Bytes workspace;
  bool tensor_cores = false;
  std::optional<Nanoseconds> time = {};
};

/// A node of a graph that is no convolution.
struct OtherNode {
  std::string name, reason;
};

struct FrontendGraph {
  std::int64_t line = 0;
  std::string tag;  ///< "ConvFwd_": the tags of all its plans start so
  std::vector<LoggedConvolution> convolutions;
  std::vector<OtherNode> others;
  std::vector<FrontendPlan> plans = {};  ///< in the order of building; no tag twice
  bool autotunes = false;                ///< all plans are built before one is executed
  bool autotuned = false;                ///< its plans are timed, and the fastest one runs
  bool executed = false;

  /// True for a single convolution: jitterscope's operations cannot run the plans of larger graphs.
  bool is_one_convolution() const { return convolutions.size() == 1 && others.empty(); }
  /// Returns the plan that PyTorch runs: the fastest, or the first of equals, if they were timed, else the
  /// last one built. Null if there is none.
  const FrontendPlan* chosen_plan() const;
  FrontendPlan* find_plan(std::string_view tag);
};

struct FrontendExecution {
  std::size_t graph = 0;  ///< index into FrontendRecord::graphs
  std::string tag;        ///< tag of the plan; empty if the log lacks it
  std::int64_t line = 0;
};

struct FrontendDump {
  FrontendGraph graph;
  std::string cudnn_version;  ///< 9.8.0; may be empty
};
/// Reads a graph as cudnn-frontend's fe::graph writes itself, in JSON. nullopt if it is damaged.
std::optional<FrontendDump> read_graph_json(std::string_view text, std::int64_t line);

// Reads a cudnn-frontend log line by line.

struct FrontendRecord {
  std::vector<FrontendGraph> graphs;
  std::vector<FrontendExecution> executions;  ///< in the log's order
  std::int64_t unnamed_executions = 0;        ///< executions of cached plans, which the log does not name
  std::string cudnn_version;
};

/// Called for each damaged record with its line and the problem.
using ReportDamage = std::function<void(std::int64_t, std::string_view)>;

class FrontendReader {
 public:
  explicit FrontendReader(ReportDamage report_damage) : report_damage_(std::move(report_damage)) {}
  void read(const Line& line);
  FrontendRecord finish() &&;

 private:
  /// A tensor descriptor, which spans several lines.
  struct Tensor {
    std::int64_t line = 0;
    std::optional<std::int64_t> id;
    LoggedTensor tensor;
  };

  void read_labelled(std::string_view text, const Line& line);
  void read_tensor_field(std::string_view text);
  void end_tensor();
  void read_convolution(std::string_view text, const Line& line);
  void begin_graph(std::string_view tag, const Line& line);
  void read_plan(std::string_view text, const Line& line);
  void read_time(std::string_view text, const Line& line);
  void read_variant_pack(const Line& line);
  void read_named_execution(std::string_view text, const Line& line);
  void read_json(std::string_view text, const Line& line);
  FrontendGraph* graph_of(std::string_view plan_tag);
  std::optional<LoggedConvolution> described_convolution(Direction direction) const;

  ReportDamage report_damage_;
  FrontendRecord record_;
  std::optional<Tensor> open_tensor_;
  std::optional<Tensor> x_, y_, w_;               // described since the last graph
  std::optional<LoggedConvolution> convolution_;  // its parameters, since the last graph
  std::optional<FrontendGraph> dumped_;           // from JSON, since the last graph
  std::size_t current_ = 0;                       // index of the last graph, if there is one
  bool names_executions_ = false;                 // the next pack belongs to a plan that was named
};

}  // namespace jitterscope::library_log

namespace jitterscope {
namespace {

using namespace library_log;

constexpr std::string_view kHowToRecordFrontend =
    "CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=log.txt before the program";

bool has_fp32(const FrontendGraph& graph) {
  return std::any_of(graph.convolutions.begin(), graph.convolutions.end(),
                     [](const LoggedConvolution& convolution) { return convolution.x.type == "FLOAT"; });
}

// Guesses whether fp32 may become TF32: if not, PyTorch drops all engines with tensor cores.
bool allows_tf32(const FrontendRecord& record) {
  return std::any_of(record.graphs.begin(), record.graphs.end(), [](const FrontendGraph& graph) {
    return has_fp32(graph) && std::any_of(graph.plans.begin(), graph.plans.end(),
                                          [](const FrontendPlan& plan) { return plan.tensor_cores; });
  });
}

std::vector<RecordedPlan> recorded_plans(const FrontendGraph& graph) {
  std::vector<RecordedPlan> plans;
  for (const FrontendPlan& plan : graph.plans) {
    plans.push_back({.tag = plan.tag, .workspace = plan.workspace, .time = plan.time});
  }
  return plans;
}

void add_execution(LogModel& model, FrontendGraph& graph, const FrontendExecution& run, bool tf32) {
  for (const LoggedConvolution& convolution : graph.convolutions) {
    try {
      Conv2d conv = conv2d_of(convolution, tf32);
      const FrontendPlan* plan = nullptr;
      if (graph.is_one_convolution()) {
        conv.engine = run.tag;
        plan = graph.find_plan(run.tag);
      }
      Layer& layer = model.add_call(Operation(conv), "cudnn-frontend", run.line,
                                    plan == nullptr ? std::nullopt : plan->time);
      if (plan != nullptr && layer.recorded_plans.empty()) layer.recorded_plans = recorded_plans(graph);
    } catch (const UsageError& why) {
      model.add_untimed(engine_prefix(convolution.direction), why.what());
    }
  }
  for (const OtherNode& node : graph.others) model.add_untimed(node.name, node.reason);
}

void add_executions(LogModel& model, FrontendRecord& record, bool tf32) {
  if (record.executions.empty()) {
    for (std::size_t i = 0; i < record.graphs.size(); ++i) {
      const FrontendPlan* plan = record.graphs[i].chosen_plan();
      record.executions.push_back(
          {.graph = i, .tag = plan == nullptr ? "" : plan->tag, .line = record.graphs[i].line});
    }
    model.note("The log records no execution; each problem that it describes is taken as one call.");
  } else if (const auto idle = std::count_if(record.graphs.begin(), record.graphs.end(),
                                             [](const FrontendGraph& graph) { return !graph.executed; });
             idle > 0) {
    model.note(fmt::format("The log describes {} problem{} that it records no execution of.", idle,
                           idle == 1 ? "" : "s"));
  }
  std::int64_t without_engine = 0;
  for (const FrontendExecution& run : record.executions) {
    FrontendGraph& graph = record.graphs[run.graph];
    if (!graph.convolutions.empty() && (run.tag.empty() || !graph.is_one_convolution())) ++without_engine;
    add_execution(model, graph, run, tf32);
  }
  if (without_engine > 0) {
    model.note(
        fmt::format("The engine of {} convolution{} is left to jitterscope's choice: the log lacks it, or it "
                    "ran them fused with other operations.",
                    without_engine, without_engine == 1 ? "" : "s"));
  }
}

}  // namespace

Model import_cudnn_frontend_log(std::string_view text, std::string_view file_name) {
  LogModel model("cudnn-frontend", file_name, kHowToRecordFrontend);
  FrontendReader reader([&](std::int64_t line, std::string_view what) { model.add_damaged(line, what); });
  LineReader lines(text);
  while (const std::optional<Line> line = lines.next()) reader.read(*line);
  FrontendRecord record = std::move(reader).finish();
  const bool tf32 = allows_tf32(record);
  add_executions(model, record, tf32);
  model.set_cudnn(record.cudnn_version);
  if (std::any_of(record.graphs.begin(), record.graphs.end(), has_fp32)) model.note(precision_note(tf32));
  if (record.unnamed_executions > 0) {
    model.note(
        fmt::format("The log names each problem where a thread meets it first. {} more execution{} of such "
                    "problems, which it does not tell apart, so that the counts are too small.",
                    record.unnamed_executions, record.unnamed_executions == 1 ? " was" : "s were"));
  }
  return std::move(model).finish("no convolution of cudnn-frontend");
}

}  // namespace jitterscope

namespace jitterscope::library_log {
namespace {

// PyTorch uses letters as tensor ids: x, y, w.
constexpr std::int64_t kIdOfX = 'x', kIdOfY = 'y', kIdOfW = 'w';

// Returns FLOAT for ["FLOAT"].
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
  const std::string_view name = tag.ends_with('_') ? tag.substr(0, tag.size() - 1) : tag;
  const auto* const known = std::ranges::find(
      kConvolutionWords, name, [](const ConvolutionWords& words) { return engine_prefix(words.direction); });
  if (dumped_) {
    graph = *std::exchange(dumped_, std::nullopt);
  } else if (tag == name || known == std::end(kConvolutionWords)) {
    graph.others.push_back({.name = quotable(name),
                            .reason = tag.starts_with("Conv")
                                          ? "a convolution fused with other operations is not timed"
                                          : "of cuDNN's graphs only convolutions are timed"});
  } else if (const auto convolution = described_convolution(known->direction)) {
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

// Finds the graph of a plan. Threads share one log, so a plan may come after another thread's graph.
FrontendGraph* FrontendReader::graph_of(std::string_view plan_tag) {
  constexpr std::size_t kFarthest = 64;
  const std::size_t engine = plan_tag.find("_eng");
  if (dumped_ && engine != std::string_view::npos) {  // a graph in JSON without a tag yet
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

// Reads " : ConvFwd_eng38_k2=1, numeric_notes:[CUDNN_NUMERICAL_NOTE_TENSOR_CORE,] behavior_notes:[]
// workSpaceSize: 6717456".
void FrontendReader::read_plan(std::string_view text, const Line& line) {
  constexpr std::size_t kMostPlans = 2000;  // PyTorch builds at most 1000 for one graph
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
    // PyTorch builds another plan only if the one before it failed to run.
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

// Reads "Plan ConvFwd_eng48_k2=2 took   0.179072", in milliseconds.
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
  // A plan that the heuristics list twice is timed twice; PyTorch takes the faster time.
  const Nanoseconds taken = milliseconds(time);
  plan->time = std::min(taken, plan->time.value_or(taken));
  if (!graph->executed) return;
  const auto index = static_cast<std::size_t>(graph - record_.graphs.data());
  std::erase_if(record_.executions, [&](const FrontendExecution& run) {
    return run.graph == index && run.tag == tag;  // executions for timing it
  });
}

void FrontendReader::read_variant_pack(const Line& line) {
  if (std::exchange(names_executions_, false)) return;
  if (record_.graphs.empty() || record_.graphs[current_].executed) {
    ++record_.unnamed_executions;
    return;
  }
  FrontendGraph& graph = record_.graphs[current_];
  if (graph.autotunes && !graph.autotuned) return;  // one pack serves the timing of all plans
  const FrontendPlan* plan = graph.chosen_plan();
  record_.executions.push_back(
      {.graph = current_, .tag = plan == nullptr ? "" : plan->tag, .line = line.number});
  graph.executed = true;
}

// Reads fe::graph's "INFO: Executing ConvFwd_eng38_k2=1...".
void FrontendReader::read_named_execution(std::string_view text, const Line& line) {
  if (text.starts_with("plan at index")) return;  // its tag is on a line of its own
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

namespace {

using nlohmann::json;
using Numbers = std::vector<std::int64_t>;

Numbers numbers(const json& object, const char* name) {
  Numbers result;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return result;
  for (const json& number : *found) {
    // A value that is no integer makes the list unusable, not merely shorter.
    if (!number.is_number_integer()) return {};
    result.push_back(number.get<std::int64_t>());
  }
  return result;
}

std::string word(const json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class GraphReader {
 public:
  explicit GraphReader(const json& root) : root_(root) {
    const auto context = root.find("context");
    if (context != root.end() && context->is_object()) type_ = word(*context, "io_data_type");
  }

  std::optional<LoggedConvolution> convolution(const json& node, const ConvolutionWords& words) const {
    LoggedConvolution result{.direction = words.direction,
                             .x = tensor(node, words.x),
                             .y = tensor(node, words.y),
                             .w = tensor(node, words.w),
                             .pad_before = numbers(node, "pre_padding"),
                             .pad_after = numbers(node, "post_padding"),
                             .stride = numbers(node, "stride"),
                             .dilation = numbers(node, "dilation"),
                             .mode = word(node, "math_mode")};
    if (result.mode.empty()) result.mode = "CROSS_CORRELATION";  // missing in logs before version 1.6
    if (result.x.dimensions.empty() || result.w.dimensions.empty()) return std::nullopt;
    return result;
  }

 private:
  // Returns a node's tensor. A graph writes itself before it infers result shapes, so these may be missing.
  LoggedTensor tensor(const json& node, std::string_view operand) const {
    std::string role(operand);  // in capitals
    for (char& letter : role) letter = static_cast<char>(letter - 'a' + 'A');
    for (const char* side : {"inputs", "outputs"}) {
      const auto names = node.find(side);
      if (names == node.end() || !names->is_object()) continue;
      const std::string name = word(*names, role);
      const auto tensors = root_.find("tensors");
      if (name.empty() || tensors == root_.end() || !tensors->is_object()) continue;
      const auto found = tensors->find(name);
      if (found == tensors->end() || !found->is_object()) continue;
      LoggedTensor result{
          .dimensions = numbers(*found, "dim"), .strides = numbers(*found, "stride"), .type = {}};
      result.type = word(*found, "data_type");
      if (result.type.empty() || result.type == "NOT_SET") result.type = type_;
      return result;
    }
    return {};
  }

  const json& root_;
  std::string type_;
};

}  // namespace

const FrontendPlan* FrontendGraph::chosen_plan() const {
  if (plans.empty()) return nullptr;
  if (!autotuned) return &plans.back();
  const FrontendPlan* fastest = nullptr;
  for (const FrontendPlan& plan : plans) {
    if (plan.time && (fastest == nullptr || *plan.time < *fastest->time)) fastest = &plan;
  }
  return fastest;
}

FrontendPlan* FrontendGraph::find_plan(std::string_view wanted) {
  for (FrontendPlan& plan : plans) {
    if (plan.tag == wanted) return &plan;
  }
  return nullptr;
}

std::optional<FrontendDump> read_graph_json(std::string_view text, std::int64_t line) {
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return std::nullopt;
  const auto nodes = root.find("nodes");
  if (nodes == root.end() || !nodes->is_array()) return std::nullopt;
  FrontendDump dump{.graph = {.line = line, .tag = {}, .convolutions = {}, .others = {}},
                    .cudnn_version = quotable(word(root, "cudnn_backend_version"))};
  const GraphReader reader(root);
  for (const json& node : *nodes) {
    if (!node.is_object()) return std::nullopt;
    const std::string tag = word(node, "tag");
    if (const ConvolutionWords* known = find_convolution(&ConvolutionWords::node, tag)) {
      const std::optional<LoggedConvolution> convolution = reader.convolution(node, *known);
      if (!convolution) return std::nullopt;
      dump.graph.convolutions.push_back(*convolution);
    } else {
      const bool alone = nodes->size() == 1;
      dump.graph.others.push_back(
          {.name = tag.empty() ? "a node without a tag" : quotable(tag),
           .reason = alone ? "of cudnn-frontend's graphs only convolutions are timed"
                           : "it is fused with other nodes of its graph, and only convolutions are timed"});
    }
  }
  return dump;
}

}  // namespace jitterscope::library_log
