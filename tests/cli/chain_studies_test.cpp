// Studies of how work is put on the device, on a simulated GPU whose chains have streams.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

// As `study` answers on two processes.
class StudyAnswer {
 public:
  explicit StudyAnswer(const std::string& arguments) {
    const Outcome outcome =
        run_tool("study " + arguments +
                 " --device virtual:h200 --processes 2 --time-limit 0.1 --min-rounds 6 --json -");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
    found_ = json::parse(outcome.output);
  }
  std::vector<std::string> sentences() const { return found_.at("study").at("answers"); }
  std::string first() const { return sentences().front(); }
  const json& against(const std::string& arm) const {
    for (const json& comparison : found_.at("comparisons")) {
      if (found_.at("alternatives")[comparison.at("alternative").get<std::size_t>()] == arm)
        return comparison;
    }
    throw std::logic_error("no arm " + arm);
  }
  double ratio(const std::string& arm) const { return against(arm).at("time_ratio").at("ratio"); }

 private:
  json found_;
};

TEST(ChainStudiesCommand, StreamsHelpSmallProducts) {
  const StudyAnswer answer("streams matmul:m=128,n=256,k=1024,dtype=f16");
  EXPECT_THAT(answer.first(), AllOf(StartsWith("**4 streams is "), HasSubstr("faster than 1 stream: 1/")));
  EXPECT_NEAR(answer.ratio("2 streams"), 0.5, 0.1);
  EXPECT_GT(answer.ratio("16 streams"), answer.ratio("4 streams")) << "more to join";
}

TEST(ChainStudiesCommand, OverlapHidesCopies) {
  const StudyAnswer answer("overlap linear:n=2Ki,in=1024,out=1024");
  EXPECT_THAT(answer.first(), HasSubstr("faster than one after the other"));
  EXPECT_THAT(answer.sentences().at(1), AllOf(StartsWith("The copies take "), HasSubstr(" hides ")));
  EXPECT_LT(answer.ratio("4 pieces, 3 streams"), answer.ratio("2 pieces, 2 streams"));
  EXPECT_LT(answer.ratio("2 pieces, 2 streams"), 0.9);
}

TEST(ChainStudiesCommand, DependenciesCostAndAreNeeded) {
  const StudyAnswer answer("dependencies");
  EXPECT_THAT(answer.first(), StartsWith("**an event between two streams costs "));
  EXPECT_THAT(answer.sentences(),
              Contains(StartsWith("Without the wait the result is wrong, as expected: 1048576 of 1048576")));
  EXPECT_LT(answer.ratio("an event between two streams"), answer.ratio("a join of 2 streams"));
  EXPECT_LT(answer.ratio("a join of 2 streams"), answer.ratio("a join of 4 streams"));
}

TEST(ChainStudiesCommand, SynchronizationCostsMostBehindEachLaunch) {
  const StudyAnswer answer("synchronization relu:count=64Ki");
  EXPECT_THAT(answer.first(), StartsWith("**a value, each launch is "));
  EXPECT_GT(answer.ratio("asleep, each step"), 1.3 * answer.ratio("stream, each step"));
  EXPECT_GT(answer.ratio("stream, each launch"), 1.3 * answer.ratio("stream, each step"));
}

TEST(ChainStudiesCommand, AHighPriorityPassesALoad) {
  const StudyAnswer answer("priorities");
  EXPECT_THAT(answer.first(), StartsWith("**high priority, under load is "));
  EXPECT_THAT(answer.sentences().at(1), StartsWith("Alone on the device it is "));
  EXPECT_NEAR(answer.ratio("high priority, under load"), 0.42, 0.1);
  EXPECT_LT(answer.ratio("alone"), 0.1);
}

TEST(ChainStudiesCommand, OtherSimulatedGpusHaveStreamsToo) {
  for (const char* preset : {"a100", "laptop", "hostile"}) {
    const Outcome outcome =
        run_tool(std::string("study streams matmul:m=64,n=64,k=64 --processes 2 --device virtual:") + preset +
                 " --time-limit 0.05 --min-rounds 4");
    EXPECT_EQ(outcome.exit_code, 0) << preset << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("\n| 16 streams |")) << preset;
  }
}

}  // namespace
}  // namespace jitterscope
