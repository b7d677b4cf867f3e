#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

#include "import/imported.hpp"
#include "import/small_trace.hpp"
#include "jitterscope/error.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::set<std::string> kProducts = {"conv2d",    "linear",     "matmul",
                                         "attention", "batch_norm", "layer_norm"};
const std::string kOlderData = std::string(JITTERSCOPE_TEST_DATA) + "/..";

std::set<std::string> operations(const Model& model, const std::set<std::string>& kinds) {
  std::set<std::string> result;
  for (const auto& [text, count] : counts(model, kinds)) result.insert(text);
  return result;
}

// Of torch.nn.Conv1d, 80 to 128 channels in f32 and 128 in four groups in f16, forward and backward on an
// H200.
TEST(ProfilerTrace, TellsTheGradientsAlongOneDimensionApart) {
  const Model model = profiler_trace(data_file("conv1d_trace.json.gz"));
  const auto kernels = [&](const std::string& operation) {
    const Layer* layer = find_layer(model, "conv2d:" + operation);
    return layer == nullptr ? std::vector<std::string>() : layer->recorded_kernels;
  };
  const std::string whole = "n=4,c=80,h=1,w=1500,k=128,r=1,s=3,pad=0x1,dtype=tf32,layout=nchw,direction=";
  const std::string groups =
      "n=4,c=128,h=1,w=300,k=128,r=1,s=5,pad=0x2,groups=4,dtype=f16,layout=nchw,direction=";
  EXPECT_THAT(kernels(whole + "fprop"), SizeIs(1));
  EXPECT_THAT(kernels(whole + "dgrad"), AllOf(SizeIs(4), Contains(HasSubstr("_dgrad_"))));
  EXPECT_THAT(kernels(whole + "wgrad"), AllOf(SizeIs(6), Contains(HasSubstr("ReduceSplitK"))));
  EXPECT_THAT(kernels(groups + "dgrad"), SizeIs(4));
  EXPECT_THAT(kernels(groups + "wgrad"), SizeIs(1));
}

// Both records were made by one program, so that their operations are the same.
TEST(ProfilerTrace, GivesTheOperationsOfTheExecutionTrace) {
  EXPECT_EQ(operations(profiler_trace(data_file("resnet18_trace.json.gz")), kProducts),
            operations(execution_trace(kOlderData + "/resnet18_et.json.gz"), kProducts));
  EXPECT_EQ(counts(profiler_trace(data_file("resnet50_step_trace.json.gz")), kProducts),
            counts(execution_trace(kOlderData + "/resnet50_et.json.gz"), kProducts));
  for (const std::string name : {"bert", "mobilenet_v2"}) {
    EXPECT_EQ(counts(profiler_trace(data_file(name + "_step_trace.json.gz")), kProducts),
              counts(execution_trace(data_file(name + "_et.json.gz")), kProducts))
        << name;
  }
}

TEST(ProfilerTrace, TimesAddUpToAllThatTheGpuDid) {
  for (const std::string name : {"resnet18_trace", "bert_step_trace", "mobilenet_v2_step_trace"}) {
    const Model model = profiler_trace(data_file(name + ".json.gz"));
    Nanoseconds sum(0);
    for (const Layer& layer : model.layers) sum += layer.recorded_time().value_or(Nanoseconds(0));
    for (const UntimedOperator& untimed : model.untimed)
      sum += untimed.recorded_time.value_or(Nanoseconds(0));
    ASSERT_TRUE(model.recorded_gpu_time.has_value());
    EXPECT_NEAR(sum.value(), model.recorded_gpu_time->value(), 1.0) << name;
    EXPECT_EQ(model.recorded_device, "NVIDIA H200");
  }
}

TEST(ProfilerTrace, TellsTheKernelsOfBothGradientsApart) {
  const Model model = profiler_trace(data_file("resnet18_trace.json.gz"));
  const std::string problem = "conv2d:n=16,c=512,hw=7,k=512,rs=3,pad=1,dtype=tf32,layout=nchw,direction=";
  const Layer *dgrad = find_layer(model, problem + "dgrad"), *wgrad = find_layer(model, problem + "wgrad");
  ASSERT_TRUE(dgrad != nullptr && wgrad != nullptr);
  EXPECT_THAT(dgrad->recorded_kernels, AllOf(SizeIs(4), Contains(HasSubstr("_dgrad_"))));
  EXPECT_THAT(dgrad->recorded_kernels, Not(Contains(HasSubstr("_wgrad_"))));
  EXPECT_THAT(wgrad->recorded_kernels, AllOf(SizeIs(5), Contains(HasSubstr("_wgrad_"))));
  EXPECT_GT(dgrad->recorded_time().value(), Nanoseconds(0));
}

TEST(ProfilerTrace, ListsWhatItCannotTimeWithItsTime) {
  const Model model = profiler_trace(data_file("resnet18_trace.json.gz"));
  ASSERT_THAT(model.untimed, SizeIs(1));
  EXPECT_EQ(model.untimed[0].name, "aten::_foreach_add_");
  EXPECT_EQ(model.untimed[0].count, 2);
  EXPECT_EQ(model.untimed[0].reason, "a profiler trace does not record the tensors of a list");
  EXPECT_EQ(model.untimed[0].remedy, "an execution trace (torch.profiler.ExecutionTraceObserver) does");
  EXPECT_NEAR(model.untimed[0].recorded_time->value(), 70'495.0, 1.0);
  // The file's calls are those of both kinds, as `run` counts them.
  EXPECT_EQ(
      model.description,
      fmt::format("{} calls of {} operations, of which {} of {} can be timed, from a PyTorch profiler trace",
                  model.calls.size() + 2, model.layers.size() + 1, model.calls.size(), model.layers.size()));
}

Model import(const std::vector<std::string>& events) {
  return import_profiler_trace(trace_of(events), "t.json");
}
std::string problem(const std::string& text) {
  return usage_message([&] { import_profiler_trace(text, "t.json"); });
}

TEST(ProfilerTrace, JoinsKernelsToTheInnermostOperator) {
  const Model model = import({kKernel, kSum, kLaunch});
  ASSERT_THAT(model.layers, SizeIs(1));
  EXPECT_EQ(model.layers[0].operation, Operation::parse("add:count=4"));
  EXPECT_EQ(model.layers[0].recorded_time(), Nanoseconds(2500));
  EXPECT_THAT(model.layers[0].recorded_kernels, ElementsAre("adds"));
  // The same events as older PyTorch wrote them, and as a list alone.
  const std::string list = "[" + kSum + "," + kLaunch + "," + kKernel + "]";
  EXPECT_EQ(import_profiler_trace(list, "t.json").recorded_gpu_time, Nanoseconds(2500));
}

TEST(ProfilerTrace, KeepsNanosecondsOfTimesSince1970) {
  std::string sum = kSum, launch = kLaunch;
  // One nanosecond after the operator's end: a double would not tell them apart.
  sum.replace(sum.find("100.000,\"dur\":10"), 16, "1700000000000100.000,\"dur\":10");
  launch.replace(launch.find("\"ts\":105"), 8, "\"ts\":1700000000000110.001");
  EXPECT_THAT(problem(trace_of({sum, launch, kKernel})), HasSubstr("1 of adds"));
}

TEST(ProfilerTrace, ListsKernelsOfNoOperatorAndOfOtherLibraries) {
  const std::string custom =
      event("cpu_op", "flash_attn::forward", R"("ts":200,"dur":10)", R"("External id":1)");
  std::string launch = kLaunch, kernel = kKernel;
  launch.replace(launch.find("105"), 3, "205").replace(launch.find(":7"), 2, ":8");
  kernel.replace(kernel.find(":7"), 2, ":8");
  const std::string lost = event("kernel", "replayed", R"("ts":130,"dur":4)", R"("correlation":99)");
  const Model model = import({kSum, kLaunch, kKernel, custom, launch, kernel, lost});
  ASSERT_THAT(model.untimed, SizeIs(2));
  EXPECT_EQ(model.untimed[0].name, "replayed");
  EXPECT_EQ(model.untimed[1].name, "flash_attn::forward");
  EXPECT_EQ(model.untimed[1].recorded_time, Nanoseconds(2500));
  EXPECT_EQ(model.recorded_gpu_time, Nanoseconds(9000));
}

// A whole file shows that an operator launched nothing; of one that ends early nobody knows.
TEST(ProfilerTrace, WhatLaunchedNothingTookNoTimeOnTheGpu) {
  const std::string other = event("cpu_op", "other::one", R"("ts":200,"dur":10)", R"("External id":1)");
  const std::vector<std::string> events = {kSum, kLaunch, kKernel, other};
  const Model whole = import(events);
  ASSERT_THAT(whole.untimed, SizeIs(1));
  EXPECT_EQ(whole.untimed[0].recorded_time, Nanoseconds(0));
  const Model part = import_profiler_trace(trace_of(events), "t.json", true);
  ASSERT_THAT(part.untimed, SizeIs(1));
  EXPECT_EQ(part.untimed[0].recorded_time, std::nullopt);
}

TEST(ProfilerTrace, OfACpuGivesOperationsAndSaysSo) {
  const Model model = import({kSum});
  EXPECT_EQ(model.layers.size(), 1u);
  EXPECT_FALSE(model.recorded_gpu_time.has_value());
  EXPECT_THAT(model.notes, Contains(HasSubstr("no GPU times")));
}

// Of an event that has no such list.
std::string without(std::string text, const std::string& key) {
  const std::size_t begin = text.find(",\"" + key + "\":");
  std::size_t end = text.find('[', begin);
  for (int depth = 0; depth > 0 || text[end] == '['; ++end) depth += (text[end] == '[') - (text[end] == ']');
  return text.erase(begin, end - begin);
}

// A product of 4·8·2, and a convolution as cuDNN runs it.
const std::string kProduct =
    event("cpu_op", "aten::mm", R"("ts":300,"dur":10)",
          R"("Input Dims":[[4,8],[8,2]],"Input type":["float","float"],"Input Strides":[[8,1],[2,1]],)"
          R"("Concrete Inputs":["",""])");
const std::string kConvolution = event(
    "cpu_op", "aten::cudnn_convolution", R"("ts":400,"dur":10)",
    R"("Input Dims":[[1,3,8,8],[4,3,3,3],[],[],[],[],[],[],[]],"Input type":["float","float","ScalarList",)"
    R"("ScalarList","ScalarList","Scalar","Scalar","Scalar","Scalar"],"Input Strides":[[192,64,8,1],[27,9,3,1],)"
    R"([],[],[],[],[],[],[]],"Concrete Inputs":["","","[1, 1]","[1, 1]","[1, 1]","1","False","False","True"])");

TEST(ProfilerTrace, OfAGpuWithoutItsActivitiesIsStillOfAGpu) {
  const Model model = import({kConvolution});
  EXPECT_EQ(model.layers.at(0).operation,
            Operation::parse("conv2d:n=1,c=3,hw=8,k=4,rs=3,pad=1,dtype=tf32,layout=nchw,direction=fprop"));
  EXPECT_THAT(model.notes, ElementsAre(HasSubstr("on a GPU, without CUDA activities")));
}

TEST(ProfilerTrace, OfAFileThatEndsBeforeTheGpusPartItSaysThat) {
  const Model model = import_profiler_trace(trace_of({kConvolution}), "t.json", true);
  EXPECT_THAT(model.notes, Contains(HasSubstr("ends before what ran on the GPU")));
  EXPECT_THAT(model.notes, Not(Contains(HasSubstr("without CUDA activities"))));
}

TEST(ProfilerTrace, WithoutStridesTimesNoProductAndSaysWhatItAssumes) {
  const Model model =
      import({kSum, without(kProduct, "Input Strides"), without(kConvolution, "Input Strides")});
  EXPECT_EQ(model.layers.size(), 2u);
  EXPECT_THAT(model.notes, Contains(AllOf(HasSubstr("no 'Input Strides'"), HasSubstr("row-major"))));
  ASSERT_THAT(model.untimed, SizeIs(1));
  EXPECT_EQ(model.untimed[0].name, "aten::mm");
  EXPECT_THAT(model.untimed[0].reason, HasSubstr("whether its matrices are transposed"));
  EXPECT_THAT(import({kSum, kConvolution}).notes, Not(Contains(HasSubstr("Strides"))));
}

TEST(ProfilerTrace, WithoutConcreteInputsSaysWhoWritesThem) {
  const std::string again =
      std::string(without(kConvolution, "Concrete Inputs")).replace(kConvolution.find("400"), 3, "500");
  const Model model = import({kProduct, without(kConvolution, "Concrete Inputs"), again});
  ASSERT_THAT(model.untimed, SizeIs(1));
  EXPECT_EQ(model.untimed[0].count, 2);
  EXPECT_THAT(model.untimed[0].reason, AllOf(HasSubstr("no 'Concrete Inputs'"), HasSubstr("PyTorch 2.1")));
}

TEST(ProfilerTrace, KernelsSayWhichProductsRanInTf32) {
  const auto run_by = [](const std::string& kernel) {
    const std::string launch =
        event("cuda_runtime", "cudaLaunchKernel", R"("ts":305,"dur":1)", R"("correlation":9)");
    return import({kProduct, launch, event("kernel", kernel, R"("ts":320,"dur":2)", R"("correlation":9)")});
  };
  const Model fast = run_by("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16");
  EXPECT_EQ(fast.layers.at(0).operation, Operation::parse("matmul:m=4,n=2,k=8,dtype=tf32"));
  EXPECT_EQ(run_by("ampere_sgemm_32x32_nn").layers.at(0).operation, Operation::parse("matmul:m=4,n=2,k=8"));
  EXPECT_THAT(fast.notes, SizeIs(0));
}

// enable_gqa: PyTorch passes 8 heads of keys beside 32 of queries to its flash kernel.
TEST(ProfilerTrace, GroupedAttentionIsTimed) {
  const std::string attention =
      event("cpu_op", "aten::_scaled_dot_product_flash_attention", R"("ts":300,"dur":10)",
            R"("Input Dims":[[2,32,1024,128],[2,8,1024,128],[2,8,1024,128],[],[],[],[]],)"
            R"("Input type":["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar","Scalar",""],)"
            R"("Input Strides":[[4194304,128,4096,1],[1048576,128,1024,1],[1048576,128,1024,1],[],[],[],[]],)"
            R"("Concrete Inputs":["","","","0.","True","False",""])");
  const std::string launch =
      event("cuda_runtime", "cudaLaunchKernel", R"("ts":305,"dur":1)", R"("correlation":9)");
  const Model model = import(
      {attention, launch, event("kernel", "flash_fwd_kernel", R"("ts":320,"dur":50)", R"("correlation":9)")});
  EXPECT_THAT(model.untimed, SizeIs(0));
  ASSERT_THAT(model.layers, SizeIs(1));
  EXPECT_EQ(
      model.layers[0].operation,
      Operation::parse("attention:batch=2,heads=32,kv_heads=8,queries=1024,dim=128,causal=1,layout=bshd,"
                       "dtype=bf16"));
  EXPECT_EQ(model.layers[0].recorded_time(), Nanoseconds(50'000));
}

TEST(ProfilerTrace, BrokenArgumentsAreListedEachTime) {
  const auto broken = [](const std::string& when) {
    return event("cpu_op", "aten::mm", when, R"("Input Dims":[[4,8],[8,2]],"Input type":["float"])");
  };
  const std::string gradients = event(
      "cpu_op", "aten::convolution_backward", R"("ts":600,"dur":50)",
      R"("Input Dims":[[1,4,8,8],[1,3,8,8],[4,3,3,3],[],[],[],[],[],[],[],[]],"Input type":["float","float","float",)"
      R"("ScalarList","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar","ScalarList"],)"
      R"("Concrete Inputs":["","","","[0]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","[True, True, False]"])");
  const std::string child =
      event("cpu_op", "aten::empty", R"("ts":610,"dur":1)", R"("Concrete Inputs":[1 2])");
  const Model model =
      import({kSum, broken(R"("ts":300,"dur":1)"), broken(R"("ts":400,"dur":1)"), gradients, child});
  EXPECT_THAT(model.calls, SizeIs(1));
  ASSERT_THAT(model.untimed, SizeIs(2));
  EXPECT_EQ(model.untimed[0].count, 2);
  EXPECT_THAT(model.untimed[0].reason, HasSubstr("not as many"));
  EXPECT_EQ(model.untimed[1].name, "aten::convolution_backward");
  EXPECT_THAT(model.untimed[1].reason, HasSubstr("cannot be read"));
}

TEST(ProfilerTrace, WithoutShapesSaysHowToRecordThem) {
  const std::string bare = event("cpu_op", "aten::add", R"("ts":1,"dur":1)", R"("External id":1)");
  EXPECT_THAT(problem(trace_of({bare})), AllOf(HasSubstr("t.json"), HasSubstr("record_shapes=True")));
  EXPECT_THAT(problem(trace_of({})), HasSubstr("no operators"));
}

}  // namespace
}  // namespace jitterscope
