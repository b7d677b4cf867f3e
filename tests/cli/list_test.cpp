#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;

TEST(List, ShowsAllFourSections) {
  const Outcome outcome = run_tool("list");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* heading : {"## Operations", "## Devices", "## Providers", "## Models"}) {
    EXPECT_THAT(outcome.output, HasSubstr(heading));
  }
}

TEST(List, ShowsOneSection) {
  const Outcome outcome = run_tool("list models");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("| resnet18 |"));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("## Operations")));
  const json document = json::parse(run_tool("list providers --json -").output);
  EXPECT_EQ(document.at("providers").at(0).at("name"), "onednn");
  EXPECT_FALSE(document.contains("models"));
}

TEST(List, LayersOfAModelReadBackAsOperations) {
  const Outcome outcome = run_tool("list resnet18 --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  const json layers = json::parse(outcome.output).at("layers");
  ASSERT_EQ(layers.size(), 35u);
  for (const json& layer : layers) {
    const std::string text = layer.at("operation");
    EXPECT_EQ(Operation::parse(text).text(), text);
    EXPECT_EQ(layer.at("names").size(), layer.at("count").get<std::size_t>());
  }
}

TEST(List, AnUnknownNameIsAnsweredByTheNearest) {
  const Outcome outcome = run_tool("list resnet19");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors, "jitterscope: 'resnet19' is no model (did you mean 'resnet18'?)\n");
  EXPECT_THAT(run_tool("list model").errors, HasSubstr("'models'"));
  EXPECT_EQ(run_tool("list /nonexistent.json").exit_code, 2);
}

TEST(List, AClosedPipeIsNoError) {
  const Outcome outcome = run_tool("list | head -1");
  EXPECT_EQ(outcome.output, "## Operations\n");
  EXPECT_EQ(outcome.errors, "");
}

}  // namespace
}  // namespace jitterscope
