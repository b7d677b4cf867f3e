// Damaged cudnn-frontend logs, and graphs in JSON.
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

Model import_damaged(std::string_view text) { return import_cudnn_frontend_log(text, "fe.log"); }
std::string whole_log() { return test_data("conv_linear_fe.log.gz"); }
std::string problem(std::string_view text) {
  return usage_message([&] { import_damaged(text); });
}

TEST(DamagedCudnnFrontendLog, WithoutOperationsSaysHowToRecordOne) {
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string(1000, '\0'), std::string(1 << 24, 'x')}) {
    EXPECT_THAT(problem(text),
                AllOf(HasSubstr("fe.log holds no convolution"), HasSubstr("CUDNN_FRONTEND_LOG_INFO=1"),
                      HasSubstr("CUDNN_FRONTEND_LOG_FILE=")));
  }
}

TEST(DamagedCudnnFrontendLog, EveryTruncationIsReadAsFarAsItGoes) {
  const std::string text = whole_log();
  std::size_t calls = 0;
  for (std::size_t length = 0; length <= text.size(); length += 7) {
    try {
      const Model model = import_damaged(std::string_view(text).substr(0, length));
      expect_consistent(model);
      EXPECT_GE(model.calls.size(), calls) << length;
      calls = model.calls.size();
    } catch (const UsageError&) {
      EXPECT_EQ(calls, 0u) << length;
    }
  }
  EXPECT_EQ(import_damaged(text).calls.size(), 3u);
}

TEST(DamagedCudnnFrontendLog, ADamagedRecordIsLeftOutAndCounted) {
  // The y of the first convolution has no dimensions now.
  const Model model = import_damaged(replaced(whole_log(), "Dim [ 8,128,56,56 ]", "Dim [ 8,128"));
  EXPECT_EQ(model.calls.size(), 2u);
  EXPECT_THAT(notes_of(model), AllOf(HasSubstr("damaged"), HasSubstr("line 13")));
  EXPECT_THAT(problem("Tag: ConvFwd_\n"), AllOf(HasSubstr("1 damaged record"), HasSubstr("line 1,")));
}

TEST(DamagedCudnnFrontendLog, AnEngineThatIsNoWordIsDamage) {
  const Model model = import_damaged(replaced(whole_log(), "ConvFwd_eng38_k2=1", "ConvFwd_eng38;k2=1"));
  EXPECT_THAT(notes_of(model), AllOf(HasSubstr("line 44"), HasSubstr("engine of 1 convolution is left")));
  EXPECT_THAT(operation_texts(model)[0], HasSubstr("direction=fprop"));
}

TEST(DamagedCudnnFrontendLog, CarriageReturnsAreNoDamage) {
  std::string text;
  for (const char letter : whole_log()) {
    if (letter == '\n') text += '\r';
    text += letter;
  }
  EXPECT_EQ(operation_texts(import_damaged(text)), operation_texts(import_damaged(whole_log())));
}

TEST(DamagedCudnnFrontendLog, AProblemThatWasNotExecutedIsNoCall) {
  const std::string text = whole_log();
  const Model model =
      import_damaged(text.substr(0, text.rfind("[cudnn_frontend] CUDNN_BACKEND_VARIANT_PACK")));
  EXPECT_EQ(model.calls.size(), 2u);
  EXPECT_THAT(notes_of(model), HasSubstr("describes 1 problem that it records no execution of"));
}

const char* const kGraph =
    R"({"context":{"compute_data_type":"FLOAT","io_data_type":"HALF"},"cudnn_backend_version":"9.8.0","nodes":[)"
    R"({"dilation":[1,1],"inputs":{"W":"w","X":"x"},"math_mode":"CROSS_CORRELATION","name":"0","outputs":{"Y":"y"},)"
    R"("post_padding":[1,1],"pre_padding":[1,1],"stride":[2,2],"tag":"CONV_FPROP"}],"tensors":{)"
    R"("y":{"data_type":"NOT_SET","dim":[],"stride":[]},)"
    R"("w":{"data_type":"HALF","dim":[64,32,3,3],"stride":[288,1,96,32]},)"
    R"("x":{"data_type":"NOT_SET","dim":[1,32,416,416],"stride":[5537792,1,13312,32]}}})";
const char* const kPlan =
    "[cudnn_frontend] CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR : ConvFwd_eng5_k2=1, numeric_notes:[] "
    "behavior_notes:[] workSpaceSize: 16\n";

TEST(GraphsInJson, AreConvolutionsByTheirNamedExecutions) {
  const std::string run =
      "[cudnn_frontend] INFO: Executing ConvFwd_eng5_k2=1...\n"
      "[cudnn_frontend] CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR : has 3 data pointers\n"
      "[cudnn_frontend] INFO: Executed ConvFwd_eng5_k2=1.\n";
  const Model model = import_damaged(std::string(kGraph) + "\nTag: ConvFwd_\n" + kPlan + run + run);
  EXPECT_THAT(
      operation_texts(model),
      ElementsAre("conv2d:n=1,c=32,hw=416,k=64,rs=3,stride=2,pad=1,dtype=f16,layout=nhwc,direction=fprop,"
                  "engine=ConvFwd_eng5_k2=1"));
  EXPECT_THAT(model.layers[0].names, ElementsAre("line 4", "line 7"));
  EXPECT_EQ(model.recorded_cudnn, "9.8.0");
  expect_consistent(model);
}

TEST(GraphsInJson, WithoutExecutionsCountOnce) {
  const Model model = import_damaged(std::string(kGraph) + "\n");
  EXPECT_EQ(model.calls.size(), 1u);
  EXPECT_THAT(notes_of(model),
              AllOf(HasSubstr("records no execution"), HasSubstr("engine of 1 convolution")));
}

TEST(GraphsInJson, FusedNodesAreUntimed) {
  const std::string fused = replaced(kGraph, "\"nodes\":[", "\"nodes\":[{\"tag\":\"POINTWISE\"},");
  const Model model = import_damaged(fused + "\nTag: ConvFwd_Pointwise_\n");
  EXPECT_EQ(model.calls.size(), 1u);
  ASSERT_EQ(model.untimed.size(), 1u);
  EXPECT_EQ(model.untimed[0].name, "POINTWISE");
  EXPECT_THAT(model.untimed[0].reason, HasSubstr("fused"));
}

TEST(GraphsInJson, DamagedOnesAreCounted) {
  for (const char* text :
       {"{", "{}", "{\"nodes\":3}", "{\"nodes\":[3]}", "{\"nodes\":[{\"tag\":\"CONV_FPROP\"}]}"}) {
    EXPECT_THAT(problem(text), AllOf(HasSubstr("1 damaged record"), HasSubstr("JSON"))) << text;
  }
}

}  // namespace
}  // namespace jitterscope
