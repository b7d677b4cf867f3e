// Reads a cudnn-frontend log line by line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/cudnn_frontend_graph.hpp"
#include "import/log_lines.hpp"

namespace jitterscope::library_log {

struct FrontendRecord {
  std::vector<FrontendGraph> graphs;
  std::vector<FrontendExecution> executions;  ///< in the log's order
  std::int64_t unnamed_executions = 0;        ///< of plans cached before, which the log does not name
  std::string cudnn_version;
};

/// Takes the line and what is wrong there, of each record that is damaged.
using ReportDamage = std::function<void(std::int64_t, std::string_view)>;

class FrontendReader {
 public:
  explicit FrontendReader(ReportDamage report_damage) : report_damage_(std::move(report_damage)) {}
  void read(const Line& line);
  FrontendRecord finish() &&;

 private:
  /// A tensor descriptor is written over several lines.
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
  std::optional<Tensor> x_, y_, w_;               // since the last graph
  std::optional<LoggedConvolution> convolution_;  // its numbers, since the last graph
  std::optional<FrontendGraph> dumped_;           // as JSON, since the last graph
  std::size_t current_ = 0;                       // index of the last graph, where there is one
  bool names_executions_ = false;                 // the pack that follows belongs to a plan that was named
};

}  // namespace jitterscope::library_log
