// run and list with --only: some layers of a model.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::kQuick;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

const std::string kTestData = JITTERSCOPE_TEST_DATA;

json layers_of(const std::string& arguments) {
  const Outcome outcome = run_tool("list " + arguments + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  return json::parse(outcome.output).at("layers");
}

TEST(Only, ListsTheLayersWhoseNamesMatch) {
  std::size_t names = 0;
  for (const json& layer : layers_of("resnet18 --only 'layer1.*fprop$'")) {
    for (const std::string name : layer.at("names"))
      EXPECT_THAT(name, testing::MatchesRegex("layer1.*fprop"));
    EXPECT_EQ(layer.at("count"), layer.at("names").size());
    names += layer.at("names").size();
  }
  EXPECT_EQ(names, 4u);  // convolutions of layer1
  EXPECT_THAT(run_tool("list resnet18 --only 'layer1.*fprop$'").output,
              HasSubstr("'layer1.*fprop$' are included, 4 of"));
}

TEST(Only, IsSearchedInOperationsToo) {
  for (const json& layer : layers_of("resnet50 --only hw=7,")) {
    EXPECT_THAT(layer.at("operation").get<std::string>(), HasSubstr("hw=7,"));
  }
}

TEST(Only, TimesTheChosenLayersAndSaysSoAtTheTotal) {
  const Outcome outcome = run_tool("run resnet18:direction=fprop --only 'layer[12].0.conv'" + kQuick);
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("layer2.0.conv1"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("layer3")));
  EXPECT_THAT(outcome.output, HasSubstr("**resnet18:direction=fprop --only layer[12].0.conv**"));
  EXPECT_THAT(outcome.output, HasSubstr("all 4 calls"));
  EXPECT_THAT(outcome.output, HasSubstr("'layer[12].0.conv' are included, 4 of 69; totals"));
}

TEST(Only, WorksOnRecordsAndOnnxFilesAndSweeps) {
  EXPECT_LT(layers_of(kTestData + "/resnet18_et.json.gz --only conv").size(),
            layers_of(kTestData + "/resnet18_et.json.gz").size());
  EXPECT_LT(layers_of(kTestData + "/vgg16.onnx.gz --only linear:").size(),
            layers_of(kTestData + "/vgg16.onnx.gz").size());
  const std::string plan =
      run_tool("run add:count=1..64*2 --only 'count=(8|16)\\b' --device cpu --dry-run").output;
  EXPECT_THAT(plan, testing::StartsWith("2 operations on "));
}

TEST(Only, ASequenceIsOfTheChosenCalls) {
  const Outcome outcome =
      run_tool("run resnet18:batch=4,direction=fprop --only 'layer1' --in-sequence --json -" + kQuick);
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json sequence = json::parse(outcome.output).at("sequence");
  EXPECT_GT(sequence.at("calls").size(), 4u);
  for (const json& call : sequence.at("calls"))
    EXPECT_THAT(call.at("name").get<std::string>(), HasSubstr("layer1"));
}

TEST(Only, NothingThatMatchesNamesAFewLayers) {
  for (const char* command : {"run", "list"}) {
    const Outcome outcome = run_tool(std::string(command) + " resnet18 --only convolution");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.errors,
                HasSubstr("--only: no layer's name or operation contains 'convolution'; layers are "
                          "conv1.fprop, "));
  }
}

TEST(Only, AWrongExpressionIsExplained) {
  const Outcome outcome = run_tool("run resnet18 --only '*conv'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.errors,
            "jitterscope: --only: '*conv' is not a regular expression: *, + or ? has nothing before it to "
            "repeat; write .* "
            "for anything\n");
  EXPECT_THAT(run_tool("list --only conv").errors, HasSubstr("needs a model"));
}

}  // namespace
}  // namespace jitterscope
