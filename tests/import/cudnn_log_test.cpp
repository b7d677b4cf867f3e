#include <gmock/gmock.h>

#include "import/import.hpp"
#include "import/log_data.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace jitterscope::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model import_cudnn(std::string_view text) { return import_cudnn_log(text, "cudnn.log"); }
const Conv2d& convolution_of(const Layer& layer) { return std::get<Conv2d>(layer.operation.parameters()); }
const std::string& cudnn_log() {
  static const std::string text = test_data("conv_linear_cudnn9.log.gz");
  return text;
}

// The records of one execution of the forward convolution: before, within and after it.
std::string execution() {
  const std::size_t begin = cudnn_log().find("I! CuDNN (v91900 56) function cudnnBackendExecute() called:");
  const std::size_t end = cudnn_log().find("\n\n\n", cudnn_log().find("status:", begin));
  return cudnn_log().substr(begin, end + 3 - begin);
}
std::string execution_with(std::string_view engine) {
  return replaced(execution(), "engine_id: type=int; val=38",
                  "engine_id: type=int; val=" + std::string(engine));
}

TEST(CudnnLog, TheSameConvolutionsAsInTheFrontendsLog) {
  const Model model = import_cudnn(cudnn_log());
  EXPECT_EQ(operation_texts(model),
            operation_texts(import_cudnn_frontend_log(test_data("conv_linear_fe.log.gz"), "fe.log")));
  EXPECT_EQ(model.calls.size(), 3u);
  EXPECT_EQ(model.layers[0].source, "cudnnBackendExecute");
  EXPECT_THAT(model.layers[0].names, ElementsAre("line 11791"));
  EXPECT_EQ(model.recorded_cudnn, "9.19.0");
  EXPECT_EQ(model.recorded_device, "NVIDIA H200");
  expect_consistent(model);
}

TEST(CudnnLog, CountsExecutionsAndNotThoseThatFailed) {
  const std::string failed =
      replaced(execution(), "CUDNN_STATUS_SUCCESS (0)", "CUDNN_STATUS_EXECUTION_FAILED (5000)");
  const std::string in_thread = replaced(failed, "Thread=456; GPU=NULL", "Thread=456; GPU=0");
  const Model model = import_cudnn(execution() + in_thread + execution());
  ASSERT_EQ(model.layers.size(), 1u);
  EXPECT_EQ(model.layers[0].count(), 2);
}

TEST(CudnnLog, ExecutionsThatTimedEnginesAreNotCounted) {
  // 3 loses, 38 wins; each is run twice for that.
  std::string text;
  for (const char* engine : {"3", "3", "38", "38", "38", "38", "38"}) text += execution_with(engine);
  const Model model = import_cudnn(text);
  ASSERT_EQ(model.layers.size(), 1u);
  EXPECT_EQ(model.layers[0].count(), 3);
  EXPECT_THAT(notes_of(model), HasSubstr("4 executions that timed engines"));
  // A winner that was not the last to be tried.
  text = execution_with("38") + execution_with("38") + execution_with("3") + execution_with("3") +
         execution_with("38");
  EXPECT_EQ(import_cudnn(text).calls.size(), 1u);
  // Two engines in turn are a program's own choice.
  text = execution_with("38") + execution_with("3") + execution_with("38") + execution_with("3");
  EXPECT_EQ(import_cudnn(text).calls.size(), 4u);
}

TEST(CudnnLog, PrecisionFollowsTheEnginesAndTheLibrarysFlag) {
  const std::string note = "CUDNN_NUMERICAL_NOTE_TENSOR_CORE: type=bool; val=true";
  EXPECT_EQ(convolution_of(import_cudnn(execution()).layers[0]).dtype, DataType::tf32);
  EXPECT_EQ(
      convolution_of(import_cudnn(replaced(execution(), note, "X: type=bool; val=true")).layers[0]).dtype,
      DataType::f32);
  EXPECT_EQ(convolution_of(import_cudnn(replaced(execution(), "enable_tf32: type=bool; val=true",
                                                 "enable_tf32: type=bool; val=false"))
                               .layers[0])
                .dtype,
            DataType::f32);
}

TEST(CudnnLog, AKnobThatIsNotKnownLeavesTheEngineOpen) {
  const Model model = import_cudnn(replaced(execution(), "CUDNN_KNOB_TYPE_TILEK", "CUDNN_KNOB_TYPE_NEW"));
  EXPECT_EQ(convolution_of(model.layers[0]).engine, "");
  EXPECT_THAT(notes_of(model), HasSubstr("engine of 1 convolution"));
}

TEST(CudnnLog, OtherGraphsAreUntimed) {
  const std::string operation = "operation: type=CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:";
  const Model other =
      import_cudnn(execution() + replaced(execution(), operation,
                                          "operation: type=CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:"));
  ASSERT_EQ(other.untimed.size(), 1u);
  EXPECT_EQ(other.untimed[0].name, "MATMUL");
  const std::string fused =
      replaced(execution(), "i!                     " + operation,
               "i!                     operation: type=CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:\n"
               "i!                     " +
                   operation);
  const Model both = import_cudnn(execution() + fused);
  ASSERT_EQ(both.untimed.size(), 1u);
  EXPECT_EQ(both.untimed[0].name, "POINTWISE+CONVOLUTION_FORWARD");
  EXPECT_THAT(both.untimed[0].reason, HasSubstr("fuses"));
}

const char* const kLegacy = R"(I! CuDNN (v8204) function cudnnConvolutionForward() called:
i!     handle: type=cudnnHandle_t; streamId=(nil) (defaultStream);
i!     alpha: type=CUDNN_DATA_FLOAT; val=1.000000;
i!     xDesc: type=cudnnTensorDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_HALF (2);
i!         nbDims: type=int; val=4;
i!         dimA: type=int; val=[32,896,1,832];
i!         strideA: type=int; val=[745472,832,832,1];
i!     xData: location=dev; addr=0x7f1f48d80000;
i!     wDesc: type=cudnnFilterDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_HALF (2);
i!         vect: type=int; val=0;
i!         nbDims: type=int; val=4;
i!         dimA: type=int; val=[1792,896,1,19];
i!         format: type=cudnnTensorFormat_t; val=CUDNN_TENSOR_NCHW (0);
i!     convDesc: type=cudnnConvolutionDescriptor_t:
i!         mode: type=cudnnConvolutionMode_t; val=CUDNN_CROSS_CORRELATION (1);
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);
i!         mathType: type=cudnnMathType_t; val=CUDNN_TENSOR_OP_MATH (1);
i!         arrayLength: type=int; val=2;
i!         padA: type=int; val=[0,9];
i!         strideA: type=int; val=[1,2];
i!         dilationA: type=int; val=[1,1];
i!         groupCount: type=int; val=1;
i!     algo: type=cudnnConvolutionFwdAlgo_t; val=CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM (1);
i!     beta: type=CUDNN_DATA_FLOAT; val=0.000000;
i!     yDesc: type=cudnnTensorDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_HALF (2);
i!         nbDims: type=int; val=4;
i!         dimA: type=int; val=[32,1792,1,416];
i!         strideA: type=int; val=[745472,416,416,1];
i! Time: 2021-04-19T17:52:26.155361 (0d+0h+0m+33s since start)
i! Process=36; Thread=36; GPU=0; Handle=0x55f8a0b9c2b0; StreamId=(nil) (defaultStream).

)";

TEST(CudnnLog, CallsBeforeTheGraphApi) {
  const Model model = import_cudnn(kLegacy);
  EXPECT_THAT(operation_texts(model),
              ElementsAre("conv2d:n=32,c=896,h=1,w=832,k=1792,r=1,s=19,stride=1x2,pad=0x9,dtype=f16,"
                          "layout=nchw,direction=fprop"));
  EXPECT_EQ(model.layers[0].source, "cudnnConvolutionForward");
  EXPECT_EQ(model.recorded_cudnn, "8.2.4");
  EXPECT_THAT(notes_of(model), HasSubstr("are not engines"));
  EXPECT_THAT(usage_message([] {
                import_cudnn(replaced(kLegacy, "beta: type=CUDNN_DATA_FLOAT; val=0",
                                      "beta: type=CUDNN_DATA_FLOAT; val=1"));
              }),
              HasSubstr("adds it to what was there"));
}

TEST(CudnnLog, FiltersOfTheOlderApiMayBeLarge) {
  std::string log = kLegacy;
  for (const auto& [from, to] :
       {std::pair("[32,896,1,832]", "[1,2097152,1,1]"), std::pair("[745472,832,832,1]", "[2097152,1,1,1]"),
        std::pair("[1792,896,1,19]", "[8,2097152,1,1]"), std::pair("[0,9]", "[0,0]"),
        std::pair("[32,1792,1,416]", "[1,8,1,1]"), std::pair("[745472,416,416,1]", "[8,1,1,1]")}) {
    log = replaced(log, from, to);
  }
  EXPECT_THAT(
      operation_texts(import_cudnn(log)),
      ElementsAre("conv2d:n=1,c=2097152,hw=1,k=8,rs=1,stride=1x2,dtype=f16,layout=nchw,direction=fprop"));
  const std::string impossible =
      replaced(log, "[8,2097152,1,1]", "[8,9223372036854775807,9223372036854775807,1]");
  EXPECT_THAT(usage_message([&] { import_cudnn(impossible); }), HasSubstr("do not divide"));
}

const char* const kNormalization =
    R"(I! CuDNN (v91900 56) function cudnnBatchNormalizationForwardTrainingEx() called:
i!     handle: type=cudnnHandle_t; streamId=(nil) (defaultStream);
i!     mode: type=cudnnBatchNormMode_t; val=CUDNN_BATCHNORM_SPATIAL_PERSISTENT (2);
i!     bnOps: type=cudnnBatchNormOps_t; val=CUDNN_BATCHNORM_OPS_BN (0);
i!     xDesc: type=cudnnTensorDescriptor_t:
i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_HALF (2);
i!         nbDims: type=int; val=4;
i!         dimA: type=int; val=[32,64,56,56];
i!         strideA: type=int; val=[200704,1,3584,64];
i!     epsilon: type=double; val=0.000010;
i! Process=1; Thread=1; GPU=0; Handle=0x1; StreamId=(nil) (defaultStream).
)";

TEST(CudnnLog, BatchNormalizations) {
  const std::string name = "cudnnBatchNormalizationForwardTrainingEx";
  const Model model =
      import_cudnn(kNormalization + replaced(kNormalization, name, "cudnnBatchNormalizationBackwardEx") +
                   replaced(kNormalization, name, "cudnnBatchNormalizationForwardInference"));
  const BatchNorm forward{.n = 32, .c = 64, .h = 56, .w = 56, .dtype = DataType::f16, .layout = Layout::nhwc};
  BatchNorm backward = forward, inference = forward;
  backward.pass = Pass::backward;
  inference.pass = Pass::inference;
  ASSERT_EQ(model.layers.size(), 3u);
  EXPECT_EQ(model.layers[0].operation, Operation(forward));
  EXPECT_EQ(model.layers[1].operation, Operation(backward));
  EXPECT_EQ(model.layers[2].operation, Operation(inference));
  EXPECT_EQ(model.layers[0].source, name);
  const auto reason = [](std::string_view from, std::string_view to) {
    return usage_message([&] { import_cudnn(replaced(kNormalization, from, to)); });
  };
  EXPECT_THAT(reason("OPS_BN (0)", "OPS_BN_ACTIVATION (1)"), HasSubstr("fused with an activation"));
  EXPECT_THAT(reason("SPATIAL_PERSISTENT (2)", "PER_ACTIVATION (0)"), HasSubstr("not each channel"));
  EXPECT_THAT(reason("200704,1,3584,64", "200704,1,3584,65"), HasSubstr("neither nchw nor nhwc"));
  EXPECT_THAT(reason("dimA: type=int; val=[32", "dimA: type=int; val=[0"), HasSubstr("n=0"));
  EXPECT_THAT(reason("dimA", "dimB"), HasSubstr("damaged record"));
}

TEST(CudnnLog, OtherCallsAreUntimed) {
  const std::string pooling =
      "I! CuDNN (v91900 56) function cudnnPoolingForward() called:\ni!     handle: type=x;\n"
      "i! Process=1; Thread=1;\n"
      "I! CuDNN (v91900 56) function cudnnPoolingForward() called:\n"
      "i!     status: type=cudnnStatus_t; val=CUDNN_STATUS_SUCCESS (0);\ni! Process=1; Thread=1;\n";
  const Model model = import_cudnn(execution() + pooling);
  ASSERT_EQ(model.untimed.size(), 1u);
  EXPECT_EQ(model.untimed[0].name, "cudnnPoolingForward");
  EXPECT_EQ(model.untimed[0].count, 1);
}

TEST(DamagedCudnnLog, WithoutOperationsSaysHowToRecordOne) {
  const auto problem = [](std::string_view text) { return usage_message([&] { import_cudnn(text); }); };
  for (const std::string& text : {std::string(), std::string("hello\n"), std::string(10'000'000, 'i')}) {
    EXPECT_THAT(problem(text), AllOf(HasSubstr("cudnn.log holds no execution"),
                                     HasSubstr("CUDNN_LOGLEVEL_DBG=3"), HasSubstr("CUDNN_LOGDEST_DBG=")));
  }
}

TEST(DamagedCudnnLog, ARecordThatAnotherThreadInterruptsIsLeftOut) {
  const std::string text = execution();
  const Model model = import_cudnn(text.substr(0, text.find("knobDesc")) + "\n" + text);
  EXPECT_EQ(model.calls.size(), 1u);
  EXPECT_THAT(notes_of(model), AllOf(HasSubstr("1 damaged record"), HasSubstr("line 1,")));
  EXPECT_TRUE(model.is_incomplete);
}

TEST(DamagedCudnnLog, EveryTruncationIsReadAsFarAsItGoes) {
  const std::string text = execution();
  std::size_t calls = 0;
  for (std::size_t length = 0; length < text.size(); length += 11) {
    try {
      const Model model = import_cudnn(text.substr(0, length));
      EXPECT_GE(model.calls.size(), calls) << length;
      calls = model.calls.size();
    } catch (const UsageError&) {
      EXPECT_EQ(calls, 0u) << length;
    }
  }
  EXPECT_EQ(calls, 1u);
}

}  // namespace
}  // namespace jitterscope
