#include "import/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "import/onnx_import.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using onnx_import::Import;
using onnx_import::Importers;

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 24;

// As ONNX asks for, each operator after those that write its inputs; files in another order are read as well.
std::vector<const OnnxNode*> in_order(const std::vector<OnnxNode>& nodes, std::string_view file_name) {
  std::map<std::string_view, std::size_t> writers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) writers.emplace(output, i);
    }
  }
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> waits_for(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].all_inputs()) {
      const auto writer = writers.find(input);
      if (writer == writers.end()) continue;
      readers[writer->second].push_back(i);
      ++waits_for[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<const OnnxNode*> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(&nodes[next]);
    for (const std::size_t reader : readers[next]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == nodes.size()) return order;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] > 0) {
      throw UsageError(fmt::format("{}: its graph has a cycle, to which {} {} belongs", file_name,
                                   in_quotes(nodes[i].operator_name), in_quotes(nodes[i].name)));
    }
  }
  return order;
}

void add_node(Import& import, const OnnxNode& node);

// The operators of the branch that is taken, where that follows from shapes: exporters ask for ranks.
std::string import_branch(Import& import, const OnnxNode& node) {
  const auto& condition = import.value(node.input(0)).numbers;
  if (!condition || condition->size() != 1) return "its condition is not known before it runs";
  const auto taken = node.attributes.find(condition->front() != 0.0 ? "then_branch" : "else_branch");
  if (taken == node.attributes.end() || !taken->second.branch) return "it lacks a branch";
  const OnnxBranch& branch = *taken->second.branch;
  import.enter(branch);
  for (const OnnxNode* inner : in_order(branch.nodes, import.file_name())) {
    if (!import.is_taken_over(*inner)) add_node(import, *inner);
  }
  for (std::size_t i = 0; i < std::min(node.outputs.size(), branch.outputs.size()); ++i)
    import.value(node.outputs[i]) = import.value(branch.outputs[i]);
  return "";
}

std::string import_node(Import& import, const OnnxNode& node) {
  if (node.outputs.empty() || node.outputs.front().empty()) return "it has no output";
  if (!node.domain.empty() && node.domain != "ai.onnx")
    return fmt::format("it belongs to {}, of which no operator is known", printable(node.domain, 40));
  if (node.operator_name == "If") return import_branch(import, node);
  if (onnx_import::fold(import, node)) return "";
  for (const Importers* importers :
       {&onnx_import::convolution_importers(), &onnx_import::product_importers(),
        &onnx_import::map_importers(), &onnx_import::row_importers(), &onnx_import::view_importers()}) {
    const auto found = importers->find(node.operator_name);
    if (found != importers->end()) return found->second(import, node);
  }
  return "it has no kind of operation";
}

void add_node(Import& import, const OnnxNode& node) {
  std::string reason;
  try {
    reason = import_node(import, node);
  } catch (const UsageError& error) {
    // A damaged shape is that of this operator; a batch that the file cannot have is the whole file's.
    if (std::string_view(error.what()).starts_with(import.file_name())) throw;
    reason = error.what();
  }
  const bool has_output = !node.outputs.empty() && !node.outputs.front().empty();
  const bool is_known = node.domain.empty() || node.domain == "ai.onnx";
  if (!reason.empty())
    import.leave_out(node, reason,
                     has_output && is_known ? onnx_import::shape_given_by(import, node) : std::nullopt);
  if (has_output && is_known) onnx_import::keep_order(import, node);
}

void note_opset(Import& import) {
  const std::int64_t opset = import.file().opset;
  if (opset == 0) import.network().note("The file does not say which version of ONNX's operators it uses.");
  if (opset != 0 && (opset < kOldestOpset || opset > kNewestOpset)) {
    import.network().note(fmt::format(
        "The file uses version {} of ONNX's operators; versions {} to {} are known, and it was read as such.",
        opset, kOldestOpset, kNewestOpset));
  }
}

UsageError nothing_to_time(const Model& model, const OnnxFile& file, std::string_view file_name) {
  std::string sentence =
      fmt::format("{}: none of its {} operators can be timed", file_name, file.nodes.size());
  if (!model.untimed.empty()) {
    const UntimedOperator& first = model.untimed.front();
    sentence += fmt::format("; {} of {}: {}", first.count, first.name, first.reason);
  }
  for (const std::string& note : model.notes) sentence += "\n" + note;
  return UsageError(sentence);
}

// Backward begins at what the graph gives.
void begin_backward(Import& import) {
  for (const OnnxValueInfo& output : import.file().outputs) {
    if (const auto tensor = import.value(output.name).tensor)
      import.network().loss("loss", *tensor, "the file has no loss; backward begins at its outputs");
  }
}

}  // namespace

Model import_onnx(std::string_view bytes, std::string_view file_name, const ModelOptions& options) {
  const OnnxFile file = read_onnx_file(bytes, file_name);
  Import import(file, file_name, options);
  note_opset(import);
  for (const std::string& sentence : file.missing) import.network().note(sentence);
  for (const OnnxNode* node : in_order(file.nodes, file_name)) {
    if (!import.is_taken_over(*node)) add_node(import, *node);
  }
  ModelOptions wanted = options;
  if (import.training()) {
    begin_backward(import);
  } else {
    wanted.direction = Direction::fprop;
  }
  Model model = import.network().to_model(wanted);
  if (model.layers.empty()) throw nothing_to_time(model, file, file_name);
  model.format = "ONNX model";
  model.is_incomplete = !file.missing.empty();
  return model;
}

}  // namespace jitterscope
