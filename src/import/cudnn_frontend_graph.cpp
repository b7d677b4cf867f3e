#include "import/cudnn_frontend_graph.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "import/log_lines.hpp"

namespace jitterscope::library_log {
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

std::string word(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<Direction> direction_of(std::string_view tag) {
  if (tag == "CONV_FPROP") return Direction::fprop;
  if (tag == "CONV_DGRAD") return Direction::dgrad;
  if (tag == "CONV_WGRAD") return Direction::wgrad;
  return std::nullopt;
}

class GraphReader {
 public:
  explicit GraphReader(const json& root) : root_(root) {
    const auto context = root.find("context");
    if (context != root.end() && context->is_object()) type_ = word(*context, "io_data_type");
  }

  std::optional<LoggedConvolution> convolution(const json& node, Direction direction) const {
    LoggedConvolution result{.direction = direction,
                             .x = tensor(node, direction == Direction::dgrad ? "DX" : "X"),
                             .y = tensor(node, direction == Direction::fprop ? "Y" : "DY"),
                             .w = tensor(node, direction == Direction::wgrad ? "DW" : "W"),
                             .pad_before = numbers(node, "pre_padding"),
                             .pad_after = numbers(node, "post_padding"),
                             .stride = numbers(node, "stride"),
                             .dilation = numbers(node, "dilation"),
                             .mode = word(node, "math_mode")};
    if (result.mode.empty()) result.mode = "CROSS_CORRELATION";  // logs before version 1.6 do not write it
    if (result.x.dimensions.empty() || result.w.dimensions.empty()) return std::nullopt;
    return result;
  }

 private:
  // A graph writes itself before the shapes of results are inferred, so that those may be missing.
  LoggedTensor tensor(const json& node, const char* role) const {
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
    if (const std::optional<Direction> direction = direction_of(tag)) {
      const std::optional<LoggedConvolution> convolution = reader.convolution(node, *direction);
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
