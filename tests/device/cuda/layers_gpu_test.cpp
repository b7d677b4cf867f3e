// Layers on the GPU against the float64 reference, from a handful of elements to more than fill the GPU.
#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "measure/verify.hpp"
#include "provider_test.hpp"

namespace jitterscope {
namespace {

class CudaLayersTest : public ProviderTest {
 protected:
  CudaLayersTest() : ProviderTest("cudnn") {}

  void expect_right(const std::string& text) {
    SCOPED_TRACE(text);
    try {
      const auto prepared = device().prepare(Operation::parse(text), {.kind = DataKind::normal, .seed = 7});
      const Verification found = verify(queue(), *prepared);
      EXPECT_TRUE(found.passed) << prepared->algorithm() << ": " << found.relative_error << ", "
                                << found.unwritten << " not written";
      EXPECT_EQ(prepared->is_stand_in(), prepared->provider() == "builtin");
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  void expect_right_in_each_type(const std::string& text) {
    for (const char* dtype : {"f64", "f32", "tf32", "f16", "bf16"}) expect_right(text + ",dtype=" + dtype);
  }
  void expect_right_in_each_layout(const std::string& text) {
    for (const char* layout : {"nchw", "nhwc"}) expect_right_in_each_type(text + ",layout=" + layout);
  }
};

TEST_F(CudaLayersTest, Elementwise) {
  for (const char* kind : {"add", "mul", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "relu_backward",
                           "relu6_backward", "sigmoid_backward", "tanh_backward", "silu_backward",
                           "gelu_backward", "sgd", "momentum", "adam", "adamw"}) {
    for (const char* count : {"7", "1003", "5000011"}) {
      expect_right_in_each_type(fmt::format("{}:count={}", kind, count));
    }
  }
}

TEST_F(CudaLayersTest, Pools) {
  for (const char* kind : {"max_pool", "avg_pool"}) {
    for (const char* shape :
         {"n=8,c=64,hw=56,window=3,stride=2,pad=1", "n=2,c=16,h=57,w=40,window=2",
          "n=3,c=5,h=23,w=31,window=3x2,stride=2x1,pad=1x0", "n=4,c=6,h=33,w=30,window=3,stride=1,pad=1",
          "n=2,c=6,h=30,w=31,window=3,stride=2", "n=8,c=2048,hw=7,window=7", "n=2,c=6,hw=28,window=28",
          "n=2,c=3,hw=111,window=111"}) {
      for (const char* pass : {"forward", "backward"}) {
        expect_right_in_each_layout(fmt::format("{}:{},pass={}", kind, shape, pass));
      }
    }
  }
}

TEST_F(CudaLayersTest, RowsOfEveryLength) {
  for (const char* kind : {"softmax", "log_softmax", "layer_norm"}) {
    for (const int columns : {8, 31, 256, 768, 1001, 4096, 8192, 50257}) {
      for (const char* pass : {"forward", "backward"}) {
        expect_right_in_each_type(fmt::format("{}:rows=517,columns={},pass={}", kind, columns, pass));
      }
    }
  }
}

// Less rows than one part of the weights' sums has, and so many that they fall into parts.
TEST_F(CudaLayersTest, FewRowsOfLayerNormBackward) {
  for (const int rows : {1, 7, 600, 14090}) {
    for (const int columns : {31, 768, 4096}) {
      expect_right_in_each_type(fmt::format("layer_norm:rows={},columns={},pass=backward", rows, columns));
    }
  }
}

TEST_F(CudaLayersTest, BatchNorm) {
  for (const char* shape : {"n=8,c=64,hw=28", "n=4,c=256,hw=7", "n=3,c=10,h=17,w=33"}) {
    for (const char* pass : {"forward", "backward", "inference"}) {
      expect_right_in_each_layout(fmt::format("batch_norm:{},pass={}", shape, pass));
      expect_right(fmt::format("batch_norm:{},pass={},dtype=f16,weights=f16", shape, pass));
    }
  }
}

// In bf16 it is no kernel of cuDNN's, and yet the same gradients are to come out.
TEST_F(CudaLayersTest, GradientsOfBatchNormAreThoseOfAnotherType) {
  const std::string text = "batch_norm:n=8,c=64,hw=28,pass=backward,dtype=";
  const auto in_f32 = device().prepare(Operation::parse(text + "f32"), {});
  const auto in_bf16 = device().prepare(Operation::parse(text + "bf16"), {});
  const Verification verification = verify(queue(), *in_bf16, *in_f32);
  EXPECT_TRUE(verification.passed) << verification.relative_error;
}

TEST_F(CudaLayersTest, BiasAndEmbedding) {
  for (const char* shape : {"n=8,c=64,hw=56", "n=3,c=5,h=3,w=7"}) {
    expect_right_in_each_layout(fmt::format("bias_add:{}", shape));
  }
  for (const char* shape :
       {"count=8192,rows=30522,columns=768", "count=300,rows=7,columns=5", "count=5000,rows=3,columns=24",
        "count=120000,rows=8192,columns=768", "count=9001,rows=4500,columns=1101"}) {
    for (const char* pass : {"forward", "backward"}) {
      expect_right_in_each_type(fmt::format("embedding:{},pass={}", shape, pass));
    }
  }
}

TEST_F(CudaLayersTest, Conversions) {
  for (const char* shape :
       {"n=8,c=64,hw=56", "n=2,c=3,hw=224", "n=1,c=1,hw=1", "n=1,c=3,hw=7", "n=2,c=2048,hw=7",
        "n=3,c=70,hw=1", "n=2,c=1,hw=9", "n=3,c=77,h=3,w=129", "n=5000,c=2,hw=2"}) {
    for (const char* order : {"from=nchw,to=nhwc", "from=nhwc,to=nchw"}) {
      for (const char* type : {"f64", "f32", "f16", "bf16"}) {
        expect_right_in_each_type(fmt::format("convert:{},{},to_dtype={}", shape, order, type));
      }
    }
  }
  for (const char* count : {"1", "7", "1003", "5000011"}) {
    for (const char* types :
         {"dtype=f64,to_dtype=f32", "dtype=f32,to_dtype=f16", "dtype=f32,to_dtype=bf16",
          "dtype=f16,to_dtype=f32", "dtype=bf16,to_dtype=f16", "dtype=f16,to_dtype=f64"}) {
      expect_right(fmt::format("convert:count={},{}", count, types));
    }
  }
}

// The indices are those of another embedding, which has only a few rows. Twice, since each launch must clear
// the sums of the one before.
TEST_F(CudaLayersTest, EmbeddingGradientsOfRowsThatManyIndicesName) {
  for (const int named : {1, 2, 280}) {
    const auto few =
        device().prepare(Operation::parse(fmt::format("embedding:count=9001,rows={},columns=1", named)), {});
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      for (const int columns : {37, 768}) {
        const Operation operation = Operation::parse(
            fmt::format("embedding:count=9001,rows=4500,columns={},dtype={},pass=backward", columns, dtype));
        SCOPED_TRACE(operation.text());
        InputData data;
        data.shared = {{.operand = 1, .owner = few.get()}};
        const auto prepared = device().prepare(operation, data);
        for (int run = 0; run < 2; ++run) {
          const Verification found = verify(queue(), *prepared);
          EXPECT_TRUE(found.passed) << found.relative_error << ", " << found.unwritten << " not written";
        }
      }
    }
  }
}

TEST_F(CudaLayersTest, Attention) {
  for (const char* shape :
       {"batch=2,heads=4,queries=128,keys=128,dim=64", "batch=1,heads=3,queries=200,keys=136,dim=128",
        "batch=2,heads=8,kv_heads=2,queries=128,keys=128,dim=64",
        "batch=1,heads=6,kv_heads=1,queries=200,keys=136,dim=128"}) {
    for (const char* dtype : {"f16", "bf16"}) {
      for (const char* pass : {"forward", "backward"}) {
        for (const int causal : {0, 1}) {
          const char* const layout = causal == 0 ? "bhsd" : dtype[0] == 'b' ? "bshd" : "sbhd";
          expect_right(fmt::format("attention:{},causal={},layout={},dtype={},pass={}", shape, causal, layout,
                                   dtype, pass));
        }
      }
    }
  }
  EXPECT_THROW(
      device().prepare(Operation::parse("attention:batch=1,heads=1,queries=64,keys=64,dim=64,dtype=f32"), {}),
      UsageError);
}

// As a model of grouped heads reads its prompt and writes its next word, and as it is trained.
TEST_F(CudaLayersTest, GroupedAttention) {
  for (const char* dtype : {"f16", "bf16"}) {
    for (const char* shape : {"queries=1,keys=1024", "queries=300,keys=300,causal=1",
                              "queries=300,keys=300,causal=1,pass=backward"}) {
      for (const char* layout : {"bhsd", "bshd", "sbhd"}) {
        expect_right(fmt::format("attention:batch=2,heads=32,kv_heads=8,{},dim=128,layout={},dtype={}", shape,
                                 layout, dtype));
      }
    }
  }
}

// cuDNN loads the kernel of a plan at run time, into the place of one that was unloaded. CUPTI called it by
// the name that the other one had.
TEST_F(CudaLayersTest, KernelsOfAttentionAreCalledByTheirOwnNames) {
  for (const char* shape :
       {"queries=77,dim=80", "queries=64,dim=256,pass=backward", "queries=17,dim=8,pass=backward"}) {
    const auto prepared =
        device().prepare(Operation::parse(fmt::format("attention:batch=2,heads=4,{},dtype=f16", shape)), {});
    for (int i = 0; i < 2; ++i) queue().launch(*prepared);
    queue().wait();
    const auto tracer = device().trace_kernels();
    queue().launch(*prepared);
    queue().wait();
    std::string names;
    for (const KernelTime& kernel : tracer->stop()) names += kernel.name + ' ';
    const bool is_backward = prepared->algorithm().starts_with("SdpaBwd");
    EXPECT_EQ(names.find("_bprop_") != std::string::npos, is_backward) << names;
    EXPECT_EQ(names.find("_fprop_") == std::string::npos, is_backward) << names;
  }
}

TEST_F(CudaLayersTest, FillStandsInForNothing) {
  EXPECT_FALSE(device().prepare(Operation::parse("fill:count=8"), {})->is_stand_in());
}

}  // namespace
}  // namespace jitterscope
