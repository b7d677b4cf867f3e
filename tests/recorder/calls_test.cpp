// Calls of cuDNN, cuBLASLt and cuBLAS are recorded as they were made, on libraries that stand in for NVIDIA's
// and are opened for themselves, as Python opens them.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "recorder/library_api.hpp"
#include "recorder/recorded_run.hpp"
#include "timeline/captured_calls.hpp"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

namespace jitterscope::recorder {
namespace {

using capture::LossKind;
using capture::OperandUse;
using capture::Settings;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

Settings with_calls() {
  Settings settings = quick_settings();
  settings.calls = true;
  return settings;
}

struct RecordedOperand {
  std::string name;
  std::uint64_t address, bytes;
  OperandUse use;
  bool operator==(const RecordedOperand&) const = default;
};
void PrintTo(const RecordedOperand& operand, std::ostream* out) {  // NOLINT: GoogleTest's name
  *out << operand.name << " at " << std::hex << operand.address << std::dec << ", " << operand.bytes
       << " bytes, use " << static_cast<int>(operand.use);
}

struct RecordedCall {
  std::int64_t start = 0, duration = 0;
  std::uint32_t thread = 0, launches = 0, first = 0, last = 0;
  std::string words, provider, version, engine;
  std::uint64_t workspace = 0, workspace_bytes = 0;
  std::vector<RecordedOperand> operands;
  std::vector<std::uint32_t> correlations;
  std::vector<std::string> kernels;
};

// In the order of time.
std::vector<RecordedCall> calls_of(const RecordedProcess& process) {
  const auto& rows = process.operations;
  const auto names = process.names();
  std::vector<RecordedCall> calls;
  for (std::size_t i = 0; i < rows.id.size(); ++i) {
    RecordedCall call{rows.start[i],
                      rows.duration[i],
                      rows.thread[i],
                      rows.launches[i],
                      rows.first_correlation[i],
                      rows.last_correlation[i],
                      process.text(rows.operation[i]),
                      process.text(rows.provider[i]),
                      process.text(rows.version[i]),
                      process.text(rows.engine[i]),
                      rows.workspace[i],
                      rows.workspace_bytes[i],
                      {},
                      {},
                      {}};
    for (std::size_t k = 0; k < process.operands.operation.size(); ++k) {
      if (process.operands.operation[k] != rows.id[i]) continue;
      call.operands.push_back({process.text(process.operands.name[k]), process.operands.address[k],
                               process.operands.bytes[k], static_cast<OperandUse>(process.operands.use[k])});
    }
    for (std::size_t k = 0; k < process.operation_launches.operation.size(); ++k) {
      if (process.operation_launches.operation[k] == rows.id[i])
        call.correlations.push_back(process.operation_launches.correlation[k]);
    }
    for (std::size_t k = 0; k < process.kernels.start.size(); ++k) {
      if (std::ranges::find(call.correlations, process.kernels.correlation[k]) != call.correlations.end())
        call.kernels.push_back(names.at(process.kernels.launch[k]).first);
    }
    calls.push_back(std::move(call));
  }
  std::ranges::sort(calls, {}, &RecordedCall::start);
  return calls;
}

constexpr std::uint64_t kImages = 2ULL * 8 * 64 * 56 * 56, kFilter = 2ULL * 64 * 64 * 3 * 3;

TEST(Calls, HaveTheirWordsEngineAddressesAndKernels) {
  const RecordedRun run = record({"init", "launch:3", "convolution:10000:20000:30000", "wait"}, with_calls());
  expect_whole(run);
  const std::vector<RecordedCall> calls = calls_of(run.only());
  ASSERT_EQ(calls.size(), 1u);
  const RecordedCall& call = calls.front();
  EXPECT_EQ(call.words,
            "CONVOLUTION_FORWARD mode=CROSS_CORRELATION compute=FLOAT pre=[1,1] post=[1,1] stride=[1,1] "
            "dilation=[1,1] alpha=1 beta=0 x_type=HALF x_dims=[8,64,56,56] x_strides=[200704,1,3584,64] "
            "w_type=HALF w_dims=[64,64,3,3] w_strides=[576,1,192,64] y_type=HALF y_dims=[8,64,56,56] "
            "y_strides=[200704,1,3584,64] tensor_cores=1");
  EXPECT_EQ(call.provider, "cuDNN");
  EXPECT_EQ(call.version, "9.19.0");
  EXPECT_EQ(call.engine, "ConvFwd_eng38_k2=1");
  EXPECT_EQ(call.workspace, 0x9000u);
  EXPECT_EQ(call.workspace_bytes, 4096u);
  EXPECT_THAT(call.operands, ElementsAre(RecordedOperand{"x", 0x10000, kImages, OperandUse::input},
                                         RecordedOperand{"w", 0x20000, kFilter, OperandUse::input},
                                         RecordedOperand{"y", 0x30000, kImages, OperandUse::output}));
  EXPECT_EQ(call.launches, 2u);
  EXPECT_THAT(call.kernels, ElementsAre("stand_in_convolution", "stand_in_convolution"));
  EXPECT_EQ(call.first, call.correlations.front());
  EXPECT_EQ(call.last, call.correlations.back());
  EXPECT_GT(call.duration, 0);
  EXPECT_THAT(run.only().windows.operations, Each(1));
}

TEST(Calls, BecomeANetworkThatCanBeRunAgain) {
  const RecordedRun run =
      record({"init", "convolution:10000000:20000000:30000000", "convolution:30000000:20000000:40000000",
              "launch:1", "dgrad:40000000:20000000:30000000", "linear:50000000:51000000:52000000:53000000",
              "product:60000000:61000000:62000000", "fused:1000:2000:3000", "wait"},
             with_calls());
  expect_whole(run);
  const Model model = timeline::captured_model(run.timeline);
  std::vector<std::string> operations;
  for (const Call& call : model.calls) operations.push_back(model.layers[call.layer].operation.text());
  ASSERT_EQ(operations.size(), 5u);
  EXPECT_EQ(
      operations[0],
      "conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop,engine=ConvFwd_eng38_k2=1");
  EXPECT_EQ(operations[1], operations[0]);
  EXPECT_THAT(operations[2], HasSubstr("direction=dgrad"));
  EXPECT_THAT(operations[3], AllOf(StartsWith("linear:n=32,in=256,out=128"), HasSubstr("engine=algo21_")));
  EXPECT_THAT(operations[4], AllOf(StartsWith("matmul:m=32,n=64,k=16"), HasSubstr("engine=algo66_")));
  // The second reads what the first wrote; before the third a kernel may have written there.
  ASSERT_EQ(model.calls[1].inputs.size(), 2u);
  EXPECT_EQ(model.calls[1].inputs[0].call, 0u);
  EXPECT_EQ(model.calls[1].inputs[0].source_operand, 2u);
  EXPECT_EQ(model.calls[2].unwritten, 1);
  EXPECT_EQ(model.layers[0].recorded_times.size(), 2u);
  ASSERT_FALSE(model.untimed.empty());
  EXPECT_EQ(model.untimed.front().name, "CONVOLUTION_FORWARD+POINTWISE");
}

TEST(Calls, AreNotRecordedUnlessAskedFor) {
  const RecordedRun run =
      record({"init", "convolution:1000:2000:3000", "linear:1000:2000:3000:4000", "wait"});
  expect_whole(run);
  EXPECT_TRUE(run.only().operations.id.empty());
  EXPECT_EQ(run.only().kernels.start.size(), 3u);
  EXPECT_THAT(run.only().windows.operations, Each(0));
}

TEST(Calls, OfMixedDetailAreThoseOfFullWindows) {
  Settings settings = with_calls();
  settings.detail = capture::DetailChoice::mixed;
  settings.first_full_ms = 1'000'000;
  const RecordedRun light = record({"init", "convolution:1000:2000:3000", "wait"}, settings);
  expect_whole(light);
  EXPECT_TRUE(light.only().operations.id.empty());
  settings.first_full_ms = 0;
  const RecordedRun full = record({"init", "convolution:1000:2000:3000", "wait"}, settings);
  expect_whole(full);
  EXPECT_EQ(full.only().operations.id.size(), 1u);
}

TEST(Calls, AreInTheOrderInWhichTheyWereMade) {
  const RecordedRun run = record({"init", "convolution:1000:2000:3000", "dgrad:3000:2000:1000",
                                  "linear:a000:b000:c000:d000", "convolution:1000:2000:3000:32", "wait"},
                                 with_calls());
  expect_whole(run);
  std::vector<std::string> words;
  for (const RecordedCall& call : calls_of(run.only()))
    words.push_back(call.words.substr(0, call.words.find(' ')));
  EXPECT_THAT(words, ElementsAre("CONVOLUTION_FORWARD", "CONVOLUTION_BACKWARD_DATA", "cublasLtMatmul",
                                 "CONVOLUTION_FORWARD"));
  const RecordedCall gradient = calls_of(run.only())[1];
  EXPECT_EQ(gradient.engine, "ConvBwdData_eng38_k2=1");
  EXPECT_THAT(gradient.operands, ElementsAre(RecordedOperand{"dx", 0x1000, kImages, OperandUse::output},
                                             RecordedOperand{"w", 0x2000, kFilter, OperandUse::input},
                                             RecordedOperand{"dy", 0x3000, kImages, OperandUse::input}));
}

TEST(Calls, OfCublasltHaveTheirDescriptorsBiasAndAlgorithm) {
  const RecordedRun run = record({"init", "linear:10000:20000:30000:40000", "wait"}, with_calls());
  expect_whole(run);
  const std::vector<RecordedCall> calls = calls_of(run.only());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(
      calls[0].words,
      "cublasLtMatmul Adesc=[type=R_16F rows=256 cols=128 ld=256] Bdesc=[type=R_16F rows=256 cols=32 "
      "ld=256] Ddesc=[type=R_16F rows=128 cols=32 ld=128] computeDesc=[computeType=COMPUTE_32F transa=OP_T "
      "transb=OP_N epilogue=EPILOGUE_BIAS] alpha=1 beta=0");
  EXPECT_THAT(calls[0].engine, AllOf(StartsWith("algo21_tile="), HasSubstr("_splitk=2")));
  EXPECT_EQ(calls[0].version, "13.1.0");
  EXPECT_EQ(calls[0].workspace, 0xA000u);
  EXPECT_EQ(calls[0].workspace_bytes, 512u);
  EXPECT_THAT(calls[0].operands, ElementsAre(RecordedOperand{"a", 0x20000, 65'536, OperandUse::input},
                                             RecordedOperand{"b", 0x10000, 16'384, OperandUse::input},
                                             RecordedOperand{"d", 0x40000, 8'192, OperandUse::output},
                                             RecordedOperand{"bias", 0x30000, 256, OperandUse::input}));
}

TEST(Calls, WithinCallsAreOneAndTellTheAlgorithm) {
  const RecordedRun run = record({"init", "product:10000:20000:30000", "wait"}, with_calls());
  expect_whole(run);
  const std::vector<RecordedCall> calls = calls_of(run.only());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].provider, "cuBLAS");
  EXPECT_THAT(calls[0].words, StartsWith("cublasGemmEx Adesc=[type=R_16BF rows=64 cols=16 ld=64]"));
  EXPECT_THAT(calls[0].engine, StartsWith("algo66_tile="));
  EXPECT_THAT(calls[0].kernels, ElementsAre("stand_in_product"));
}

TEST(Calls, OfBatchesHaveTheirStridesAndMoreKernelsThanAreListed) {
  const RecordedRun run =
      record({"init", "products:10000:20000:30000", "pointers:10000:20000:30000", "wait"}, with_calls());
  expect_whole(run);
  const std::vector<RecordedCall> calls = calls_of(run.only());
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_THAT(
      calls[0].words,
      AllOf(HasSubstr("Adesc=[type=R_32F rows=16 cols=64 ld=16 batchCount=4 stridedBatchOffset=1024]"),
            HasSubstr("computeType=COMPUTE_32F_FAST_TF32 transa=OP_T")));
  EXPECT_EQ(calls[0].launches, 14u);
  EXPECT_EQ(calls[0].correlations.size(), 12u);
  EXPECT_EQ(calls[0].operands[2], (RecordedOperand{"d", 0x30000, 32'768, OperandUse::output}));
  EXPECT_THAT(calls[1].words, HasSubstr("by_pointers=1"));
  for (const RecordedOperand& operand : calls[1].operands) EXPECT_EQ(operand.address, 0u);
}

TEST(Calls, OfAGraphOfSeveralOperationsNameThemAndTheirOperands) {
  const RecordedRun run = record({"init", "fused:1000:2000:3000", "wait"}, with_calls());
  expect_whole(run);
  const RecordedCall call = calls_of(run.only()).at(0);
  EXPECT_EQ(call.words, "CONVOLUTION_FORWARD+POINTWISE");
  EXPECT_EQ(call.engine, "CONVOLUTION_FORWARD+POINTWISE_eng38_k2=1");
  // What lies between is in no memory.
  EXPECT_THAT(call.operands, ElementsAre(RecordedOperand{"x", 0x1000, kImages, OperandUse::input},
                                         RecordedOperand{"w", 0x2000, kFilter, OperandUse::input},
                                         RecordedOperand{"", 0x3000, kImages, OperandUse::output}));
}

// A plan that is destroyed and another that is made at the same address are two.
TEST(Calls, OfPlansThatAreMadeAnewAreNotThoseOfBefore) {
  const RecordedRun run =
      record({"init", "anew:1000:2000:3000:64", "anew:1000:2000:3000:32", "wait"}, with_calls());
  expect_whole(run);
  const std::string& output = run.outcome.output;
  ASSERT_EQ(output.substr(0, output.find('\n')), output.substr(output.find('\n') + 1, output.find('\n')))
      << "the test needs the same address twice";
  const std::vector<RecordedCall> calls = calls_of(run.only());
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_THAT(calls[0].words, HasSubstr("x_dims=[8,64,56,56]"));
  EXPECT_THAT(calls[1].words, HasSubstr("x_dims=[8,32,56,56]"));
}

TEST(Calls, OfPlansThatWereMadeUnseenSayThatNothingIsKnown) {
  const RecordedRun run = record({"init", "unseen:1000:2000:3000", "wait"}, with_calls());
  expect_whole(run);
  const RecordedCall call = calls_of(run.only()).at(0);
  EXPECT_EQ(call.words, "a plan whose making was not seen");
  EXPECT_EQ(call.launches, 2u);
}

TEST(Calls, OfThreadsHaveTheirOwnKernels) {
  const RecordedRun run = record({"init", "convolutions:2000:8", "wait"}, with_calls());
  expect_whole(run);
  const RecordedProcess& process = run.only();
  EXPECT_EQ(process.operations.id.size(), 2'000u);
  EXPECT_EQ(std::set(process.operations.thread.begin(), process.operations.thread.end()).size(), 8u);
  const std::set kernels(process.operation_launches.correlation.begin(),
                         process.operation_launches.correlation.end());
  EXPECT_EQ(kernels.size(), 4'000u);  // none of two calls
  EXPECT_EQ(process.operands.address.size(), 6'000u);
  EXPECT_EQ(std::set(process.operands.address.begin(), process.operands.address.end()).count(0), 0u);
}

// Each call is in the file, or in the losses.
TEST(Calls, ThatAreMadeFasterThanTheyAreWrittenAreCounted) {
  Settings settings = with_calls();
  settings.write_every_ms = 100'000;  // the writer sleeps until buffers of kernels are full
  const RecordedRun run = record({"init", "convolutions:30000:2", "wait"}, settings);
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_EQ(run.only().operations.id.size() + run.only().lost(LossKind::no_buffer), 30'000u);
}

TEST(Calls, ThatADiskDoesNotTakeAreCounted) {
  const RecordedRun run = record({"init", "convolutions:100:1", "wait", "written", "limit_files:1",
                                  "convolutions:400:1", "wait", "written", "free_files"},
                                 with_calls());
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  const RecordedProcess& process = run.only();
  const std::size_t rows = process.operations.id.size() + process.operation_launches.operation.size() +
                           process.operands.operation.size() + process.kernels.start.size();
  EXPECT_GT(process.lost(LossKind::disk), 0u);
  // A call's rows: itself, two kernels twice, three operands.
  EXPECT_GE(rows + process.lost(LossKind::disk), 500u * 8u);
}

TEST(Calls, AreNotTheRecordersInAFork) {
  if (!kForksAreSafe) GTEST_SKIP() << "forks of threads are not safe here";
  const RecordedRun run =
      record({"init", "convolution:1000:2000:3000", "forks:launches", "wait"}, with_calls());
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_EQ(run.only().operations.id.size(), 1u);
}

#if __has_include(<cudnn.h>)
static_assert(int{cudnn::kTensor} == int{CUDNN_BACKEND_TENSOR_DESCRIPTOR} &&
              int{cudnn::kPlan} == int{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR} &&
              int{cudnn::kVariantPack} == int{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR} &&
              int{cudnn::kGraph} == int{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR} &&
              int{cudnn::kHeuristics} == int{CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR} &&
              int{cudnn::kConvolutionBackwardData} ==
                  int{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR});
static_assert(int{cudnn::kPrePaddings} == int{CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS} &&
              int{cudnn::kFilterDy} == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY} &&
              int{cudnn::kDataDx} == int{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX} &&
              int{cudnn::kForwardY} == int{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y} &&
              int{cudnn::kHeuristicsResults} == int{CUDNN_ATTR_ENGINEHEUR_RESULTS} &&
              int{cudnn::kPlanConfiguration} == int{CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG} &&
              int{cudnn::kPlanWorkspace} == int{CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE} &&
              int{cudnn::kTensorIsByValue} == int{CUDNN_ATTR_TENSOR_IS_BY_VALUE} &&
              int{cudnn::kTensorId} == int{CUDNN_ATTR_TENSOR_UNIQUE_ID} &&
              int{cudnn::kPackPointers} == int{CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS} &&
              int{cudnn::kPackWorkspace} == int{CUDNN_ATTR_VARIANT_PACK_WORKSPACE} &&
              int{cudnn::kEngineNumericalNote} == int{CUDNN_ATTR_ENGINE_NUMERICAL_NOTE} &&
              int{cudnn::kPointwiseDx} == int{CUDNN_ATTR_OPERATION_POINTWISE_DXDESC} &&
              int{cudnn::kKnobValue} == int{CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE});
static_assert(int{cudnn::kTypeDescriptor} == int{CUDNN_TYPE_BACKEND_DESCRIPTOR} &&
              int{cudnn::kTypeNumericalNote} == int{CUDNN_TYPE_NUMERICAL_NOTE} &&
              int{cudnn::kTypeKnob} == int{CUDNN_TYPE_KNOB_TYPE} &&
              int{cudnn::kTypePointer} == int{CUDNN_TYPE_VOID_PTR} &&
              int{cudnn::kTensorCoreNote} == int{CUDNN_NUMERICAL_NOTE_TENSOR_CORE});
#endif
#if __has_include(<cublasLt.h>)
static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 &&
              int{cublas::kBiasPointer} == int{CUBLASLT_MATMUL_DESC_BIAS_POINTER} &&
              int{cublas::kEpilogue} == int{CUBLASLT_MATMUL_DESC_EPILOGUE} &&
              int{cublas::kTransposeB} == int{CUBLASLT_MATMUL_DESC_TRANSB} &&
              int{cublas::kBatchOffset} == int{CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET} &&
              int{cublas::kLeading} == int{CUBLASLT_MATRIX_LAYOUT_LD} &&
              int{cublas::kCluster} == int{CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID} &&
              int{cublas::kInnerShape} == int{CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID} &&
              int{cublas::kStages} == int{CUBLASLT_ALGO_CONFIG_STAGES_ID} &&
              int{cublas::kCompute32FFastTf32} == int{CUBLAS_COMPUTE_32F_FAST_TF32} &&
              int{cublas::kCompute16F} == int{CUBLAS_COMPUTE_16F} &&
              int{cublas::kR16BF} == int{CUDA_R_16BF} &&
              int{cublas::kBiasEpilogue} == int{CUBLASLT_EPILOGUE_BIAS} &&
              int{cublas::kTf32Math} == int{CUBLAS_TF32_TENSOR_OP_MATH});
#endif

}  // namespace
}  // namespace jitterscope::recorder
