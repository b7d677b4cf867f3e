// Layers as PyTorch's operators: their text, and where their operands are.
#include "operation/pytorch.hpp"

#include <gmock/gmock.h>

#include "operation/aten_text.hpp"

namespace jitterscope {
namespace {

using ::testing::ElementsAre;

LayerAten aten_of(const char* text) {
  const auto found = aten_of_layer(Operation::parse(text));
  return found ? *found : LayerAten{Operation::parse("aten::none()"), {}};
}
std::string text_of(const char* text) { return aten_of(text).operation.text(); }

TEST(LayerAten, HasTheLayersTypesSizesAndLayout) {
  EXPECT_EQ(text_of("add:count=8,dtype=tf32"), "aten::add.Tensor(f32[8],f32[8],1)");
  EXPECT_EQ(text_of("relu6_backward:count=8,dtype=bf16"), "aten::hardtanh_backward(bf16[8],bf16[8],0,6)");
  EXPECT_EQ(text_of("log_softmax:rows=2,columns=3,dtype=f16,pass=backward"),
            "aten::_log_softmax_backward_data(f16[2,3],f16[2,3],1,5)");
  EXPECT_EQ(text_of("max_pool:n=2,c=3,h=9,w=8,window=3x2,stride=2x1,pad=1x0,layout=nhwc"),
            "aten::max_pool2d_with_indices(f32[2,3,9,8]{216,1,24,3},[3,2],[2,1],[1,0],[1,1],false)");
  EXPECT_EQ(text_of("batch_norm:n=2,c=3,hw=4,dtype=bf16,pass=inference"),
            "aten::native_batch_norm(bf16[2,3,4,4],f32[3],f32[3],f32[3],f32[3],false,0.1,1e-05)");
  EXPECT_EQ(text_of("bias_add:n=2,c=3,hw=4,layout=nhwc"),
            "aten::add.Tensor(f32[2,3,4,4]{48,1,12,3},f32[1,3,1,1],1)");
  EXPECT_EQ(text_of("embedding:count=8,rows=9,columns=4,pass=backward"),
            "aten::embedding_dense_backward(f32[8,4],i64[8],9,-1,false)");
}

TEST(LayerAten, AveragesOverWholePlanesAreMeans) {
  EXPECT_EQ(text_of("avg_pool:n=2,c=3,hw=7,window=7"), "aten::mean.dim(f32[2,3,7,7],[-1,-2],true)");
  EXPECT_EQ(text_of("avg_pool:n=2,c=3,hw=7,window=7,pass=backward"),
            "aten::div.Scalar(f32[2,3,7,7]{3,1,0,0},49)");
  EXPECT_EQ(text_of("avg_pool:n=2,c=3,hw=6,window=3"),
            "aten::avg_pool2d(f32[2,3,6,6],[3,3],[3,3],[0,0],false,true,None)");
}

// Inputs as the operator takes them, then its outputs.
TEST(LayerAten, TellsWhereTheOperandsAre) {
  EXPECT_THAT(aten_of("relu:count=8").operands, ElementsAre(0, 1));
  EXPECT_THAT(aten_of("embedding:count=8,rows=9,columns=4").operands, ElementsAre(1, 0, 2));
  EXPECT_THAT(aten_of("max_pool:n=1,c=1,hw=4,window=2,pass=backward").operands, ElementsAre(0, 2, 3));
  EXPECT_THAT(aten_of("batch_norm:n=2,c=3,hw=4,pass=backward").operands, ElementsAre(1, 0, 2, 5, 6, 7, 8, 9));
  EXPECT_THAT(aten_of("layer_norm:rows=2,columns=3,pass=backward").operands,
              ElementsAre(0, 1, 2, 3, 4, 6, 7, 8));
}

TEST(LayerAten, TensorsAreAsLargeAsTheOperandsInTheirPlaces) {
  for (const char* text :
       {"mul:count=8,dtype=f64", "softmax:rows=2,columns=3,dtype=f16",
        "layer_norm:rows=2,columns=3,dtype=f16", "layer_norm:rows=2,columns=3,dtype=bf16,pass=backward",
        "batch_norm:n=2,c=3,hw=4,dtype=f16,pass=backward", "bias_add:n=2,c=3,hw=4,layout=nhwc",
        "avg_pool:n=2,c=3,hw=7,window=7,pass=backward", "embedding:count=8,rows=9,columns=4"}) {
    const Operation layer = Operation::parse(text);
    const LayerAten aten = aten_of(text);
    const std::vector<Bytes> sizes = tensor_sizes(std::get<Aten>(aten.operation.parameters()));
    for (std::size_t i = 0; i < layer.operands().size(); ++i) {
      if (layer.operands()[i].role == OperandRole::input) {
        EXPECT_EQ(sizes.at(aten.operands[i]), layer.operands()[i].bytes()) << text << ' ' << i;
      } else {
        EXPECT_GE(aten.operands[i], sizes.size()) << text << ' ' << i;
      }
    }
  }
}

TEST(LayerAten, WhatALibraryOrSeveralOperatorsRunHasNone) {
  for (const char* text :
       {"conv2d:n=1,c=1,hw=4,k=1,rs=1", "matmul:m=4,n=4,k=4", "adam:count=8", "fill:count=8", "copy:bytes=8",
        "attention:batch=1,heads=1,queries=8,keys=8,dim=8"}) {
    EXPECT_FALSE(aten_of_layer(Operation::parse(text))) << text;
  }
}

}  // namespace
}  // namespace jitterscope
