// What a cudnn-frontend log says about its graphs, plans and executions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/log_convolution.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::library_log {

struct FrontendPlan {
  std::string tag;
  Bytes workspace;
  bool tensor_cores = false;
  std::optional<Nanoseconds> time = {};
};

/// Something in a graph that is no convolution.
struct OtherNode {
  std::string name, reason;
};

struct FrontendGraph {
  std::int64_t line = 0;
  std::string tag;  ///< "ConvFwd_": all its plans' tags start so
  std::vector<LoggedConvolution> convolutions;
  std::vector<OtherNode> others;
  std::vector<FrontendPlan> plans = {};  ///< in the order in which they were built; no tag twice
  bool autotunes = false;                ///< builds all plans before it executes one
  bool autotuned = false;                ///< its plans are timed, and the fastest is the one that runs
  bool executed = false;

  /// A graph of several nodes has plans that jitterscope's operations cannot run.
  bool is_one_convolution() const { return convolutions.size() == 1 && others.empty(); }
  /// The plan that PyTorch runs now: the fastest, the first of equals, or else the one built last. Null where
  /// none was built.
  const FrontendPlan* chosen_plan() const;
  FrontendPlan* find_plan(std::string_view tag);
};

struct FrontendExecution {
  std::size_t graph = 0;  ///< of all graphs
  std::string tag;        ///< of the plan; empty where the log lacks it
  std::int64_t line = 0;
};

struct FrontendDump {
  FrontendGraph graph;
  std::string cudnn_version;  ///< 9.8.0; may be empty
};
/// A graph as cudnn-frontend's fe::graph writes itself, in JSON. Nothing where it is damaged.
std::optional<FrontendDump> read_graph_json(std::string_view text, std::int64_t line);

}  // namespace jitterscope::library_log
