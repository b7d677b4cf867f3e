#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;
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
  EXPECT_THAT(outcome.output, HasSubstr("- **resnet18**: "));
  EXPECT_THAT(outcome.output, testing::Not(HasSubstr("## Operations")));
  const json document = json::parse(run_tool("list providers --json -").output);
  EXPECT_EQ(document.at("providers").at(0).at("name"), "onednn");
  EXPECT_FALSE(document.contains("models"));
}

TEST(List, LayersOfAModelReadBackAsOperations) {
  const Outcome outcome = run_tool("list resnet18 --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  const json layers = json::parse(outcome.output).at("layers");
  ASSERT_GT(layers.size(), 60u);
  for (const json& layer : layers) {
    const std::string text = layer.at("operation");
    EXPECT_EQ(Operation::parse(text).text(), text);
    EXPECT_EQ(layer.at("names").size(), layer.at("count").get<std::size_t>());
  }
}

TEST(List, ANetworkTakesOptions) {
  const Outcome outcome = run_tool("list resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop --json -");
  EXPECT_EQ(outcome.exit_code, 0);
  const json layers = json::parse(outcome.output).at("layers");
  EXPECT_EQ(layers.at(0).at("operation"),
            "conv2d:n=64,c=3,hw=224,k=64,rs=7,stride=2,pad=3,dtype=f16,layout=nhwc,direction=fprop");
  for (const json& layer : layers)
    EXPECT_THAT(layer.at("operation").get<std::string>(), testing::Not(HasSubstr("=dgrad")));
  const Outcome wrong = run_tool("list resnet50:bach=64");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.errors, "jitterscope: resnet50 has no option 'bach' (did you mean 'batch'?)\n");
}

TEST(List, AModelFileIsKnownByItsNameAndTakesNoOptions) {
  const fs::path folder = fs::temp_directory_path() / ("jitterscope-list-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "mine.json") << R"({"format": "jitterscope-model", "version": 1, "name": "mine",
    "description": "d", "layers": [{"operation": "spin:ns=1", "names": ["a"]}]})";
  setenv("JITTERSCOPE_MODELS", folder.c_str(), 1);
  EXPECT_THAT(run_tool("list models").output, HasSubstr("- **mine**: "));
  EXPECT_EQ(run_tool("list mine").exit_code, 0);
  const Outcome outcome = run_tool("list mine:batch=2");
  unsetenv("JITTERSCOPE_MODELS");
  fs::remove_all(folder);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("a model file has its sizes in it"));
}

TEST(List, AnUnknownNameIsAnsweredByTheNearest) {
  const Outcome outcome = run_tool("list resnet19");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors,
            "jitterscope: 'resnet19' is not a model, an operation or a file (did you mean "
            "'resnet18'?); see "
            "jitterscope list\n");
  EXPECT_THAT(run_tool("list model").errors, HasSubstr("'models'"));
  EXPECT_EQ(run_tool("list /nonexistent.json").exit_code, 2);
}

TEST(List, AFunctionOfPythonIsSentWhereItCanBe) {
  for (const char* command : {"advise", "study layout"}) {
    const Outcome outcome = run_tool(std::string(command) + " python:bench.py:f --device virtual:h200");
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.errors, HasSubstr("run, compare, explain and gate")) << command;
  }
  EXPECT_THAT(run_tool("run python: --device cpu").errors, HasSubstr("'python:' names no file"));
  EXPECT_THAT(run_tool("run spin:ns=10000 --device virtual:h200 --html ''").errors, HasSubstr("name a file"));
}

TEST(List, AnOptionWithoutItsModelIsExplained) {
  const Outcome outcome = run_tool("run resnet18 batch=2");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("'batch=2' is separated by a space"));
  EXPECT_THAT(outcome.errors, HasSubstr("resnet18:batch=2"));
}

TEST(List, AClosedPipeIsNoError) {
  const Outcome outcome = run_tool("list | head -1");
  EXPECT_EQ(outcome.output, "## Operations\n");
  EXPECT_EQ(outcome.errors, "");
}

}  // namespace
}  // namespace jitterscope
