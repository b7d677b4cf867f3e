#include <gmock/gmock.h>

#include "import/import.hpp"
#include "import/onnx_graph.hpp"

namespace jitterscope {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::OnnxGraph;

Model imported_operators(const OnnxGraph& graph, const std::string& options = "") {
  return import_onnx(graph.bytes(), "m.onnx", parse_model_options(options, "m.onnx"));
}
std::vector<std::string> works(const OnnxGraph& graph, const std::string& options = "") {
  const Model model = imported_operators(graph, options);
  std::vector<std::string> result;
  for (const Call& call : model.calls) result.push_back(model.layers[call.layer].operation.text());
  return result;
}
OnnxGraph operator_maps() { return OnnxGraph().input("x", {2, 6, 9, 8}); }

TEST(OnnxOperators, ConvolutionsWithUnevenWindows) {
  OnnxGraph graph = operator_maps().weight("w", {4, 3, 3, 2});
  graph.node("Conv", {"x", "w"}, "y")
      .integer("group", 2)
      .integers("strides", {2, 1})
      .integers("pads", {1, 0, 1, 0});
  EXPECT_THAT(works(graph),
              ElementsAre("conv2d:n=2,c=6,h=9,w=8,k=4,r=3,s=2,stride=2x1,pad=1x0,groups=2,dtype=tf32,"
                          "layout=nchw,direction=fprop"));
}

TEST(OnnxOperators, PaddingThatIsUnevenOrChosenByRule) {
  OnnxGraph uneven = operator_maps().weight("w", {4, 6, 3, 3});
  uneven.node("Conv", {"x", "w"}, "y").integers("pads", {0, 0, 1, 1});
  EXPECT_THAT(works(uneven), ElementsAre(HasSubstr("h=10,w=9,k=4,rs=3,dtype")));
  EXPECT_EQ(imported_operators(uneven).untimed.at(0).name, "Pad");
  OnnxGraph same = operator_maps().weight("w", {4, 6, 3, 3});
  same.node("Conv", {"x", "w"}, "y").text("auto_pad", "SAME_UPPER");
  EXPECT_THAT(works(same), ElementsAre(HasSubstr("h=9,w=8,k=4,rs=3,pad=1,")));
}

TEST(OnnxOperators, OneDimensionIsAHeightOfOne) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 6, 9}).weight("w", {4, 6, 3});
  graph.node("Conv", {"x", "w"}, "c").integers("pads", {1, 1}).node("Relu", {"c"}, "y");
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("h=1,w=9,k=4,r=1,s=3,pad=0x1,"), HasSubstr("count=72")));
}

TEST(OnnxOperators, TransposedConvolutionsAreDataGradients) {
  OnnxGraph graph = operator_maps().weight("w", {6, 4, 2, 2});
  graph.node("ConvTranspose", {"x", "w"}, "c").integers("strides", {2, 2}).node("Relu", {"c"}, "y");
  EXPECT_THAT(works(graph),
              ElementsAre("conv2d:n=2,c=4,h=18,w=16,k=6,rs=2,stride=2,dtype=tf32,layout=nchw,direction=dgrad",
                          HasSubstr("count=2304")));
}

// Where the file gives the output's size, the padding follows from it.
TEST(OnnxOperators, TransposedConvolutionsOfAGivenSize) {
  const auto transposed = [](std::int64_t window) {
    OnnxGraph graph = OnnxGraph().input("x", {2, 6, 7, 7}).weight("w", {6, 4, window, window});
    graph.node("ConvTranspose", {"x", "w"}, "c").integers("strides", {2, 2});
    return graph;
  };
  OnnxGraph even = transposed(4);
  even.text("auto_pad", "SAME_UPPER");
  EXPECT_THAT(works(even), ElementsAre(HasSubstr("n=2,c=4,hw=14,k=6,rs=4,stride=2,pad=1,")));
  OnnxGraph sized = transposed(4);
  sized.integers("output_shape", {12, 12});
  EXPECT_THAT(works(sized), ElementsAre(HasSubstr("n=2,c=4,hw=12,k=6,rs=4,stride=2,pad=2,")));
  for (const bool same : {false, true}) {
    OnnxGraph uneven = transposed(3);
    same ? uneven.text("auto_pad", "SAME_LOWER") : uneven.integers("output_shape", {14, 14});
    uneven.node("Relu", {"c"}, "y");
    EXPECT_THAT(works(uneven), ElementsAre(HasSubstr("relu:count=1568")));
    EXPECT_EQ(imported_operators(uneven).untimed.at(0).reason, "its padding is uneven");
  }
}

TEST(OnnxOperators, ProductsWithAndWithoutBias) {
  OnnxGraph linear = OnnxGraph().input("x", {2, 5, 8}).weight("w", {8, 3}).weight("b", {3});
  linear.node("MatMul", {"x", "w"}, "m").node("Add", {"b", "m"}, "y").node("Relu", {"y"}, "r");
  EXPECT_THAT(works(linear), ElementsAre("linear:n=10,in=8,out=3,dtype=f32", HasSubstr("count=30")));
  OnnxGraph batched = OnnxGraph().input("a", {2, 3, 4, 5}).input("b", {2, 3, 5, 6});
  batched.node("MatMul", {"a", "b"}, "y");
  EXPECT_THAT(works(batched), ElementsAre("matmul:m=4,n=6,k=5,batch=6,dtype=f32"));
  OnnxGraph gemm = OnnxGraph().input("x", {8, 2}).weight("w", {8, 3}).node("Gemm", {"x", "w"}, "y");
  gemm.integer("transA", 1);
  EXPECT_THAT(works(gemm), ElementsAre("matmul:m=2,n=3,k=8,ta=1,dtype=f32"));
}

TEST(OnnxOperators, SumsOfAnyNumberOfTensors) {
  OnnxGraph two = operator_maps();
  two.node("Tanh", {"x"}, "t").node("Sum", {"t", "x"}, "s").node("Relu", {"s"}, "y");
  EXPECT_THAT(works(two),
              ElementsAre(HasSubstr("tanh"), "add:count=864,dtype=f32", "relu:count=864,dtype=f32"));
  OnnxGraph three = operator_maps().input("z", {2, 6, 9, 8}).weight("b", {1, 6, 1, 1});
  three.node("Sum", {"b", "x", "z"}, "s").node("Relu", {"s"}, "y");
  const Model model = imported_operators(three);
  EXPECT_THAT(works(three), ElementsAre(HasSubstr("bias_add:n=2,c=6,h=9,w=8"), "add:count=864,dtype=f32", _));
  EXPECT_EQ(model.calls.at(0).name, "node_s.1.forward");
  EXPECT_EQ(model.calls.at(1).inputs.at(0).call, 0u);
  EXPECT_EQ(model.calls.at(2).inputs.at(0).call, 1u);
  OnnxGraph one = operator_maps();
  one.node("Sum", {"x"}, "s").node("Max", {"s"}, "m").node("Mean", {"m"}, "n").node("Relu", {"n"}, "y");
  EXPECT_THAT(works(one), ElementsAre("relu:count=864,dtype=f32"));
  OnnxGraph unlike = operator_maps().input("z", {2, 1, 9, 8});
  unlike.node("Sum", {"x", "z"}, "s").node("Max", {"s", "x"}, "m").node("Relu", {"m"}, "y");
  EXPECT_THAT(works(unlike), ElementsAre("relu:count=864,dtype=f32"));
  EXPECT_EQ(imported_operators(unlike).untimed.at(0).reason, "it adds a tensor of another shape");
  EXPECT_THAT(imported_operators(unlike).untimed.at(1).reason, HasSubstr("has no operation for"));
}

TEST(OnnxOperators, OthersThatRunAsKindsThatThereAre) {
  OnnxGraph pool = operator_maps();
  pool.node("GlobalMaxPool", {"x"}, "p").node("Flatten", {"p"}, "f").node("Relu", {"f"}, "y");
  EXPECT_THAT(works(pool), ElementsAre(HasSubstr("max_pool:n=2,c=6,h=9,w=8,"), HasSubstr("relu:count=12")));
  OnnxGraph clip = operator_maps().scalar("low", 0.0f);
  clip.node("Clip", {"x", "low"}, "y").node("Swish", {"y"}, "z");
  EXPECT_THAT(works(clip), ElementsAre(HasSubstr("relu:count=864"), HasSubstr("silu:count=864")));
  OnnxGraph instances = operator_maps().weight("w", {6}).weight("b", {6});
  instances.node("InstanceNormalization", {"x", "w", "b"}, "y");
  EXPECT_THAT(works(instances), ElementsAre(HasSubstr("batch_norm:n=1,c=12,h=9,w=8,")));
}

TEST(OnnxOperators, AttentionAsOneOperator) {
  OnnxGraph heads =
      OnnxGraph(23).input("q", {2, 4, 8, 16}).input("k", {2, 4, 10, 16}).input("v", {2, 4, 10, 16});
  heads.node("Attention", {"q", "k", "v"}, "a").integer("is_causal", 1).node("Relu", {"a"}, "y");
  EXPECT_THAT(works(heads),
              ElementsAre("attention:batch=2,heads=4,queries=8,keys=10,dim=16,causal=1,dtype=f32",
                          HasSubstr("relu:count=1024")));
  OnnxGraph beside = OnnxGraph(23).input("q", {2, 8, 64}).input("k", {2, 10, 64}).input("v", {2, 10, 64});
  beside.node("Attention", {"q", "k", "v"}, "a").integer("q_num_heads", 4).integer("kv_num_heads", 4);
  EXPECT_THAT(works(beside), ElementsAre(HasSubstr("bshd")));
  OnnxGraph masked = OnnxGraph(23).input("q", {2, 4, 8, 16}).input("m", {8, 8});
  masked.node("Attention", {"q", "q", "q", "m"}, "a").node("Relu", {"a"}, "y");
  EXPECT_THAT(works(masked), ElementsAre(HasSubstr("relu:count=1024")));
  EXPECT_THAT(imported_operators(masked).untimed.at(0).reason, HasSubstr("mask"));
}

OnnxGraph einsum(const std::string& equation, const testing::Shape& a, const testing::Shape& b) {
  OnnxGraph graph = OnnxGraph().input("a", a).input("b", b);
  graph.node("Einsum", {"a", "b"}, "m").text("equation", equation).node("Relu", {"m"}, "y");
  return graph;
}

TEST(OnnxOperators, EquationsThatAreProducts) {
  EXPECT_THAT(works(einsum("b h i d, b h j d -> b h i j", {2, 3, 8, 16}, {2, 3, 9, 16})),
              ElementsAre("matmul:m=8,n=9,k=16,batch=6,tb=1,dtype=f32", "relu:count=432,dtype=f32"));
  EXPECT_THAT(works(einsum("zkm,zkn->zmn", {4, 5, 6}, {4, 5, 7})),
              ElementsAre("matmul:m=6,n=7,k=5,batch=4,ta=1,dtype=f32", "relu:count=168,dtype=f32"));
  EXPECT_THAT(works(einsum("ij,jk->ik", {4, 5}, {5, 7})), ElementsAre("matmul:m=4,n=7,k=5,dtype=f32", _));
}

TEST(OnnxOperators, EquationsThatAreNone) {
  // What follows is timed where the shape is known.
  for (const char* equation : {"zmk,kzn->zmn", "zmk,zkn->mzn", "zmk,zmk->zmk"}) {
    const Model model = imported_operators(einsum(equation, {4, 4, 4}, {4, 4, 4}));
    ASSERT_EQ(model.untimed.size(), 1u) << equation;
    EXPECT_THAT(model.untimed[0].reason, HasSubstr("not a matrix product")) << equation;
    EXPECT_THAT(model.layers.at(0).operation.text(), "relu:count=64,dtype=f32");
  }
  for (const char* equation :
       {"...mk,...kn->...mn", "zmk,zkn", "zmm,zmn->zmn", "zmk,zkn,zkn->zmn", "zmk,zkn->zmx", "->"}) {
    const Model model = imported_operators(einsum(equation, {4, 4, 4}, {4, 4, 4}).node("Tanh", {"a"}, "t"));
    EXPECT_EQ(model.untimed.size(), 2u) << equation;
    EXPECT_THAT(model.untimed[0].reason, HasSubstr("equation")) << equation;
  }
  const OnnxGraph unequal = einsum("zmk,zkn->zmn", {4, 4, 4}, {4, 5, 4}).node("Tanh", {"a"}, "t");
  EXPECT_EQ(imported_operators(unequal).untimed.size(), 2u);
}

// torch.matmul views its operands as batches of matrices, and copies what cannot be seen so.
TEST(OnnxOperators, ProductsWithViews) {
  OnnxGraph keys = OnnxGraph().input("q", {2, 4, 8, 16}).input("k", {2, 4, 8, 16});
  keys.node("Transpose", {"k"}, "t").integers("perm", {0, 1, 3, 2}).node("MatMul", {"q", "t"}, "y");
  EXPECT_THAT(works(keys), ElementsAre("matmul:m=8,n=8,k=16,batch=8,tb=1,dtype=f32"));
  EXPECT_THAT(imported_operators(keys).untimed, IsEmpty());
  OnnxGraph heads = OnnxGraph().input("q", {2, 4, 8, 16}).input("k", {2, 8, 4, 16});
  heads.node("Transpose", {"k"}, "t").integers("perm", {0, 2, 3, 1}).node("MatMul", {"q", "t"}, "y");
  EXPECT_THAT(works(heads), ElementsAre("matmul:m=8,n=8,k=16,batch=8,dtype=f32"));
  ASSERT_EQ(imported_operators(heads).untimed.size(), 1u);
  EXPECT_EQ(imported_operators(heads).untimed[0].name, "clone");
  OnnxGraph weight = OnnxGraph().input("x", {2, 5, 8}).weight("w", {3, 8});
  weight.node("Transpose", {"w"}, "t").node("MatMul", {"x", "t"}, "y");
  EXPECT_THAT(works(weight), ElementsAre("linear:n=10,in=8,out=3,bias=0,dtype=f32"));
  OnnxGraph gradient = OnnxGraph().input("x", {5, 8}).weight("w", {5, 3});
  gradient.node("Transpose", {"x"}, "t").node("Gemm", {"t", "w"}, "y");
  EXPECT_THAT(works(gradient), ElementsAre("matmul:m=8,n=3,k=5,ta=1,dtype=f32"));
}

TEST(OnnxOperators, BatchNormsAreThoseOfInferenceUnlessTrained) {
  OnnxGraph graph = operator_maps();
  for (const char* name : {"s", "b", "m", "v"}) graph.weight(name, {6});
  graph.node("BatchNormalization", {"x", "s", "b", "m", "v"}, "y").output("y");
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("pass=inference")));
  EXPECT_THAT(works(graph, "direction=training"),
              ElementsAre(EndsWith("layout=nchw"), EndsWith("pass=backward")));
}

// As a trace of PyTorch has it, so that both files name one operation.
TEST(OnnxOperators, BatchNormsOfSequencesArePaddedAtTheEnd) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 6, 9});
  for (const char* name : {"s", "b", "m", "v"}) graph.weight(name, {6});
  graph.node("BatchNormalization", {"x", "s", "b", "m", "v"}, "y").output("y");
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("n=2,c=6,h=9,w=1,")));
}

TEST(OnnxOperators, Pools) {
  OnnxGraph graph = operator_maps();
  graph.node("MaxPool", {"x"}, "m").integers("kernel_shape", {3, 2}).integers("strides", {2, 2});
  graph.integers("pads", {1, 0, 1, 0})
      .node("ReduceMean", {"m"}, "y")
      .integers("axes", {-1, -2})
      .integer("keepdims", 0);
  graph.weight("w", {6, 3}).node("MatMul", {"y", "w"}, "z");
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("max_pool:n=2,c=6,h=9,w=8,window=3x2,stride=2,pad=1x0"),
                                        HasSubstr("avg_pool:n=2,c=6,h=5,w=4,window=5x4"),
                                        HasSubstr("linear:n=2,in=6,out=3")));
  OnnxGraph overhanging = operator_maps().node("MaxPool", {"x"}, "m").integers("kernel_shape", {2, 2});
  overhanging.integers("strides", {2, 2}).integer("ceil_mode", 1).node("Relu", {"x"}, "r");
  EXPECT_THAT(imported_operators(overhanging).untimed.at(0).reason, HasSubstr("ceil_mode"));
}

TEST(OnnxOperators, AveragesWithoutThePaddingAreLeftOut) {
  OnnxGraph graph = operator_maps().node("AveragePool", {"x"}, "y").integers("kernel_shape", {3, 3});
  graph.integers("pads", {1, 1, 1, 1}).node("Relu", {"y"}, "r");
  EXPECT_THAT(imported_operators(graph).untimed.at(0).reason, HasSubstr("count_include_pad=0"));
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("relu:count=864")));
  OnnxGraph counted = operator_maps().node("AveragePool", {"x"}, "y").integers("kernel_shape", {3, 3});
  counted.integers("pads", {1, 1, 1, 1}).integer("count_include_pad", 1);
  EXPECT_THAT(works(counted), ElementsAre(HasSubstr("avg_pool:n=2,c=6,h=9,w=8,window=3,stride=1,pad=1")));
}

TEST(OnnxOperators, RowsOfSoftmaxAndLayerNorm) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 3, 4}).weight("w", {4});
  graph.node("LayerNormalization", {"x", "w"}, "n")
      .node("Softmax", {"n"}, "s")
      .node("LogSoftmax", {"s"}, "y");
  EXPECT_THAT(works(graph),
              ElementsAre(HasSubstr("layer_norm:rows=6,columns=4"), HasSubstr("softmax:rows=6,columns=4"),
                          HasSubstr("log_softmax:rows=6,columns=4")));
  OnnxGraph old = OnnxGraph(11).input("x", {2, 3, 4}).node("Softmax", {"x"}, "y");
  EXPECT_THAT(works(old), ElementsAre(HasSubstr("rows=2,columns=12")));
}

TEST(OnnxOperators, Elementwise) {
  OnnxGraph graph = operator_maps().input("z", {2, 6, 9, 8}).weight("c", {6, 1, 1}).weight("row", {8});
  graph.node("Add", {"x", "z"}, "a").node("Mul", {"a", "z"}, "b").node("Add", {"c", "b"}, "d");
  graph.node("Add", {"d", "row"}, "e").node("Sigmoid", {"e"}, "f").node("Mul", {"f", "e"}, "g");
  graph.node("Sigmoid", {"g"}, "h").node("Gelu", {"h"}, "i");
  EXPECT_THAT(works(graph),
              ElementsAre("add:count=864,dtype=f32", "mul:count=864,dtype=f32",
                          HasSubstr("bias_add:n=2,c=6,h=9,w=8"), HasSubstr("bias_add:n=108,c=8,hw=1"),
                          HasSubstr("silu"), HasSubstr("sigmoid"), HasSubstr("gelu")));
}

TEST(OnnxOperators, OnlyTheExactGelu) {
  OnnxGraph graph =
      operator_maps().node("Gelu", {"x"}, "a").text("approximate", "tanh").node("Gelu", {"a"}, "b");
  graph.text("approximate", "none");
  EXPECT_THAT(works(graph), ElementsAre("gelu:count=864,dtype=f32"));
  EXPECT_THAT(imported_operators(graph).untimed.at(0).reason, HasSubstr("tanh"));
}

TEST(OnnxOperators, OnlyTheLimitsOfRelu6) {
  OnnxGraph graph = operator_maps().numbers("low", {0}).numbers("high", {6}).numbers("nine", {9});
  graph.node("Clip", {"x", "low", "high"}, "a").node("Clip", {"a", "low", "nine"}, "b");
  EXPECT_THAT(works(graph), ElementsAre("relu6:count=864,dtype=f32"));
}

// As torch.onnx writes them for opsets before 20 and 17.
TEST(OnnxOperators, LayersThatAreWrittenAsSeveralOperators) {
  OnnxGraph gelu =
      OnnxGraph(14).input("x", {2, 3, 4}).weight("root", {}).weight("one", {}).weight("half", {});
  gelu.node("Div", {"x", "root"}, "a").node("Erf", {"a"}, "b").node("Add", {"b", "one"}, "c");
  gelu.node("Mul", {"x", "c"}, "d").node("Mul", {"d", "half"}, "e").node("Relu", {"e"}, "f");
  EXPECT_THAT(works(gelu), ElementsAre("gelu:count=24,dtype=f32", HasSubstr("relu")));
  EXPECT_THAT(imported_operators(gelu).untimed, IsEmpty());
  OnnxGraph norm = OnnxGraph(14).input("x", {2, 3, 4}).weight("two", {}).weight("eps", {});
  norm.weight("ln.weight", {4}).weight("ln.bias", {4}).node("ReduceMean", {"x"}, "m").integers("axes", {-1});
  norm.node("Sub", {"x", "m"}, "s").node("Pow", {"s", "two"}, "p").node("ReduceMean", {"p"}, "v");
  norm.integers("axes", {-1})
      .node("Add", {"v", "eps"}, "e")
      .node("Sqrt", {"e"}, "q")
      .node("Div", {"s", "q"}, "d");
  norm.node("Mul", {"d", "ln.weight"}, "w").node("Add", {"w", "ln.bias"}, "y").node("Tanh", {"y"}, "t");
  EXPECT_THAT(works(norm), ElementsAre("layer_norm:rows=6,columns=4,dtype=f32", HasSubstr("tanh")));
  EXPECT_THAT(imported_operators(norm).untimed, IsEmpty());
  EXPECT_EQ(imported_operators(norm).calls.at(0).name, "ln.forward");
}

// What torch.onnx writes for x.view(x.shape[0], -1) and for heads of attention.
TEST(OnnxOperators, ShapesAreComputed) {
  OnnxGraph graph = operator_maps().numbers("zero", {0}).numbers("axes", {0}).numbers("rest", {-1});
  graph.node("Shape", {"x"}, "s").node("Gather", {"s", "zero"}, "g").node("Concat", {"g", "rest"}, "to");
  graph.integer("axis", 0)
      .node("Reshape", {"x", "to"}, "f")
      .weight("w", {432, 3})
      .node("MatMul", {"f", "w"}, "y");
  EXPECT_THAT(works(graph, "batch=5"), ElementsAre("linear:n=5,in=432,out=3,bias=0,dtype=f32"));
}

TEST(OnnxOperators, ViewsMoveNothing) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 1, 12}).numbers("at", {1}).numbers("to", {2, 3, -1});
  graph.node("Relu", {"x"}, "r").node("Squeeze", {"r", "at"}, "s").node("Unsqueeze", {"s", "at"}, "u");
  graph.node("Reshape", {"u", "to"}, "v").node("Transpose", {"v"}, "t").integers("perm", {0, 2, 1});
  graph.node("Identity", {"t"}, "i").node("Dropout", {"i"}, "d").node("Softmax", {"d"}, "y");
  const Model model = imported_operators(graph);
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("relu"), HasSubstr("rows=8,columns=3")));
  EXPECT_EQ(model.calls[1].inputs.at(0).call, 0u);
  EXPECT_THAT(model.untimed, IsEmpty());
}

// As a channel shuffle is written.
TEST(OnnxOperators, AReshapeOfAPermutedTensorIsACopy) {
  OnnxGraph graph =
      OnnxGraph().input("x", {2, 16, 8, 8}).numbers("groups", {2, 2, 8, 8, 8}).numbers("maps", {2, 16, 8, 8});
  graph.node("Reshape", {"x", "groups"}, "g").node("Transpose", {"g"}, "t");
  graph.integers("perm", {0, 2, 1, 3, 4}).node("Tanh", {"t"}, "h").node("Reshape", {"h", "maps"}, "s");
  graph.node("Relu", {"s"}, "y");
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("tanh:count=2048"), HasSubstr("relu:count=2048")));
  ASSERT_EQ(imported_operators(graph).untimed.size(), 1u);
  EXPECT_EQ(imported_operators(graph).untimed[0].name, "Reshape");
  EXPECT_THAT(imported_operators(graph).untimed[0].reason, HasSubstr("a copy in another order"));
}

TEST(OnnxOperators, PartsOfATensor) {
  OnnxGraph graph =
      OnnxGraph().input("x", {2, 12}).numbers("from", {-8}).numbers("end", {1 << 30}).numbers("one", {1});
  graph.node("Split", {"x"}, "a").integer("axis", 1);
  graph.last_node().add_output("b");
  graph.node("Relu", {"b"}, "r").node("Slice", {"x", "from", "end", "one"}, "s").node("Tanh", {"s"}, "t");
  graph.node("Concat", {"r", "t"}, "c").integer("axis", 1).node("Gelu", {"c"}, "y");
  EXPECT_THAT(works(graph), ElementsAre(HasSubstr("relu:count=12"), HasSubstr("tanh:count=16"),
                                        HasSubstr("gelu:count=28")));
}

}  // namespace
}  // namespace jitterscope
