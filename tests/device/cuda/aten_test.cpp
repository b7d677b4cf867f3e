// Operators of PyTorch on a GPU, where the plug-in for PyTorch is there and was built with CUDA.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "cuda_test.hpp"

namespace jitterscope {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr InputData kOnes{.kind = DataKind::ones, .seed = 1};

// A test lies one folder below the tool: the plug-in is beside that where CMake built it, in
// ../lib/jitterscope of a bundle where scripts/build-torch-plugin did.
void take_plugin_of_the_tool() {
  namespace fs = std::filesystem;
  const fs::path tools = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  constexpr const char* kName = "libjitterscope_torch.so";
  for (const fs::path& file : {tools / kName, tools.parent_path() / "lib" / "jitterscope" / kName}) {
    if (fs::exists(file)) setenv("JITTERSCOPE_TORCH_PLUGIN", file.c_str(), 0);
  }
}

class CudaAtenTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    take_plugin_of_the_tool();
    try {
      prepare("aten::relu(f32[1])");
    } catch (const MissingError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::vector<double> output(const std::string& text) {
    const auto prepared = prepare(text, kOnes);
    queue().launch(*prepared);
    queue().wait();
    return prepared->read_operand(0);
  }
  void expect_not_recordable(PreparedOperation& prepared) {
    try {
      queue().record([&](Queue& recorder) { recorder.launch(prepared); });
      ADD_FAILURE() << prepared.algorithm() << " was recorded";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot be recorded"));
    }
  }
};

TEST_F(CudaAtenTest, ComputesWithPytorchsKernels) {
  EXPECT_THAT(output("aten::add.Tensor(f16[8],f16[8],alpha=2)"), Each(3.0));
  EXPECT_THAT(output("aten::mul.Tensor(f32[8],f64@cpu[])"), Each(1.0));
  EXPECT_THAT(output("aten::mm(f32[2,7],f32[7,3])"), Each(7.0));
  EXPECT_THAT(
      output("aten::cudnn_convolution(f32[1,3,5,5],f32[2,3,3,3],[0,0],[1,1],[1,1],1,false,false,true)"),
      Each(27.0));
  EXPECT_THAT(output("aten::embedding(f32[10,4],i64[3])"), SizeIs(12));
}

TEST_F(CudaAtenTest, ARecordingReplaysTheLaunches) {
  const auto prepared = prepare("aten::add_.Tensor(f32[8],f32[8])", kOnes);
  queue().wait();
  const double before = prepared->read_operand(0).front();
  const auto recording = queue().record([&](Queue& recorder) {
    for (int i = 0; i < 3; ++i) recorder.launch(*prepared);
  });
  queue().replay(*recording);
  queue().replay(*recording);
  queue().wait();
  EXPECT_EQ(prepared->read_operand(0).front(), before + 6.0);
}

// More than once, since PyTorch makes its output anew each time.
TEST_F(CudaAtenTest, LayersBeforeAndBehindShareItsMemory) {
  const auto before = prepare("add:count=4096", kOnes);
  InputData data = kOnes;
  data.shared = {{0, before.get(), 2}};
  const auto prepared = prepare("aten::mul.Tensor(f32[4096],3)", data);
  data.shared = {{0, prepared.get(), 1}};
  const auto behind = prepare("add:count=4096", data);
  const auto last = prepare("aten::neg(f32[4096])", {.shared = {{0, prepared.get(), 1}}});
  for (int i = 0; i < 3; ++i) {
    behind->poison_outputs();
    for (const auto& each : {before.get(), prepared.get(), behind.get(), last.get()}) queue().launch(*each);
    queue().wait();
    EXPECT_THAT(behind->read_operand(2), Each(7.0));
    EXPECT_THAT(last->read_operand(0), Each(-6.0));
  }
}

// Its indices would be overwritten if the recording's outputs were given to it as memory.
TEST_F(CudaAtenTest, ARecordingWritesToNobodyElsesMemory) {
  const auto recorded = prepare("aten::mul.Tensor(f32[4096],f32[4096])");
  const auto recording = queue().record([&](Queue& recorder) {
    for (int i = 0; i < 4; ++i) recorder.launch(*recorded);
  });
  const auto other = prepare("aten::clone(f32[4096])", kOnes);
  for (int i = 0; i < 10; ++i) queue().replay(*recording);
  queue().launch(*other);
  queue().wait();
  EXPECT_THAT(other->read_operand(0), Each(1.0));
}

TEST_F(CudaAtenTest, WhatWaitsForTheGpuOpensTheGateAndIsNotRecorded) {
  const auto prepared = prepare("aten::nonzero(f32[64])", kOnes);
  queue().hold();
  queue().launch(*prepared);
  queue().wait();
  EXPECT_THAT(prepared->read_operand(0), SizeIs(64));
  expect_not_recordable(*prepared);
}

TEST_F(CudaAtenTest, RandomNumbersAreNotRecorded) {
  const auto prepared = prepare("aten::native_dropout(f32[64],0.5,true)", kOnes);
  expect_not_recordable(*prepared);
  queue().launch(*prepared);  // the queue is whole
  queue().wait();
  EXPECT_THAT(prepared->read_operand(0), SizeIs(64));
}

TEST_F(CudaAtenTest, MemoryIsGivenBack) {
  const Bytes before = device().describe().memory_free;
  for (int i = 0; i < 5; ++i) prepare("aten::relu(f32[268435456])");
  EXPECT_GT(device().describe().memory_free + Bytes(512 << 20), before);
}

}  // namespace
}  // namespace jitterscope
