// Calls of libraries in captures that were never made, so that what they explain, and whose memory is whose,
// is known.
#include "timeline/captured_calls.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "base/random.hpp"
#include "commands/capture/record.hpp"
#include "jitterscope/error.hpp"
#include "timeline/analysis.hpp"

namespace jitterscope::timeline {
namespace {

using capture::OperandUse;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct MadeOperand {
  std::string name;
  OperandUse use;
  std::uint64_t address, bytes;
};

constexpr std::uint64_t kImages = 2ULL * 8 * 64 * 56 * 56, kFilter = 2ULL * 64 * 64 * 9;

std::string convolution_words(int channels = 64, const std::string& type = "HALF") {
  const int c = channels;
  return fmt::format(
      "CONVOLUTION_FORWARD mode=CROSS_CORRELATION compute=FLOAT pre=[1,1] post=[1,1] stride=[1,1] "
      "dilation=[1,1] alpha=1 beta=0 x_type={0} x_dims=[8,{1},56,56] x_strides=[{2},1,{3},{1}] w_type={0} "
      "w_dims=[{1},{1},3,3] w_strides=[{4},1,{5},{1}] y_type={0} y_dims=[8,{1},56,56] "
      "y_strides=[{2},1,{3},{1}] tensor_cores=1",
      type, c, c * 56 * 56, c * 56, c * 9, c * 3);
}

class MadeCapture {
 public:
  MadeCapture() {
    process_.label = "pid 1 python3";
    process_.device_names.push_back({0, "GPU-1", "NVIDIA H200"});
    process_.windows.push_back({{0, Time{1} << 60}, capture::Detail::light, false, true});
  }

  /// One after the other, 10 µs each unless said.
  MadeCapture& kernel(const std::string& name, Time length = 10'000, std::uint32_t correlation = 0) {
    WorkName made;
    made.name = name;
    made.grid[0] = made.grid[1] = made.grid[2] = made.block[0] = made.block[1] = made.block[2] = 1;
    auto known = std::ranges::find(process_.names, name, &WorkName::name);
    if (known == process_.names.end()) known = process_.names.insert(known, made);
    work_.what.push_back(static_cast<std::uint32_t>(known - process_.names.begin()));
    work_.begin.push_back(time_);
    work_.end.push_back(time_ + length);
    work_.stream.push_back(7);
    work_.correlation.push_back(correlation == 0 ? ++correlation_ : correlation);
    time_ += length + gap_;
    return *this;
  }
  MadeCapture& call(const std::string& words, const std::string& engine,
                    const std::vector<MadeOperand>& operands, const std::vector<Time>& kernels = {10'000},
                    const std::string& provider = "cuDNN") {
    capture::Operations& rows = process_.operations;
    const std::uint64_t id = rows.id.size();
    rows.id.push_back(id);
    rows.start.push_back(time_);
    rows.duration.push_back(1'000);
    rows.thread.push_back(1);
    rows.operation.push_back(text(words));
    rows.provider.push_back(text(provider));
    rows.version.push_back(text("9.19.0"));
    rows.engine.push_back(text(engine));
    rows.workspace.push_back(0x9000);
    rows.workspace_bytes.push_back(4096);
    rows.first_correlation.push_back(correlation_ + 1);
    rows.launches.push_back(static_cast<std::uint32_t>(kernels.size()));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      kernel(provider + "_kernel", kernels[i]);
      if (i >= 12) continue;
      process_.operation_launches.operation.push_back(id);
      process_.operation_launches.correlation.push_back(correlation_);
    }
    rows.last_correlation.push_back(correlation_);
    for (const MadeOperand& operand : operands) {
      process_.operands.operation.push_back(id);
      process_.operands.name.push_back(text(operand.name));
      process_.operands.use.push_back(static_cast<std::uint8_t>(operand.use));
      process_.operands.address.push_back(operand.address);
      process_.operands.bytes.push_back(operand.bytes);
    }
    return *this;
  }
  MadeCapture& convolution(std::uint64_t x, std::uint64_t w, std::uint64_t y,
                           const std::vector<Time>& kernels = {10'000}) {
    return call(convolution_words(), "ConvFwd_eng38_k2=1",
                {{"x", OperandUse::input, x, kImages},
                 {"w", OperandUse::input, w, kFilter},
                 {"y", OperandUse::output, y, kImages}},
                kernels);
  }
  MadeCapture& pause(Time length) {
    time_ += length;
    return *this;
  }
  MadeCapture& gap(Time length) {
    gap_ = length;
    return *this;
  }
  Process& process() { return process_; }
  DeviceWork& work() { return work_; }

  Timeline made() const {
    Timeline timeline;
    timeline.source = "net.capture";
    timeline.gpus = {"GPU-1"};
    timeline.processes.push_back(process_);
    timeline.processes.back().devices.push_back(work_);
    return timeline;
  }
  Model model() const { return captured_model(made()); }

 private:
  std::uint32_t text(const std::string& words) {
    auto known = std::ranges::find(process_.texts, words);
    if (known == process_.texts.end()) known = process_.texts.insert(known, words);
    return static_cast<std::uint32_t>(known - process_.texts.begin());
  }

  Process process_;
  DeviceWork work_;
  Time time_ = 1'000'000, gap_ = 1'000;
  std::uint32_t correlation_ = 100;
};

// "x<-0.y", "w<-0.w": operands that lie in earlier ones' memory, with offsets where there are any.
std::vector<std::string> sources(const Model& model, std::size_t call) {
  std::vector<std::string> texts;
  const auto name = [&](std::size_t of, std::size_t operand) {
    return model.layers[model.calls[of].layer].operation.operands().at(operand).name;
  };
  for (const OperandSource& source : model.calls.at(call).inputs) {
    std::string text = fmt::format("{}<-{}.{}", name(call, source.operand), source.call,
                                   name(source.call, source.source_operand));
    if (source.offset.value() != 0) text += fmt::format("+{}", source.offset.value());
    texts.push_back(text);
  }
  return texts;
}

constexpr std::uint64_t kA = 0x10000000, kB = 0x20000000, kC = 0x30000000, kW = 0x70000000, kV = 0x71000000;

TEST(CapturedModel, HasACallWithItsEngineKernelsAndTime) {
  const Model model = MadeCapture().convolution(kA, kW, kB, {30'000, 5'000}).model();
  ASSERT_THAT(model.layers, SizeIs(1));
  const Layer& layer = model.layers.front();
  EXPECT_EQ(layer.operation,
            Operation::parse("conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop,"
                             "engine=ConvFwd_eng38_k2=1"));
  EXPECT_THAT(layer.names, ElementsAre("call 1"));
  EXPECT_EQ(layer.source, "CONVOLUTION_FORWARD");
  EXPECT_THAT(layer.recorded_times, ElementsAre(Nanoseconds(35'000)));
  EXPECT_THAT(layer.recorded_kernels, ElementsAre("cuDNN_kernel", "cuDNN_kernel"));
  ASSERT_THAT(layer.recorded_plans, SizeIs(1));
  EXPECT_EQ(layer.recorded_plans[0].workspace, Bytes(4096));
  EXPECT_EQ(model.recorded_gpu_time, Nanoseconds(35'000));
  EXPECT_EQ(model.recorded_device, "NVIDIA H200");
  EXPECT_EQ(model.recorded_cudnn, "9.19.0");
  // A gap within a call is no time of its own.
  EXPECT_THAT(model.notes, Contains(HasSubstr("gaps between them take 2.9 % more")));
}

TEST(CapturedModel, TakesFp32AsWhatItsEngineRoundsItTo) {
  const auto of = [](const std::string& words) {
    const Model model = MadeCapture().call(words, "", {}).model();
    return model.layers.front().operation.dtype();
  };
  std::string words = convolution_words(64, "FLOAT");
  EXPECT_EQ(of(words), DataType::tf32);
  words.back() = '0';
  EXPECT_EQ(of(words), DataType::f32);
}

TEST(CapturedModel, SharesWhatOneCallWritesAndTheNextReads) {
  const Model model = MadeCapture().convolution(kA, kW, kB).convolution(kB, kV, kC).model();
  EXPECT_THAT(sources(model, 0), IsEmpty());
  EXPECT_THAT(sources(model, 1), ElementsAre("x<-0.y"));
  EXPECT_EQ(model.calls[1].unwritten, 0);
}

TEST(CapturedModel, DoesNotKnowWhatAKernelInBetweenMayHaveWritten) {
  const Model model = MadeCapture().convolution(kA, kW, kB).kernel("relu").convolution(kB, kW, kC).model();
  EXPECT_THAT(sources(model, 1), ElementsAre("w<-0.w"));  // weights stay
  EXPECT_EQ(model.calls[1].unwritten, 1);
  EXPECT_THAT(model.notes, Contains(HasSubstr("The content of 1 operand is not known")));
}

TEST(CapturedModel, TakesTheLastWriterOfMemoryThatIsUsedAgain) {
  // The second call's output is in the first one's memory, and is what the third reads.
  const Model model =
      MadeCapture().convolution(kA, kW, kB).convolution(kC, kW, kB).convolution(kB, kW, kC).model();
  EXPECT_THAT(sources(model, 1), ElementsAre("w<-0.w", "y<-0.y"));
  EXPECT_THAT(sources(model, 2), ElementsAre("x<-0.y", "w<-0.w", "y<-1.x"));
  // One that begins within it takes its part; who reads beyond that reads of two calls.
  const Model parts = MadeCapture()
                          .convolution(kA, kW, kB)
                          .convolution(kC, kV, kB + 4096)
                          .convolution(kB + 4096, kV, kC)
                          .convolution(kB, kV, kA)
                          .model();
  EXPECT_THAT(sources(parts, 1), IsEmpty());
  EXPECT_THAT(sources(parts, 2), Contains("x<-1.y"));
  EXPECT_EQ(parts.calls[2].unwritten, 0);
  EXPECT_THAT(sources(parts, 3), Not(Contains(HasSubstr("x<-"))));
  EXPECT_EQ(parts.calls[3].unwritten, 1);
}

TEST(CapturedModel, ReadsAPartOfAnEarlierOutputByItsOffset) {
  const std::string half = convolution_words(32);
  const Model model = MadeCapture()
                          .convolution(kA, kW, kB)
                          .call(half, "",
                                {{"x", OperandUse::input, kB + 1024, kImages / 2},
                                 {"w", OperandUse::input, kV, kFilter / 4},
                                 {"y", OperandUse::output, kC, kImages / 2}})
                          .model();
  EXPECT_THAT(sources(model, 1), ElementsAre("x<-0.y+1024"));
}

TEST(CapturedModel, KnowsNothingOfWhatACallWithoutAnOperationWrites) {
  const Model model =
      MadeCapture()
          .convolution(kA, kW, kB)
          .call("CONVOLUTION_FORWARD+POINTWISE", "",
                {{"x", OperandUse::input, kB, kImages}, {"", OperandUse::output, kC, kImages}})
          .convolution(kC, kV, kA)
          .model();
  ASSERT_THAT(model.calls, SizeIs(2));
  EXPECT_THAT(sources(model, 1), Contains("y<-0.x"));
  EXPECT_THAT(sources(model, 1), Not(Contains(HasSubstr("x<-0.y"))));
  EXPECT_EQ(model.calls[1].unwritten, 1);
  ASSERT_THAT(model.untimed, SizeIs(1));
  EXPECT_EQ(model.untimed[0].name, "CONVOLUTION_FORWARD+POINTWISE");
  EXPECT_THAT(model.untimed[0].reason, HasSubstr("fuses into one graph"));
  EXPECT_EQ(model.untimed[0].recorded_time, Nanoseconds(10'000));
}

constexpr const char* kLinear =
    "cublasLtMatmul Adesc=[type=R_16F rows=256 cols=128 ld=256] Bdesc=[type=R_16F rows=256 cols=32 ld=256] "
    "Ddesc=[type=R_16F rows=128 cols=32 ld=128] computeDesc=[computeType=COMPUTE_32F transa=OP_T transb=OP_N "
    "epilogue=EPILOGUE_BIAS] alpha=1 beta=0";

TEST(CapturedModel, NamesTheOperandsOfProductsAsItsOperationsDo) {
  const auto linear = [](MadeCapture& capture, std::uint64_t x, std::uint64_t w, std::uint64_t y) {
    capture.call(kLinear, "algo21_tile=128x128_splitk=2",
                 {{"a", OperandUse::input, w, 65'536},
                  {"b", OperandUse::input, x, 16'384},
                  {"d", OperandUse::output, y, 8'192},
                  {"bias", OperandUse::input, kV, 256}},
                 {10'000}, "cuBLASLt");
  };
  MadeCapture capture;
  linear(capture, kA, kW, kB);
  linear(capture, kA, kW, kC);
  const Model model = capture.model();
  ASSERT_THAT(model.layers, SizeIs(1));
  EXPECT_EQ(model.layers[0].operation,
            Operation::parse("linear:n=32,in=256,out=128,dtype=f16,engine=algo21_tile=128x128_splitk=2"));
  EXPECT_THAT(sources(model, 1), ElementsAre("w<-0.w", "x<-0.x", "bias<-0.bias"));
}

TEST(CapturedModel, SaysWhyAProductIsNone) {
  const std::string words = kLinear;
  const std::pair<std::string, const char*> kWrong[] = {
      {words.substr(0, words.size() - 1) + "1", "adds its product to C"},
      {words.substr(0, words.size() - 1) + "on_device", "adds its product to C"},
      {words + " by_pointers=1", "by a list of pointers"},
      {"cublasGemmEx", "lacks"},
      {"", "lacks"}};
  for (const auto& [wrong, why] : kWrong) {
    const Model model = MadeCapture().convolution(kA, kW, kB).call(wrong, "", {}, {10'000}, "cuBLAS").model();
    ASSERT_THAT(model.untimed, SizeIs(1)) << wrong;
    EXPECT_THAT(model.untimed[0].reason, HasSubstr(why));
  }
}

TEST(CapturedModel, IsOfTheMedianStepAndHasTimesOfAll) {
  MadeCapture capture;
  for (Time step = 0; step < 31; ++step) {
    capture.convolution(kA, kW, kB, {20'000 + 100 * step})
        .kernel("relu", 5'000)
        .convolution(kB, kV, kC, {9'000});
    capture.kernel("end_of_step", 2'000).pause(200'000);
  }
  const Model model = capture.model();
  ASSERT_THAT(model.layers, SizeIs(1));  // the same convolution twice
  EXPECT_THAT(model.calls, SizeIs(2));
  EXPECT_EQ(model.layers[0].count(), 2);
  EXPECT_GE(model.layers[0].recorded_times.size(), 2u * 28u);
  EXPECT_THAT(
      model.layers[0].recorded_times,
      AllOf(Contains(Nanoseconds(21'500)), Contains(Nanoseconds(22'000)), Contains(Nanoseconds(9'000))));
  EXPECT_THAT(model.notes, Contains(HasSubstr("median of ")));
  ASSERT_THAT(model.untimed, SizeIs(1));
  EXPECT_EQ(model.untimed[0].name, "other kernels");
  EXPECT_EQ(model.untimed[0].count, 2);
}

TEST(CapturedModel, SaysThatThereIsNothingToRun) {
  const auto message = [](const MadeCapture& capture) {
    try {
      capture.model();
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  MadeCapture none;
  none.kernel("relu");
  EXPECT_THAT(message(none), HasSubstr("this program made none while it was recorded"));
  none.process().windows.front().operations = false;
  EXPECT_THAT(message(none), HasSubstr("record it with `jitterscope capture --calls`"));
  EXPECT_THAT(message(MadeCapture().call("a plan whose making was not seen", "", {})),
              HasSubstr("no call that can be run again"));
  EXPECT_THAT(message(MadeCapture()), HasSubstr("no work of a GPU"));
}

TEST(CapturedCalls, AreNotMixedUpByThreads) {
  MadeCapture capture;
  capture.convolution(kA, kW, kB, {1'000, 1'000, 1'000});
  capture.kernel("another", 1'000, 102);  // with a launch of another thread in between
  capture.process().operation_launches.correlation[1] = 999;
  const CapturedCalls calls = captured_calls(capture.process(), capture.work());
  ASSERT_THAT(calls.calls, SizeIs(1));
  EXPECT_THAT(calls.calls[0].work, ElementsAre(0u, 2u));
  EXPECT_EQ(calls.call_of_work[3], CapturedCalls::kNone);
}

TEST(CapturedCalls, HaveAllOfManyKernels) {
  MadeCapture capture;
  capture.convolution(kA, kW, kB, std::vector<Time>(20, 1'000)).kernel("another");
  const CapturedCalls calls = captured_calls(capture.process(), capture.work());
  ASSERT_THAT(calls.calls, SizeIs(1));
  EXPECT_EQ(calls.calls[0].work.size(), 20u);
  EXPECT_EQ(calls.calls[0].time, 20'000);
  EXPECT_EQ(calls.calls[0].gaps, 19'000);
  EXPECT_EQ(calls.call_of_work.back(), CapturedCalls::kNone);
}

TEST(CallCoverage, TellsWhatCallsExplainAndWhoMadeTheRest) {
  MadeCapture capture;
  capture.convolution(kA, kW, kB, {50'000})
      .call("CONVOLUTION_FORWARD+POINTWISE", "", {}, {10'000})
      .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 8'000)
      .kernel("triton_poi_fused_relu_0", 12'000)
      .kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>()", 15'000)
      .kernel("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>()", 4'000)
      .kernel("my_kernel", 1'000);
  const std::optional<CallCoverage> coverage = call_coverage(capture.process(), capture.work());
  ASSERT_TRUE(coverage.has_value());
  EXPECT_EQ(coverage->calls, 2u);
  EXPECT_NEAR(coverage->explained, 0.6, 1e-9);
  EXPECT_NEAR(coverage->replayable, 0.5, 1e-9);
  EXPECT_THAT(coverage->others, ElementsAre(testing::DoubleNear(0.15, 1e-9), testing::DoubleNear(0.12, 1e-9),
                                            testing::DoubleNear(0.08, 1e-9), testing::DoubleNear(0.04, 1e-9),
                                            testing::DoubleNear(0.01, 1e-9)));
  const Timeline timeline = capture.made();
  std::string text = record_text(make_capture_record(timeline, analyse(timeline, {})), {.width = 1000});
  EXPECT_THAT(text,
              HasSubstr("2 library calls explain 60 % of kernel time, and 50 % can be run again; without a "
                        "call: 15 % PyTorch's own kernels, 12 % Triton kernels, 8 % NCCL"));
  capture.process().windows.front().operations = false;
  EXPECT_EQ(call_coverage(capture.process(), capture.work()), std::nullopt);
}

// Files may be damaged in any way: what is read of them is checked.
TEST(CapturedCalls, AreReadOfAnyRows) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    MadeCapture capture;
    for (int i = 0; i < 6; ++i)
      capture.convolution(kA + 4096 * random.below(9), kW, kB + 4096 * random.below(9));
    const auto damage = [&](auto& column) {
      for (auto& value : column) {
        if (random.below(4) == 0)
          value = static_cast<std::decay_t<decltype(value)>>(
              random.below(2) == 0 ? ~std::uint64_t{0} - random.below(3) : random.below(300));
      }
    };
    Process& process = capture.process();
    damage(process.operations.id);
    damage(process.operations.operation);
    damage(process.operations.provider);
    damage(process.operations.engine);
    damage(process.operations.launches);
    damage(process.operations.last_correlation);
    damage(process.operations.workspace_bytes);
    damage(process.operation_launches.operation);
    damage(process.operation_launches.correlation);
    damage(process.operands.operation);
    damage(process.operands.name);
    damage(process.operands.use);
    damage(process.operands.address);
    damage(process.operands.bytes);
    try {
      const Model model = capture.model();
      for (const Call& call : model.calls) {
        const auto operands = model.layers.at(call.layer).operation.operands();
        for (const OperandSource& source : call.inputs) {
          const auto theirs = model.layers.at(model.calls.at(source.call).layer).operation.operands();
          EXPECT_LE(source.offset.value() + operands.at(source.operand).bytes().value(),
                    theirs.at(source.source_operand).bytes().value());
        }
      }
    } catch (const UsageError&) {  // nothing is left that can be run
    }
  }
}

}  // namespace
}  // namespace jitterscope::timeline
