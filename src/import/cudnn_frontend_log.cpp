#include <fmt/format.h>

#include <algorithm>

#include "import/cudnn_frontend_reader.hpp"
#include "import/library_logs.hpp"
#include "import/log_model.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using namespace library_log;

constexpr std::string_view kHowToRecordFrontend =
    "CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=log.txt before the program";

bool has_fp32(const FrontendGraph& graph) {
  return std::any_of(graph.convolutions.begin(), graph.convolutions.end(),
                     [](const LoggedConvolution& convolution) { return convolution.x.type == "FLOAT"; });
}

// PyTorch drops all engines with tensor cores where fp32 may not become TF32.
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
      model.add_untimed(plan_prefix(convolution.direction), why.what());
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
