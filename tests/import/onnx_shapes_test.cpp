// What follows an operator that is not timed, in files that say no shapes.
#include <gmock/gmock.h>

#include "import/import.hpp"
#include "import/onnx_graph.hpp"
#include "import/onnx_views.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OnnxGraph;
using testing::Shape;

Model imported_shapes(const OnnxGraph& graph, const std::string& options = "") {
  return import_onnx(graph.bytes(), "m.onnx", parse_model_options(options, "m.onnx"));
}

// The elements that a Relu behind the last node sees; 0 where it does not know.
std::int64_t count_behind(OnnxGraph graph) {
  const std::string last = graph.last_node().output(0);
  graph.node("Relu", {last}, "relu_of_it").node("Tanh", {"x"}, "another");
  for (const Layer& layer : imported_shapes(graph).layers) {
    const auto* map = std::get_if<Elementwise>(&layer.operation.parameters());
    if (map != nullptr && map->kind == ElementwiseKind::relu) return map->count;
  }
  return 0;
}
OnnxGraph shape_maps() { return OnnxGraph().input("x", {2, 6, 9, 8}); }

TEST(OnnxShapes, OperatorsOnEachElement) {
  for (const std::string name : {"HardSwish", "Sqrt", "LeakyRelu", "Erf", "Cast", "Clip"})
    EXPECT_EQ(count_behind(shape_maps().node(name, {"x"}, "y")), 864) << name;
  EXPECT_EQ(count_behind(shape_maps().weight("s", {6}).node("InstanceNormalization", {"x", "s", "s"}, "y")),
            864);
  EXPECT_EQ(count_behind(shape_maps().node("Mystery", {"x"}, "y")), 0);
}

TEST(OnnxShapes, OperatorsThatBroadcast) {
  for (const std::string name : {"Mul", "Div", "Sub", "Add", "Pow", "Greater"}) {
    EXPECT_EQ(count_behind(shape_maps().scalar("s", 2.0f).node(name, {"x", "s"}, "y")), 864) << name;
    EXPECT_EQ(count_behind(shape_maps().weight("w", {5, 8}).node(name, {"x", "w"}, "y")), 0) << name;
  }
  EXPECT_EQ(count_behind(shape_maps().weight("w", {3, 1, 1, 9, 8}).node("Add", {"w", "x"}, "y")), 3 * 864);
  EXPECT_EQ(
      count_behind(shape_maps().weight("c", {1, 1, 9, 1}).scalar("s", 1).node("Where", {"c", "x", "s"}, "y")),
      864);
}

TEST(OnnxShapes, NumbersThatAreNotWholeAreNoShape) {
  const auto tiled = [](float factor) {
    return shape_maps()
        .numbers("t", {2, 2, 2, 2})
        .scalar("f", factor)
        .node("Mul", {"t", "f"}, "r")
        .node("Tile", {"x", "r"}, "y");
  };
  EXPECT_EQ(count_behind(tiled(0.5f)), 864);
  EXPECT_EQ(count_behind(tiled(0.75f)), 0);
}

TEST(OnnxShapes, ProductsWithBatchesThatDiffer) {
  EXPECT_EQ(
      count_behind(
          OnnxGraph().input("x", {1, 3, 4, 5}).input("k", {2, 1, 5, 6}).node("MatMul", {"x", "k"}, "y")),
      2 * 3 * 4 * 6);
  EXPECT_EQ(count_behind(OnnxGraph().input("x", {3, 4, 5}).weight("v", {5}).node("MatMul", {"x", "v"}, "y")),
            12);
  EXPECT_EQ(count_behind(OnnxGraph()
                             .input("x", {8, 4})
                             .weight("w", {4, 3})
                             .weight("c", {8, 3})
                             .node("Gemm", {"x", "w", "c"}, "y")),
            24);
}

TEST(OnnxShapes, Windows) {
  const auto pool = [](const Shape& window, const Shape& strides, std::int64_t rounds_up) {
    OnnxGraph graph = shape_maps().node("MaxPool", {"x"}, "y").integers("kernel_shape", window);
    graph.integers("strides", strides).integer("ceil_mode", rounds_up);
    return graph;
  };
  EXPECT_EQ(count_behind(pool({2, 2}, {2, 2}, 1)), 2 * 6 * 5 * 4);
  EXPECT_EQ(count_behind(pool({1, 3}, {5, 3}, 1)),
            2 * 6 * 2 * 3);  // no third window: it would begin at row 10
  OnnxGraph volume = OnnxGraph().input("x", {2, 16, 5, 8, 8}).weight("w", {32, 16, 3, 3, 3});
  EXPECT_EQ(count_behind(volume.node("Conv", {"x", "w"}, "y")), 2 * 32 * 3 * 6 * 6);
}

TEST(OnnxShapes, ReductionsPadsAndSizes) {
  EXPECT_EQ(count_behind(shape_maps().node("ReduceMax", {"x"}, "y").integers("axes", {1, -1})), 2 * 9);
  EXPECT_EQ(count_behind(shape_maps().node("ReduceSum", {"x"}, "y")), 1);
  EXPECT_EQ(count_behind(shape_maps().node("ArgMax", {"x"}, "y").integer("axis", 1)), 2 * 9 * 8);
  EXPECT_EQ(count_behind(shape_maps().numbers("p", {0, 0, 1, 1, 0, 0, 2, 0}).node("Pad", {"x", "p"}, "y")),
            2 * 6 * 12 * 9);
  EXPECT_EQ(count_behind(shape_maps().numbers("f", {1, 1, 2, 3}).node("Resize", {"x", "", "f"}, "y")),
            864 * 6);
  EXPECT_EQ(count_behind(shape_maps().numbers("s", {2, 6, 4, 4}).node("Resize", {"x", "", "", "s"}, "y")),
            192);
  EXPECT_EQ(count_behind(shape_maps().numbers("e", {3, 1, 1, 1, 1}).node("Expand", {"x", "e"}, "y")),
            3 * 864);
  EXPECT_EQ(count_behind(shape_maps().numbers("t", {1, 2, 1, 1}).node("Tile", {"x", "t"}, "y")), 2 * 864);
  const auto shape_behind = [](const std::string& blocks) {
    OnnxGraph graph = OnnxGraph().input("x", {2, 8, 6, 4});
    graph.node(blocks, {"x"}, "b").integer("blocksize", 2).node("Softmax", {"b"}, "y");
    return imported_shapes(graph).layers.at(0).operation.text();
  };
  EXPECT_EQ(shape_behind("DepthToSpace"), "softmax:rows=48,columns=8,dtype=f32");
  EXPECT_EQ(shape_behind("SpaceToDepth"), "softmax:rows=192,columns=2,dtype=f32");
  EXPECT_EQ(
      count_behind(shape_maps().numbers("i", {0, 2, 3}).node("Gather", {"x", "i"}, "y").integer("axis", 1)),
      432);
}

TEST(OnnxShapes, RecurrentLayers) {
  OnnxGraph graph = OnnxGraph().input("x", {5, 2, 16}).weight("w", {2, 128, 16}).weight("r", {2, 128, 32});
  graph.node("LSTM", {"x", "w", "r"}, "y").integer("hidden_size", 32).text("direction", "bidirectional");
  EXPECT_EQ(count_behind(graph), 5 * 2 * 2 * 32);
}

// As torch.onnx writes F.scaled_dot_product_attention: its scale is computed from the shape.
TEST(OnnxShapes, ScalesAreComputed) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 4, 8, 16}).numbers("from", {-1}).numbers("to", {1 << 30});
  graph.node("Shape", {"x"}, "s").node("Slice", {"s", "from", "to"}, "d").node("Cast", {"d"}, "f");
  graph.integer("to", onnx::TensorProto::FLOAT).node("Sqrt", {"f"}, "q").scalar("one", 1.0f);
  graph.node("Div", {"one", "q"}, "v").node("Sqrt", {"v"}, "scale").node("Mul", {"x", "scale"}, "m");
  graph.node("Softmax", {"m"}, "y");
  const Model model = imported_shapes(graph);
  ASSERT_EQ(model.untimed.size(), 1u);
  EXPECT_EQ(model.untimed[0].name, "Mul");
  EXPECT_EQ(model.layers[0].operation.text(), "softmax:rows=64,columns=16,dtype=f32");
}

// What the file says is of its own batch; what can be computed is of the one that was asked for.
// As torch.onnx writes F.pad(x, [0, -size % 7]): the pads of the last dimension first, two for each, turned
// round.
TEST(OnnxShapes, PaddingThatIsComputedFromTheSizeIsFollowed) {
  OnnxGraph graph =
      OnnxGraph().input("x", {2, 16, 64}).numbers("last", {2}).numbers("less", {-1}).numbers("seven", {7});
  graph.numbers("none", {0})
      .numbers("four", {4})
      .numbers("pairs", {-1, 2})
      .numbers("end", {-9223372036854775807});
  graph.node("Shape", {"x"}, "s")
      .node("Gather", {"s", "last"}, "size")
      .node("Mul", {"size", "less"}, "below");
  graph.node("Mod", {"below", "seven"}, "rest").node("ConstantOfShape", {"four"}, "zeros");
  graph.node("Concat", {"none", "rest", "zeros"}, "all").integer("axis", 0);
  graph.node("Reshape", {"all", "pairs"}, "table")
      .node("Slice", {"table", "less", "end", "none", "less"}, "turned");
  graph.node("Transpose", {"turned"}, "ends").node("Reshape", {"ends", "less"}, "list");
  graph.node("Cast", {"list"}, "pads")
      .integer("to", 7)
      .node("Pad", {"x", "pads"}, "p")
      .node("Relu", {"p"}, "y");
  EXPECT_EQ(count_behind(graph), 2 * 16 * 70);
}

TEST(OnnxShapes, ArithmeticOfShapesIsFollowed) {
  OnnxGraph graph =
      OnnxGraph().input("x", {2, 6, 4}).numbers("two", {2}).numbers("ten", {10}).numbers("one", {1});
  graph.node("Shape", {"x"}, "s").node("ReduceProd", {"s"}, "all").node("Size", {"x"}, "size");
  graph.node("Min", {"all", "ten", "size"}, "ten_again").node("Max", {"two", "ten_again"}, "most");
  graph.node("Sum", {"most", "two", "two"}, "fourteen").node("Neg", {"two"}, "less");
  graph.node("Pow", {"two", "two"}, "four").node("Add", {"fourteen", "less"}, "twelve");
  graph.node("Concat", {"four", "twelve"}, "to").integer("axis", 0).node("Reshape", {"x", "to"}, "r");
  graph.weight("w", {12, 5}).node("MatMul", {"r", "w"}, "y");
  EXPECT_EQ(imported_shapes(graph).layers.at(0).operation.text(), "linear:n=4,in=12,out=5,bias=0,dtype=f32");
}

TEST(OnnxShapes, FollowTheBatch) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 12, 7, 64}).numbers("to", {24, 7, 64}).weight("w", {64, 32});
  graph.node("Reshape", {"x", "to"}, "r").node("HardSwish", {"r"}, "h").node("MatMul", {"h", "w"}, "y");
  graph.value("r", {24, 7, 64}).value("h", {24, 7, 64});
  EXPECT_EQ(imported_shapes(graph, "batch=4").layers.at(0).operation.text(),
            "linear:n=336,in=64,out=32,bias=0,dtype=f32");
  OnnxGraph resized = shape_maps().numbers("s", {2, 6, 4, 4}).node("Resize", {"x", "", "", "s"}, "r");
  resized.node("Relu", {"r"}, "y");
  EXPECT_EQ(imported_shapes(resized, "batch=5").layers.at(0).operation.text(), "relu:count=480,dtype=f32");
  // 24 may be 12 heads of each image, or 24 of any number of them.
  OnnxGraph unknown = OnnxGraph().input("x", {2, 12}).value("m", {24, 7});
  unknown.node("Mystery", {"x"}, "m").node("Relu", {"m"}, "y").node("Tanh", {"x"}, "t");
  EXPECT_EQ(imported_shapes(unknown).layers.size(), 2u);
  EXPECT_EQ(imported_shapes(unknown, "batch=4").layers.size(), 1u);
}

// As a class token is put before an image's patches.
TEST(OnnxShapes, WhatIsPutSideBySideIsOfOneBatch) {
  OnnxGraph graph = OnnxGraph().input("x", {2, 16, 64}).weight("token", {1, 1, 64}).numbers("to", {2, 1, 64});
  graph.node("Expand", {"token", "to"}, "t").node("Concat", {"t", "x"}, "c").integer("axis", 1);
  EXPECT_EQ(count_behind(graph), 2 * 17 * 64);
  graph.node("Relu", {"c"}, "y");
  EXPECT_EQ(imported_shapes(graph, "batch=4").layers.at(0).operation.text(), "relu:count=4352,dtype=f32");
  OnnxGraph folded = OnnxGraph().input("x", {2, 16, 64}).weight("token", {2, 1, 64});
  folded.node("Concat", {"token", "x"}, "c").integer("axis", 1).node("Relu", {"c"}, "y");
  EXPECT_EQ(count_behind(folded), 2 * 17 * 64);
  EXPECT_THAT(testing::usage_message([&] { imported_shapes(folded, "batch=4"); }),
              HasSubstr("a batch of 2 alone"));
}

using onnx_import::strides_of_view;

TEST(OnnxStrides, AreThoseOfPyTorchsViews) {
  EXPECT_EQ(strides_of_view({2, 3, 4}, {12, 4, 1}, {6, 2, 2}), Shape({4, 2, 1}));
  EXPECT_EQ(strides_of_view({2, 4, 3}, {12, 1, 4}, {2, 2, 2, 3}), Shape({12, 2, 1, 4}));
  EXPECT_EQ(strides_of_view({2, 4, 3}, {12, 1, 4}, {2, 12}), std::nullopt);
  EXPECT_EQ(strides_of_view({2, 4, 3}, {12, 1, 4}, {8, 3}), std::nullopt);
  EXPECT_EQ(strides_of_view({1, 4, 1, 3}, {7, 3, 9, 1}, {12}), Shape({1}));
  EXPECT_EQ(onnx_import::dense_in_order({2, 4, 3}, {99, 1, 8}), Shape({12, 1, 4}));
}

// Of two parts of a transposed tensor one is left out; an input without a name is still row-major.
TEST(OnnxStrides, AnOutputThatIsLeftOutHasNone) {
  OnnxGraph graph = OnnxGraph().input("x", {4, 6}).input("", {3, 4}).numbers("flat", {12});
  graph.node("Transpose", {"x"}, "t").node("Split", {"t"}, "part").integer("axis", 0);
  graph.last_node().add_output("");
  graph.node("Reshape", {"", "flat"}, "row").node("Relu", {"row"}, "y");
  for (const UntimedOperator& one : imported_shapes(graph).untimed)
    ADD_FAILURE() << one.name << ": " << one.reason;
}

}  // namespace
}  // namespace jitterscope
