#include "import/onnx.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "import/import.hpp"
#include "import/onnx_graph.hpp"
#include "model/named_models.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OnnxGraph;
using testing::Shape;
using ::testing::SizeIs;
using testing::usage_message;

Model import_text(const std::string& bytes, const std::string& options = "") {
  return import_onnx(bytes, "m.onnx", parse_model_options(options, "m.onnx"));
}
Model imported(const OnnxGraph& graph, const std::string& options = "") {
  return import_text(graph.bytes(), options);
}
std::string problem(const OnnxGraph& graph, const std::string& options = "") {
  return usage_message([&] { imported(graph, options); });
}

std::vector<std::string> works(const Model& model) {
  std::vector<std::string> result;
  for (const Call& call : model.calls)
    result.push_back(call.name + " " + model.layers[call.layer].operation.text());
  return result;
}
std::vector<std::string> untimed(const Model& model) {
  std::vector<std::string> result;
  for (const UntimedOperator& entry : model.untimed)
    result.push_back(entry.name + " " + std::to_string(entry.count) + ": " + entry.reason);
  return result;
}

OnnxGraph small_network() {
  OnnxGraph graph;
  graph.input("x", {1, 3, 8, 8}).weight("conv.weight", {4, 3, 3, 3}).weight("conv.bias", {4});
  graph.node("Conv", {"x", "conv.weight", "conv.bias"}, "c").integers("pads", {1, 1, 1, 1});
  graph.node("Relu", {"c"}, "r").node("GlobalAveragePool", {"r"}, "p").node("Flatten", {"p"}, "f");
  graph.weight("fc.weight", {10, 4}).weight("fc.bias", {10});
  graph.node("Gemm", {"f", "fc.weight", "fc.bias"}, "y").integer("transB", 1).output("y");
  return graph;
}

TEST(Onnx, RunsWhatPyTorchWould) {
  const Model model = imported(small_network());
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.format, "ONNX model");
  EXPECT_EQ(model.layers[0].source, "Conv");
  EXPECT_THAT(
      works(model),
      ElementsAre("conv.fprop conv2d:n=1,c=3,hw=8,k=4,rs=3,pad=1,dtype=tf32,layout=nchw,direction=fprop",
                  "conv.bias.forward bias_add:n=1,c=4,hw=8,dtype=f32,layout=nchw",
                  "node_r.forward relu:count=256,dtype=f32",
                  "node_p.forward avg_pool:n=1,c=4,hw=8,window=8,dtype=f32,layout=nchw",
                  "fc.fprop linear:n=1,in=4,out=10,dtype=f32"));
  for (std::size_t i = 1; i < model.calls.size(); ++i) {
    ASSERT_THAT(model.calls[i].inputs, SizeIs(1)) << i;
    EXPECT_EQ(model.calls[i].inputs[0].call, i - 1);
  }
  EXPECT_THAT(model.untimed, IsEmpty());
  EXPECT_THAT(model.notes, IsEmpty());
}

TEST(Onnx, TakesTheBatchTheTypeAndTheLayoutFromTheOptions) {
  const Model model = imported(small_network(), "batch=6,dtype=f16,layout=nhwc");
  EXPECT_THAT(works(model)[0], HasSubstr("n=6,c=3,hw=8,k=4,rs=3,pad=1,dtype=f16,layout=nhwc"));
  EXPECT_THAT(works(model).back(), HasSubstr("n=6,in=4,out=10,dtype=f16"));
}

// A network of halves whose input is whole numbers, or is cast.
TEST(Onnx, TheTypeIsThatOfMostWeights) {
  const auto half = onnx::TensorProto::FLOAT16;
  OnnxGraph ids;
  ids.input("ids", {2, 8}).weight("words.weight", {100, 16}, half).weight("eps", {1});
  ids.node("Gather", {"words.weight", "ids"}, "y");
  ids.model().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  EXPECT_THAT(works(imported(ids)), ElementsAre(HasSubstr("dtype=f16")));
  EXPECT_THAT(works(imported(ids, "dtype=f64")), ElementsAre(HasSubstr("dtype=f64")));
  OnnxGraph cast;
  cast.input("x", {1, 3, 8, 8}).value("h", {1, 3, 8, 8}).node("Cast", {"x"}, "h").integer("to", half);
  cast.weight("w", {4, 3, 3, 3}, half).node("Conv", {"h", "w"}, "y");
  EXPECT_THAT(works(imported(cast)), ElementsAre(HasSubstr("dtype=f16")));
  cast.model().mutable_graph()->mutable_initializer(0)->set_data_type(onnx::TensorProto::BFLOAT16);
  EXPECT_THAT(works(imported(cast)), ElementsAre(HasSubstr("dtype=bf16")));
}

TEST(Onnx, RunsBackwardWhereItIsAskedFor) {
  EXPECT_THAT(imported(small_network(), "direction=fprop").calls, SizeIs(5));
  const Model training = imported(small_network(), "direction=training");
  EXPECT_THAT(training.calls, SizeIs(5 + 5));  // no gradient of the input, none of biases
  EXPECT_EQ(training.calls.back().name, "conv.wgrad");
  EXPECT_THAT(works(imported(small_network(), "direction=wgrad")), SizeIs(2));
}

// PyTorch's own exports, where its exporter has left out the biases that are zero.
TEST(Onnx, RealFilesHaveTheLayersOfTheNetworksByName) {
  const auto products = [](const Model& model) {
    std::map<std::string, std::int64_t> counts;
    for (const Layer& layer : model.layers) {
      std::string text = layer.operation.text();
      if (const auto* linear = std::get_if<Linear>(&layer.operation.parameters())) {
        Linear plain = *linear;
        plain.bias = false;
        text = Operation(plain).text();
      } else if (layer.operation.kind() != "conv2d") {
        continue;
      }
      counts[text] += layer.count();
    }
    return counts;
  };
  for (const std::string name : {"resnet50", "vgg16", "mobilenet_v2"}) {
    const Model named = *named_model(name, parse_model_options("direction=fprop,batch=5", name));
    const Model read = import_text(read_file(JITTERSCOPE_TEST_DATA "/" + name + ".onnx.gz").text, "batch=5");
    EXPECT_EQ(products(read), products(named)) << name;
    EXPECT_THAT(untimed(read), IsEmpty()) << name;
    EXPECT_GT(read.calls.size(), 30u);
  }
}

TEST(Onnx, AnOpenAxisIsAskedFor) {
  OnnxGraph graph;
  graph.input("ids", {-1, -1}, {"batch_size", "seq"}).weight("words.weight", {100, 16});
  graph.node("Gather", {"words.weight", "ids"}, "y");
  EXPECT_THAT(problem(graph),
              AllOf(HasSubstr("m.onnx"), HasSubstr("batch and of seq"), HasSubstr("m.onnx:batch=…,seq=…")));
  EXPECT_THAT(problem(graph, "batch=2"), AllOf(HasSubstr("seq"), Not(HasSubstr("batch="))));
  EXPECT_THAT(works(imported(graph, "batch=2,seq=7")),
              ElementsAre("words.forward embedding:count=14,rows=100,columns=16,dtype=f32"));
  EXPECT_THAT(works(imported(graph, "batch_size=3,seq=7")), ElementsAre(HasSubstr("count=21")));
  EXPECT_THAT(problem(graph, "batch=2,sec=7"), AllOf(HasSubstr("'sec'"), HasSubstr("'seq'")));
}

// Some exporters write -1 or 0 for it, and names that no option can have.
TEST(Onnx, AnAxisOfMinusOneIsOpen) {
  OnnxGraph graph;
  graph.input("x", {1, 3, -1, -1}).weight("w", {8, 3, 3, 3}).node("Conv", {"x", "w"}, "c");
  graph.integers("pads", {1, 1, 1, 1}).node("Relu", {"c"}, "y").output("y", {1, 8});
  const auto set_first = [&](std::int64_t size) {
    for (auto* value :
         {graph.model().mutable_graph()->mutable_input(0), graph.model().mutable_graph()->mutable_output(0)})
      value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(size);
  };
  for (const std::int64_t size : {-1, 0}) {
    set_first(size);
    EXPECT_THAT(problem(graph), HasSubstr("the size of batch and of x_2 and of x_3 is left open; say it: "
                                          "m.onnx:batch=…,x_2=…,x_3=…"));
    EXPECT_THAT(works(imported(graph, "batch=2,x_2=8,x_3=8")),
                ElementsAre(HasSubstr("conv2d:n=2,c=3,hw=8,k=8,"), HasSubstr("relu:count=1024")));
    EXPECT_THAT(problem(graph, "batch=2,x_2=8"), AllOf(HasSubstr("x_3=…"), Not(HasSubstr("x_2"))));
  }
  OnnxGraph named;
  named.input("x", {-1, -1, -1}, {"batch size", "s0 + 1", "layout"}).node("Relu", {"x"}, "y");
  EXPECT_THAT(problem(named), HasSubstr("m.onnx:batch=…,s0___1=…,layout_=…"));
  EXPECT_THAT(works(imported(named, "batch=2,s0___1=3,layout_=4")), ElementsAre(HasSubstr("count=24")));
}

TEST(Onnx, TheBatchMayBeTheSecondAxis) {
  OnnxGraph graph;
  graph.input("x", {-1, -1, 16}, {"seq", "batch"}).node("Relu", {"x"}, "y");
  EXPECT_THAT(problem(graph), HasSubstr("m.onnx:seq=…,batch=…"));
  EXPECT_THAT(works(imported(graph, "batch=2,seq=5")), ElementsAre(HasSubstr("count=160")));
}

TEST(Onnx, WeightsMayBeAbsent) {
  OnnxGraph inputs;  // as inputs of the graph, whose first axis is no batch
  inputs.input("x", {1, 3, 8, 8}).input("w", {4, 3, 3, 3}).node("Conv", {"x", "w"}, "y");
  EXPECT_THAT(works(imported(inputs, "batch=2")), ElementsAre(HasSubstr("n=2,c=3,hw=8,k=4,rs=3,")));
  OnnxGraph nowhere;
  nowhere.input("x", {1, 3, 8, 8}).value("y", {1, 4, 6, 6});
  nowhere.node("Conv", {"x", "w"}, "y").integers("kernel_shape", {3, 3});
  EXPECT_THAT(works(imported(nowhere)), ElementsAre(HasSubstr("k=4,rs=3,")));
}

// As torch.onnx.export(export_params=False) writes them.
TEST(Onnx, AVectorThatIsOnlyAddedIsABias) {
  OnnxGraph graph;
  graph.input("x", {2, 5, 8}).input("w", {8, 3}).input("b", {3});
  graph.node("MatMul", {"x", "w"}, "m").node("Add", {"b", "m"}, "y");
  EXPECT_THAT(works(imported(graph, "batch=4")), ElementsAre(HasSubstr("linear:n=20,in=8,out=3,dtype")));
  OnnxGraph data;  // a batch of matrices is no weight
  data.input("q", {2, 4, 8}).input("k", {2, 8, 4}).node("MatMul", {"q", "k"}, "y");
  EXPECT_THAT(works(imported(data, "batch=6")), ElementsAre(HasSubstr("matmul:m=4,n=4,k=8,batch=6")));
}

TEST(Onnx, WhatIsNotKnownIsListedAndTheRestIsDone) {
  OnnxGraph graph;
  graph.input("x", {2, 8}).node("Mystery", {"x"}, "a").value("a", {2, 8}).node("Relu", {"a"}, "b");
  graph.node("Mystery", {"b"}, "c").node("Relu", {"c"}, "d").node("Tanh", {"x"}, "t");
  graph.node("Relu", {"t"}, "u");
  graph.last_node().set_domain("com.example");
  const Model model = imported(graph);
  EXPECT_THAT(works(model), ElementsAre("node_b.forward relu:count=16,dtype=f32", HasSubstr("tanh")));
  EXPECT_THAT(untimed(model),
              ElementsAre("Mystery 2: jitterscope has no operation for it",
                          "Relu 1: the shape of its input is not known",
                          "Relu 1: it belongs to com.example, of which no operator is known"));
}

TEST(Onnx, OperatorsWithoutOutputsAreLeftOut) {
  OnnxGraph graph = small_network();
  graph.node("Conv", {"x", "conv.weight", "conv.bias"}, "").node("Reshape", {"x", ""}, "");
  graph.last_node().add_output("");
  const Model model = imported(graph);
  EXPECT_THAT(model.calls, SizeIs(5));
  EXPECT_THAT(untimed(model), ElementsAre("Conv 1: it has no output", "Reshape 1: it has no output"));
}

TEST(Onnx, AnOpsetThatIsNotKnownIsNoted) {
  OnnxGraph newer(99);
  newer.input("x", {2, 8}).node("Relu", {"x"}, "y");
  EXPECT_THAT(imported(newer).notes, ElementsAre(HasSubstr("version 99")));
  newer.model().clear_opset_import();
  EXPECT_THAT(imported(newer).notes, ElementsAre(HasSubstr("does not say")));
}

TEST(Onnx, DamagedFilesAreNamed) {
  const std::string bytes = small_network().bytes();
  EXPECT_THAT(usage_message([&] { import_text("no protobuf at all"); }),
              HasSubstr("m.onnx: not an ONNX file"));
  EXPECT_THAT(usage_message([&] { import_text(bytes.substr(0, bytes.size() / 2)); }),
              HasSubstr("ends too early"));
  EXPECT_THAT(usage_message([] { import_text(""); }), HasSubstr("no graph"));
  OnnxGraph empty;
  empty.input("x", {1, 2});
  EXPECT_THAT(problem(empty), HasSubstr("no graph"));
  OnnxGraph nothing;
  nothing.input("x", {1, 2}).node("Mystery", {"x"}, "y");
  EXPECT_THAT(problem(nothing), AllOf(HasSubstr("none of its 1 operators can be timed; 1 of Mystery: "
                                                "jitterscope has no operation for it"),
                                      Not(HasSubstr("version"))));
  OnnxGraph newer(99);
  newer.input("x", {1, 2}).node("Mystery", {"x"}, "y");
  EXPECT_THAT(problem(newer), AllOf(HasSubstr("1 of Mystery"), HasSubstr("version 99")));
}

TEST(Onnx, ACycleIsNamed) {
  OnnxGraph graph;
  graph.input("x", {2, 8}).node("Relu", {"x"}, "y").node("Add", {"y", "b"}, "a").node("Relu", {"a"}, "b");
  EXPECT_THAT(problem(graph), AllOf(HasSubstr("cycle"), HasSubstr("'Add'"), HasSubstr("node_a")));
}

TEST(Onnx, OperatorsMayStandInAnyOrder) {
  OnnxGraph graph;
  graph.input("x", {2, 8}).node("Tanh", {"r"}, "y").node("Relu", {"x"}, "r");
  EXPECT_THAT(works(imported(graph)), ElementsAre(HasSubstr("relu"), HasSubstr("tanh")));
}

TEST(Onnx, AbsurdSizesAreSaid) {
  OnnxGraph huge;
  huge.input("x", {1 << 30, 1 << 30, 1 << 30}).node("Relu", {"x"}, "y");
  EXPECT_THAT(problem(huge), HasSubstr("none of its 1 operators"));
  OnnxGraph window;
  window.input("x", {1, 3, 8, 8}).weight("w", {4, 3, 3, 3}).node("Conv", {"x", "w"}, "y");
  window.integers("strides", {std::numeric_limits<std::int64_t>::max(), 0}).node("Relu", {"x"}, "r");
  const Model model = imported(window);
  EXPECT_THAT(model.calls, SizeIs(1));
  EXPECT_THAT(untimed(model), ElementsAre(HasSubstr("Conv 1: ")));
}

TEST(Onnx, AFixedReshapeFollowsTheBatch) {
  OnnxGraph graph;
  graph.input("x", {2, 4, 4}).numbers("to", {4, 8}).node("Reshape", {"x", "to"}, "r");
  graph.weight("w", {8, 3}).node("MatMul", {"r", "w"}, "y");
  EXPECT_THAT(works(imported(graph, "batch=6")), ElementsAre(HasSubstr("linear:n=12,in=8,out=3,bias=0")));
  OnnxGraph fixed;
  fixed.input("x", {2, 4, 4})
      .numbers("to", {8, 4})
      .node("Reshape", {"x", "to"}, "r")
      .node("Relu", {"r"}, "y");
  EXPECT_THAT(works(imported(fixed, "batch=3")), ElementsAre(HasSubstr("count=48")));
  OnnxGraph stuck;
  stuck.input("x", {2, 4, 4})
      .numbers("to", {1, 32})
      .node("Reshape", {"x", "to"}, "r")
      .node("Relu", {"r"}, "y");
  EXPECT_THAT(problem(stuck, "batch=3"), AllOf(HasSubstr("batch of 2"), HasSubstr("leave out batch=")));
}

}  // namespace
}  // namespace jitterscope
