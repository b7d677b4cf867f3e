#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;

TEST(MethodsCommand, TimesByEveryMethodAndWritesValidJson) {
  const Outcome outcome = run_tool("methods relu:count=4096 --device cpu --repetitions 1 --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json document = json::parse(outcome.output);
  EXPECT_EQ(document.at("operation"), "relu:count=4096,dtype=f32");
  EXPECT_EQ(document.at("reference"), "events_less_constant");
  ASSERT_EQ(document.at("methods").size(), 11u);
  for (const json& method : document.at("methods")) {
    const std::string id = method.at("id");
    EXPECT_EQ(method.at("time_seconds").size(), id == "cupti" ? 0u : 1u) << id;
  }
}

TEST(MethodsCommand, PrintsATableAndASentenceForEach) {
  const Outcome outcome = run_tool("methods relu:count=4096 --device cpu --repetitions 1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("|   1 | wall time without synchronize"));
  EXPECT_THAT(outcome.output, HasSubstr("\n11. CUPTI kernel times: absent: CUPTI works only on GPUs"));
}

TEST(MethodsCommand, AnInterruptionKeepsWhatThereIs) {
  const Outcome outcome = run_tool(
      "methods relu:count=4096 --device cpu --repetitions 500 --json - & sleep 3; kill -INT $!; wait $!");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  EXPECT_TRUE(json::parse(outcome.output).at("interrupted"));
}

TEST(MethodsCommand, ADryRunMeasuresNothing) {
  const Outcome outcome = run_tool("methods matmul:m=256,n=256,k=256 --device cpu --dry-run");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("7 repetitions, data normal: about "));
}

TEST(MethodsCommand, RefusesWhatItCannotUse) {
  EXPECT_EQ(run_tool("methods").exit_code, 2);
  EXPECT_EQ(run_tool("methods resnet18 --device cpu").exit_code, 2);
  EXPECT_EQ(run_tool("methods relu:count=1..4 --device cpu").exit_code, 2);
  EXPECT_EQ(run_tool("methods relu:count=4 --device cpu --repetitions 0").exit_code, 2);
  EXPECT_EQ(run_tool("methods relu:count=4 --device cpu --json /nonexistent/x").exit_code, 2);
  EXPECT_EQ(run_tool("methods relu:count=4 --device cuda:99").exit_code, 3);
  EXPECT_THAT(run_tool("methods relu:count=4 --device cpu --data norml").errors, HasSubstr("normal"));
}

}  // namespace
}  // namespace jitterscope
