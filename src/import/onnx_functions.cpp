#include "import/onnx_functions.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jitterscope/error.hpp"
#include "onnx.pb.h"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// What unfolds to more is a file that was made to fill the memory: GPT-3 has some 10,000 operators.
constexpr std::size_t kMostUnfolded = 1 << 18;
constexpr std::size_t kDeepestFunction = 64, kLongestPath = 200;

// Fields that ONNX's schema has had since 1.13 and 1.16, read from the message's bytes: that of Debian 12 is
// older, and keeps them as unknown.
constexpr int kDefaultsOfFunction = 11, kOverloadOfFunction = 13, kOverloadOfNode = 8;

template <class Message>
std::vector<std::string> texts_of_field(const Message& message, int field) {
  const std::string bytes = message.SerializeAsString();
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  constexpr std::uint32_t kNumber = 0, kText = 2, kWireTypes = 8;
  std::vector<std::string> texts;
  while (const std::uint32_t tag = input.ReadTag()) {
    std::uint64_t number = 0;
    std::uint32_t size = 0;
    std::string text;
    if (tag % kWireTypes == kNumber) {
      if (!input.ReadVarint64(&number)) break;
    } else if (tag % kWireTypes != kText || !input.ReadVarint32(&size) ||
               !input.ReadString(&text, static_cast<int>(size))) {
      break;
    }
    if (tag % kWireTypes == kText && tag / kWireTypes == static_cast<std::uint32_t>(field))
      texts.push_back(std::move(text));
  }
  return texts;
}

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

struct Function {
  const onnx::FunctionProto* body = nullptr;
  std::string overload;
  std::map<std::string, onnx::AttributeProto> defaults;
};

Function read_function(const onnx::FunctionProto& body) {
  Function function{&body, "", {}};
  for (std::string& overload : texts_of_field(body, kOverloadOfFunction))
    function.overload = std::move(overload);
  for (const std::string& bytes : texts_of_field(body, kDefaultsOfFunction)) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes)) function.defaults.emplace(attribute.name(), attribute);
  }
  return function;
}

class Unfolder {
 public:
  Unfolder(const onnx::ModelProto& model, std::string_view file_name) : file_name_(file_name) {
    for (const onnx::FunctionProto& body : model.functions())
      functions_[{domain_of(body.domain()), body.name()}].push_back(read_function(body));
  }

  void unfold(Nodes& nodes) {
    Nodes unfolded;
    for (const onnx::NodeProto& node : nodes) add(node, unfolded);
    nodes = std::move(unfolded);
  }

 private:
  const Function* function_of(const onnx::NodeProto& node) const {
    const auto found = functions_.find({domain_of(node.domain()), node.op_type()});
    if (found == functions_.end()) return nullptr;
    if (found->second.size() == 1) return &found->second.front();
    const std::vector<std::string> overloads = texts_of_field(node, kOverloadOfNode);
    const std::string overload = overloads.empty() ? "" : overloads.back();
    const auto same = [&](const Function& function) { return function.overload == overload; };
    const auto chosen = std::find_if(found->second.begin(), found->second.end(), same);
    return chosen == found->second.end() ? nullptr : &*chosen;
  }

  void add(const onnx::NodeProto& node, Nodes& unfolded) {
    if (++steps_ > kMostUnfolded) {
      throw UsageError(
          fmt::format("{}: its functions unfold to more than {} operators; is it damaged? Export it without "
                      "functions",
                      file_name_, kMostUnfolded));
    }
    const Function* function = function_of(node);
    if (function == nullptr) {
      onnx::NodeProto& kept = *unfolded.Add();
      kept = node;
      for (onnx::AttributeProto& attribute : *kept.mutable_attribute()) {
        if (attribute.has_g()) unfold(*attribute.mutable_g()->mutable_node());
      }
      return;
    }
    const bool calls_itself = std::find(active_.begin(), active_.end(), function) != active_.end();
    if (calls_itself || active_.size() == kDeepestFunction) {
      throw UsageError(fmt::format("{}: its function {} {}, which no operator can do; export it again",
                                   file_name_, in_quotes(node.op_type()),
                                   calls_itself ? "calls itself" : "lies too deep within others"));
    }
    active_.push_back(function);
    add_body(node, *function, unfolded);
    active_.pop_back();
  }

  void add_body(const onnx::NodeProto& call, const Function& function, Nodes& unfolded) {
    const onnx::FunctionProto& body = *function.body;
    const std::string prefix = fmt::format("{}#{}/", body.name().substr(0, kLongestPath), ++bodies_);
    const std::string path = (call.name().empty() ? call.op_type() : call.name()).substr(0, kLongestPath);
    std::map<std::string, std::string> names = {{"", ""}};
    for (int i = 0; i < body.input_size(); ++i)
      names[body.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < body.output_size() && i < call.output_size(); ++i) {
      if (!call.output(i).empty() && !names.try_emplace(body.output(i), call.output(i)).second)
        add_alias(names[body.output(i)], call.output(i), unfolded);
    }
    const Namer named = [&](std::string& name) {
      name = names.try_emplace(name, prefix + name).first->second;
    };
    for (const onnx::NodeProto& inner : body.node()) {
      onnx::NodeProto node = inner;
      node.set_name(path + "/" + (inner.name().empty() ? inner.op_type() : inner.name()));
      rename(node, named);
      give_attributes(node, call, function);
      add(node, unfolded);
    }
  }

  using Namer = std::function<void(std::string&)>;
  // Branches see the values around them.
  static void rename(onnx::NodeProto& node, const Namer& named) {
    for (std::string& input : *node.mutable_input()) named(input);
    for (std::string& output : *node.mutable_output()) named(output);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      onnx::GraphProto& graph = *attribute.mutable_g();
      for (onnx::NodeProto& inner : *graph.mutable_node()) rename(inner, named);
      for (onnx::TensorProto& weight : *graph.mutable_initializer()) named(*weight.mutable_name());
      for (onnx::ValueInfoProto& output : *graph.mutable_output()) named(*output.mutable_name());
    }
  }

  // An output that the function was given, or gives twice.
  static void add_alias(const std::string& from, const std::string& to, Nodes& unfolded) {
    onnx::NodeProto& alias = *unfolded.Add();
    alias.set_op_type("Identity");
    alias.add_input(from);
    alias.add_output(to);
  }

  // Attributes that stand for one of the caller's. One that is given nowhere is left out.
  static void give_attributes(onnx::NodeProto& node, const onnx::NodeProto& call, const Function& function) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> given;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const std::string& asked = attribute.ref_attr_name();
      if (asked.empty()) {
        *given.Add() = attribute;
        continue;
      }
      const auto of_call = std::find_if(call.attribute().begin(), call.attribute().end(),
                                        [&](const onnx::AttributeProto& one) { return one.name() == asked; });
      const auto usual = function.defaults.find(asked);
      if (of_call == call.attribute().end() && usual == function.defaults.end()) continue;
      onnx::AttributeProto& value = *given.Add();
      value = of_call != call.attribute().end() ? *of_call : usual->second;
      value.set_name(attribute.name());
    }
    *node.mutable_attribute() = std::move(given);
  }

  std::string file_name_;
  std::map<std::pair<std::string, std::string>, std::vector<Function>> functions_;  // by domain and name
  std::vector<const Function*> active_;
  std::size_t steps_ = 0, bodies_ = 0;
};

}  // namespace

void unfold_functions(onnx::ModelProto& model, std::string_view file_name) {
  if (model.functions().empty()) return;
  Unfolder(model, file_name).unfold(*model.mutable_graph()->mutable_node());
}

}  // namespace jitterscope
