// What an ONNX file is made of besides its graph: functions of its own, numbers in files beside it.
#include <gmock/gmock.h>

#include <fstream>

#include "import/import.hpp"
#include "import/onnx.hpp"
#include "import/onnx_graph.hpp"
#include "import/written_file.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OnnxGraph;
using testing::usage_message;

Model import_of(const OnnxGraph& graph) { return import_onnx(graph.bytes(), "m.onnx", {}); }

std::vector<std::string> works_of(const Model& model) {
  std::vector<std::string> result;
  for (const Call& call : model.calls)
    result.push_back(call.name + " " + model.layers[call.layer].operation.text());
  return result;
}

/// A function while it is written.
class Function {
 public:
  Function(OnnxGraph& graph, const std::string& name, const std::vector<std::string>& inputs,
           const std::vector<std::string>& outputs)
      : function_(*graph.model().add_functions()) {
    function_.set_name(name);
    function_.set_domain("torch.nn");
    for (const std::string& input : inputs) function_.add_input(input);
    for (const std::string& output : outputs) function_.add_output(output);
  }
  Function& node(const std::string& name, const std::vector<std::string>& inputs, const std::string& output,
                 const std::string& domain = "") {
    onnx::NodeProto& node = *function_.add_node();
    node.set_op_type(name);
    node.set_domain(domain);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return *this;
  }
  /// Of the last node: as the caller says.
  Function& attribute_of_caller(const std::string& name, const std::string& asked) {
    onnx::AttributeProto& attribute = *function_.mutable_node(function_.node_size() - 1)->add_attribute();
    attribute.set_name(name);
    attribute.set_ref_attr_name(asked);
    return *this;
  }
  onnx::FunctionProto& message() { return function_; }

 private:
  onnx::FunctionProto& function_;
};

void call(OnnxGraph& graph, const std::string& function, const std::vector<std::string>& inputs,
          const std::string& output, const std::string& name) {
  graph.node(function, inputs, output, name);
  graph.last_node().set_domain("torch.nn");
}

TEST(OnnxFunctions, StandWhereTheyAreCalled) {
  OnnxGraph graph;
  graph.input("x", {1, 3, 8, 8}).weight("a.weight", {4, 3, 3, 3}).weight("b.weight", {8, 4, 3, 3});
  call(graph, "Block", {"x", "a.weight"}, "c", "first");
  graph.last_node().add_attribute()->set_name("padding");
  for (int i = 0; i < 4; ++i) graph.last_node().mutable_attribute(0)->add_ints(1);
  call(graph, "Block", {"c", "b.weight"}, "y", "second");
  graph.output("y");
  Function(graph, "Block", {"input", "weight"}, {"result"})
      .node("Conv", {"input", "weight"}, "inner")
      .attribute_of_caller("pads", "padding")
      .node("Act", {"inner"}, "result", "torch.nn");
  Function(graph, "Act", {"input"}, {"result"})
      .node("Relu", {"input"}, "inner")
      .node("Tanh", {"inner"}, "result");
  const Model model = import_of(graph);
  EXPECT_THAT(works_of(model), ElementsAre(AllOf(HasSubstr("a.fprop"), HasSubstr("hw=8,k=4,rs=3,pad=1,")),
                                           "first/Act/Relu.forward relu:count=256,dtype=f32",
                                           "first/Act/Tanh.forward tanh:count=256,dtype=f32",
                                           AllOf(HasSubstr("b.fprop"), HasSubstr("hw=8,k=8,rs=3,dtype")),
                                           "second/Act/Relu.forward relu:count=288,dtype=f32",
                                           "second/Act/Tanh.forward tanh:count=288,dtype=f32"));
  for (std::size_t i = 1; i < model.calls.size(); ++i)
    EXPECT_EQ(model.calls[i].inputs.at(0).call, i - 1) << i;
  EXPECT_THAT(model.untimed, IsEmpty());
}

TEST(OnnxFunctions, GiveWhatTheyWereGivenAndTheirDefaults) {
  OnnxGraph graph;
  graph.input("x", {2, 3, 4});
  call(graph, "Pass", {"x"}, "p", "pass");
  graph.last_node().add_output("q");
  call(graph, "Soft", {"p"}, "s", "soft");
  graph.node("Add", {"s", "q"}, "y").output("y");
  Function(graph, "Pass", {"input"}, {"input", "input"}).node("Relu", {"input"}, "unused");
  Function soft(graph, "Soft", {"input"}, {"result"});
  soft.node("LayerNormalization", {"input"}, "result").attribute_of_caller("axis", "dim");
  // As the schema of ONNX 1.13 writes a default: field 11.
  onnx::AttributeProto usual;
  usual.set_name("dim");
  usual.set_i(1);
  std::string bytes = soft.message().SerializeAsString();
  const std::string attribute = usual.SerializeAsString();
  bytes += static_cast<char>(11 << 3 | 2);
  bytes += static_cast<char>(attribute.size());
  ASSERT_TRUE(soft.message().ParseFromString(bytes + attribute));
  const Model model = import_of(graph);
  EXPECT_THAT(works_of(model),
              ElementsAre(HasSubstr("relu:count=24"), HasSubstr("layer_norm:rows=2,columns=12"),
                          HasSubstr("add:count=24")));
}

// As torch.onnx.dynamo_export wrote aten::t: another branch for a vector than for a matrix.
TEST(OnnxFunctions, TakeTheBranchThatTheirInputsAskFor) {
  OnnxGraph graph;
  graph.input("x", {2, 8}).input("v", {3}).weight("w", {4, 8});
  call(graph, "Turn", {"w"}, "t", "turn");
  graph.node("MatMul", {"x", "t"}, "y");
  call(graph, "Turn", {"v"}, "u", "keep");
  graph.node("Relu", {"u"}, "r").output("y");
  Function turn(graph, "Turn", {"input"}, {"result"});
  turn.node("Shape", {"input"}, "shape").node("Size", {"shape"}, "rank").node("Constant", {}, "two");
  onnx::AttributeProto& two = *turn.message().mutable_node(2)->add_attribute();
  two.set_name("value_int");
  two.set_i(2);
  turn.node("Equal", {"rank", "two"}, "is_matrix").node("If", {"is_matrix"}, "result");
  for (const std::string name : {"Transpose", "Identity"}) {
    onnx::AttributeProto& branch = *turn.message().mutable_node(4)->add_attribute();
    branch.set_name(name == "Transpose" ? "then_branch" : "else_branch");
    onnx::NodeProto& node = *branch.mutable_g()->add_node();
    node.set_op_type(name);
    node.add_input("input");
    node.add_output("inner");
    branch.mutable_g()->add_output()->set_name("inner");
  }
  const Model model = import_of(graph);
  EXPECT_THAT(works_of(model),
              ElementsAre(HasSubstr("linear:n=2,in=8,out=4,bias=0"), HasSubstr("relu:count=3")));
  EXPECT_THAT(model.untimed, IsEmpty());
  // A condition that only running gives.
  OnnxGraph open;
  open.input("x", {2, 8}).node("ReduceMax", {"x"}, "c").node("If", {"c"}, "y").node("Relu", {"x"}, "r");
  const Model unknown = import_of(open);
  EXPECT_THAT(unknown.untimed.back().reason, HasSubstr("not known before it runs"));
}

TEST(OnnxFunctions, ThatCallThemselvesAreRefused) {
  OnnxGraph graph;
  graph.input("x", {2, 3});
  call(graph, "A", {"x"}, "y", "a");
  Function(graph, "A", {"i"}, {"o"}).node("B", {"i"}, "o", "torch.nn");
  Function(graph, "B", {"i"}, {"o"}).node("A", {"i"}, "o", "torch.nn");
  EXPECT_THAT(usage_message([&] { import_of(graph); }),
              AllOf(HasSubstr("m.onnx"), HasSubstr("'A' calls itself"), HasSubstr("export it again")));
  // Each calls the next twice.
  OnnxGraph bomb;
  bomb.input("x", {2, 3});
  call(bomb, "F0", {"x"}, "y", "f");
  for (int i = 0; i < 30; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    Function(bomb, "F" + std::to_string(i), {"i"}, {"o"})
        .node(next, {"i"}, "m", "torch.nn")
        .node(next, {"m"}, "o", "torch.nn");
  }
  EXPECT_THAT(usage_message([&] { import_of(bomb); }), HasSubstr("unfold to more than"));
}

class OnnxOutside : public testing::WrittenFile {
 protected:
  /// A reshape to numbers that are in another file, at its byte 4.
  OnnxGraph reshape_to(const std::string& location, const std::string& length = "24") const {
    OnnxGraph graph;
    graph.input("x", {64, 256}).numbers("to", {2, 32, 256}).weight("w", {256, 8});
    onnx::TensorProto& to = *graph.model().mutable_graph()->mutable_initializer(0);
    to.clear_int64_data();
    for (const auto& [key, value] : {std::pair("location", location.c_str()), std::pair("offset", "4"),
                                     std::pair("length", length.c_str())}) {
      auto& entry = *to.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    graph.node("Reshape", {"x", "to"}, "r").node("MatMul", {"r", "w"}, "y").node("Relu", {"x"}, "z");
    return graph;
  }
  Model import_beside(const OnnxGraph& graph) const { return import_file(write(graph.bytes()), {}); }
  void write_numbers(const std::string& name, std::size_t bytes = 24) const {
    const std::int64_t numbers[] = {4, 16, 256};
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream stream(folder_ / name, std::ios::binary);
    stream.write("junk", 4);
    stream.write(reinterpret_cast<const char*>(numbers), static_cast<std::streamsize>(bytes));
  }
};

TEST_F(OnnxOutside, NumbersOfShapesAreReadFromBesideTheModel) {
  for (const std::string name : {"model.data", "parts/one.bin"}) {
    write_numbers(name);
    const Model model = import_beside(reshape_to(name));
    EXPECT_THAT(works_of(model), ElementsAre(HasSubstr("linear:n=64,in=256,out=8"), HasSubstr("relu")));
    EXPECT_THAT(model.notes, IsEmpty());
    EXPECT_FALSE(model.is_incomplete);
    EXPECT_THAT(works_of(import_beside(reshape_to(name, ""))),
                ElementsAre(HasSubstr("linear"), HasSubstr("relu")));
  }
}

TEST_F(OnnxOutside, AFileThatIsNotThereIsNamed) {
  const Model model = import_beside(reshape_to("model.data"));
  EXPECT_TRUE(model.is_incomplete);
  EXPECT_THAT(model.notes, ElementsAre(AllOf(HasSubstr("The numbers of 'to' are in 'model.data'"),
                                             HasSubstr("put it there"))));
  EXPECT_THAT(works_of(model), ElementsAre(HasSubstr("relu")));
  write_numbers("model.data", 20);
  EXPECT_THAT(import_beside(reshape_to("model.data")).notes, ElementsAre(HasSubstr("ends before them")));
  EXPECT_THAT(import_beside(reshape_to("model.data", "-8")).notes, ElementsAre(HasSubstr("cannot have")));
  // Weights are not needed.
  OnnxGraph weights;
  weights.input("x", {1, 3, 8, 8}).weight("w", {4, 3, 3, 3}).weight("b", {4});
  weights.node("Conv", {"x", "w", "b"}, "y");
  EXPECT_THAT(import_beside(weights).notes, IsEmpty());
}

TEST_F(OnnxOutside, NothingOutsideOfItsFolderIsOpened) {
  write_numbers("model.data");
  std::filesystem::create_directories(folder_ / "inner");
  const std::filesystem::path model = folder_ / "inner" / "m.onnx";
  for (const std::string& location : {std::string("../model.data"), (folder_ / "model.data").string(),
                                      std::string("../inner/../model.data")}) {
    std::ofstream(model, std::ios::binary) << reshape_to(location).bytes();
    EXPECT_THAT(import_file(model, {}).notes, ElementsAre(HasSubstr("outside of the model's folder")))
        << location;
  }
  std::ofstream(model, std::ios::binary) << reshape_to(".").bytes();
  EXPECT_THAT(import_file(model, {}).notes, ElementsAre(HasSubstr("not a plain file")));
}

}  // namespace
}  // namespace jitterscope
