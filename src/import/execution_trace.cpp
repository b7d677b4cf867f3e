#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "import/import.hpp"
#include "import/json.hpp"
#include "import/model_builder.hpp"
#include "import/operator_selection.hpp"
#include "import/recorded_arguments.hpp"
#include "import/recorded_operator.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

// Imports PyTorch's execution traces (Chakra), as torch.profiler.ExecutionTraceObserver writes them.

namespace jitterscope {

/// Supplies strides, which schemas before 1.1.1 do not record. A linear layer's weight is then known as
/// transposed only from the aten::t that made the view; any other tensor is taken as dense and row-major.
class TransposedViews {
 public:
  /// Completes an operator. Call it for each operator that is timed or makes views, in order.
  void complete(RecordedOperator& recorded);
  bool any_assumed() const { return any_assumed_; }

 private:
  void complete(RecordedArgument& argument);
  struct View {
    TensorIdentity tensor;
    std::vector<std::int64_t> shape;
    auto operator<=>(const View&) const = default;
  };
  std::set<View> transposed_;
  bool any_assumed_ = false;
};

namespace {

// A node's data that is kept until it is known which nodes are timed.
struct TraceNode {
  std::int64_t id = 0, parent = 0;
  std::string name;
  std::string_view text;  ///< its JSON, a view into the trace
};

struct Trace {
  std::string schema;
  std::vector<TraceNode> nodes;  ///< in the order of ids, which is the order of execution
};

// Returns the parent's id; the field is called ctrl_deps since schema 1.0.2.
std::int64_t parent_of(simdjson::dom::object node) {
  simdjson::dom::element ignored;
  const bool newer = node.at_key("ctrl_deps").get(ignored) == simdjson::SUCCESS;
  return integer_field(node, newer ? "ctrl_deps" : "parent");
}

TraceNode read_head(simdjson::dom::parser& parser, std::string_view text, std::size_t index,
                    std::string_view file_name) {
  TraceNode node;
  node.text = text;
  simdjson::dom::object object;
  std::string place = fmt::format("element {} of 'nodes'", index);
  try {
    if (parse_part(parser, text).get(object) != simdjson::SUCCESS) throw FieldProblem{"it is not an object"};
    node.id = integer_field(object, "id");
    place = fmt::format("node {}", node.id);
    node.name = text_field(object, "name");
    node.parent = parent_of(object);
  } catch (const FieldProblem& problem) {
    throw UsageError(fmt::format("{}: {}: {}", file_name, place, problem.sentence));
  } catch (const simdjson::simdjson_error& error) {
    throw UsageError(fmt::format("{}: {}: not valid JSON: {}", file_name, place, error.what()));
  }
  return node;
}

// Each process numbers its own nodes, and a node names its caller by that number alone.
void require_one_process(const Trace& trace, std::string_view file_name) {
  const auto again = std::adjacent_find(trace.nodes.begin(), trace.nodes.end(),
                                        [](const TraceNode& a, const TraceNode& b) { return a.id == b.id; });
  if (again == trace.nodes.end()) return;
  throw UsageError(fmt::format(
      "{}: two nodes have the id {}. Perhaps traces of several processes (ranks) or runs were joined; "
      "give the trace of one process, as torch.profiler wrote it",
      file_name, again->id));
}

Trace read_trace(ReadableJson& json, std::string_view file_name) {
  Trace trace;
  simdjson::dom::parser part_parser;
  bool has_nodes = false;
  json.read([&](simdjson::ondemand::document& document) {
    trace = {};
    for (simdjson::ondemand::field field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "schema") trace.schema = std::string(std::string_view(field.value().get_string()));
      if (key != "nodes") continue;
      has_nodes = true;
      for (simdjson::ondemand::value node : field.value().get_array()) {
        simdjson::ondemand::object object = node.get_object();
        const std::string_view raw = object.raw_json();
        trace.nodes.push_back(read_head(part_parser, raw, trace.nodes.size(), file_name));
      }
    }
  });
  if (!has_nodes) throw UsageError(fmt::format("{}: an execution trace has a list 'nodes'", file_name));
  const auto earlier = [](const TraceNode& a, const TraceNode& b) { return a.id < b.id; };
  std::stable_sort(trace.nodes.begin(), trace.nodes.end(), earlier);
  require_one_process(trace, file_name);
  return trace;
}

std::vector<OperatorNode> operator_nodes(const Trace& trace) {
  std::unordered_map<std::int64_t, std::size_t> places;
  std::vector<OperatorNode> result;
  for (const TraceNode& node : trace.nodes) {
    // A parent began earlier, so its id is smaller. Any other node is a root (or the file is no PyTorch
    // trace).
    const auto parent = places.find(node.parent);
    const bool known = parent != places.end() && node.parent < node.id;
    result.push_back({node.name, known ? parent->second : kNoParent});
    places[node.id] = result.size() - 1;
  }
  return result;
}

bool works_on_host(const RecordedOperator& recorded) {
  bool any = false;
  for (const auto* side : {&recorded.arguments, &recorded.outputs}) {
    for (const RecordedArgument& argument : *side) {
      if (argument.device.empty()) continue;
      if (argument.device != "cpu") return false;
      any = true;
    }
  }
  return any;
}

class ExecutionTraceImporter {
 public:
  ExecutionTraceImporter(const Trace& trace, bool on_gpu) : trace_(trace) { context_.on_gpu = on_gpu; }

  Model import(std::string_view file_name) {
    const std::vector<OperatorNode> nodes = operator_nodes(trace_);
    const std::vector<OperatorRole> roles = select_operators(nodes);
    const std::vector<std::size_t> owner = owners(nodes, roles);
    const std::vector<bool> sums = with_timed_sums(nodes, roles);
    for (std::size_t i = 0; i < nodes.size(); ++i)
      visit(trace_.nodes[i], roles[i], owner[i] != kNoParent, sums[i]);
    add_notes();
    return builder_.finish(file_name, "PyTorch execution trace");
  }

 private:
  void visit(const TraceNode& node, OperatorRole role, bool is_owned, bool has_sum) {
    if (role == OperatorRole::foreign) {
      builder_.add_untimed(node.name,
                           "It is not an operator of PyTorch, but of another library, or communication.",
                           std::nullopt);
    } else if (role == OperatorRole::timed || work_of(node.name) == Work::none) {
      try {
        simdjson::dom::object object = parse_part(parser_, node.text);
        RecordedOperator recorded = read_node(object, context_.on_gpu);
        views_.complete(recorded);
        const bool is_left = !has_sum || leave_bias_gradient_out(recorded);
        if (role == OperatorRole::timed && is_left) add(node, recorded);
        // Memory that a timed operator allocates for its own outputs has a later node id than the operator.
        if (!is_owned) forget_outputs_of_new_memory(recorded);
      } catch (const FieldProblem& problem) {
        add_broken(node, role, problem.sentence);
      } catch (const simdjson::simdjson_error& error) {
        add_broken(node, role, error.what());
      }
    }
  }

  void add_broken(const TraceNode& node, OperatorRole role, std::string_view problem) {
    if (role != OperatorRole::timed) return;
    builder_.add_untimed(node.name, fmt::format("Node {} cannot be read: {}.", node.id, problem),
                         std::nullopt);
  }

  void add(const TraceNode& node, const RecordedOperator& recorded) {
    if (context_.on_gpu && works_on_host(recorded)) {
      builder_.add_untimed(node.name, "It works on tensors in the host's memory.", std::nullopt);
      return;
    }
    try {
      for (const ConvertedOperation& converted : convert(recorded, context_)) {
        if (converted.tensors.empty()) write_outputs_untimed(recorded);
        const std::string part = converted.part.empty() ? "" : "." + converted.part;
        builder_.add_call(fmt::format("{}#{}{}", node.name, node.id, part), node.name, converted, {});
      }
    } catch (const UsageError& error) {
      write_outputs_untimed(recorded);
      builder_.add_untimed(node.name, error.what(), std::nullopt);
    }
  }

  void write_outputs_untimed(const RecordedOperator& recorded) {
    for (const RecordedArgument& output : recorded.outputs) {
      if (output.identity) builder_.write_untimed(*output.identity);
    }
  }

  // Storages are named by address, and addresses are reused: a new tensor is not the older one.
  void forget_outputs_of_new_memory(const RecordedOperator& recorded) {
    if (recorded.name.find("empty") == std::string::npos) return;
    for (const RecordedArgument& output : recorded.outputs) {
      if (output.identity) builder_.forget(*output.identity);
    }
  }

  void add_notes() {
    for (const std::string& note : context_.notes) builder_.add_note(note);
    if (!context_.on_gpu) builder_.add_note("The record is of a run on a CPU.");
    if (views_.any_assumed()) {
      builder_.add_note(
          "The record has no strides (schema before 1.1.1): tensors are taken as dense and row-major (nchw), "
          "and weights of linear layers as transposed where they came from aten::t.");
    }
    const auto processes = std::count_if(trace_.nodes.begin(), trace_.nodes.end(), [](const TraceNode& node) {
      return node.name == "[pytorch|profiler|execution_trace|process]";
    });
    if (processes > 1)
      builder_.add_note(fmt::format("The record holds {} processes; counts are of all of them.", processes));
    if (!trace_.schema.starts_with("1.0") && !trace_.schema.starts_with("1.1")) {
      builder_.add_note(fmt::format("The record's schema {} is not known; it was read as 1.1.1.",
                                    in_quotes(trace_.schema)));
    }
  }

  const Trace& trace_;
  ConversionContext context_;
  simdjson::dom::parser parser_;
  TransposedViews views_;
  ModelBuilder builder_;
};

}  // namespace

Model import_execution_trace(std::string_view text, std::string_view file_name) {
  ReadableJson json(text, file_name);
  const Trace trace = read_trace(json, file_name);
  const bool on_gpu = text.find("\"cuda:") != std::string_view::npos;
  Model model = ExecutionTraceImporter(trace, on_gpu).import(file_name);
  if (const auto note = json.note()) model.notes.push_back(*note);
  return model;
}

namespace {

bool is_matrix_without_strides(const RecordedArgument& argument) {
  return argument.value.kind == AtenArgument::Kind::tensor && argument.identity &&
         argument.value.strides.empty() && argument.value.shape.size() == 2;
}

}  // namespace

void TransposedViews::complete(RecordedArgument& argument) {
  const AtenArgument& value = argument.value;
  if (value.kind != AtenArgument::Kind::tensor || !value.strides.empty() || value.shape.empty()) return;
  any_assumed_ = true;
  if (!is_matrix_without_strides(argument)) return;
  if (!transposed_.contains({*argument.identity, value.shape})) return;
  argument.value.strides = {1, value.shape[0]};
}

void TransposedViews::complete(RecordedOperator& recorded) {
  for (RecordedArgument& argument : recorded.arguments) complete(argument);
  const bool flips = recorded.name == "aten::t" && !recorded.arguments.empty() &&
                     recorded.arguments.front().value.strides.empty();
  // The view operators that aten::t calls return the same view and must not erase it.
  if (!flips && recorded.name != "aten::t" && work_of(recorded.name) == Work::none) return;
  for (const RecordedArgument& output : recorded.outputs) {
    if (!is_matrix_without_strides(output)) continue;
    const View view{*output.identity, output.value.shape};
    if (flips) {
      transposed_.insert(view);
    } else {
      transposed_.erase(view);
    }
  }
}

}  // namespace jitterscope
