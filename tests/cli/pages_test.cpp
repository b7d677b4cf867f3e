// Pages and pictures of whatever measures.
#include <gmock/gmock.h>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using test::run_tool;
using testing::HasSubstr;

TEST(Pages, EveryCommandThatMeasuresMakesThem) {
  for (const std::string command : {"run", "compare", "gate", "explain", "study", "advise", "methods",
                                    "engines", "verify-pytorch", "doctor", "selftest"}) {
    const std::string help = run_tool(command + " --help").output;
    EXPECT_THAT(help, HasSubstr("--html TEXT")) << command;
    EXPECT_THAT(help, HasSubstr("--plot TEXT")) << command;
  }
}

using PageFiles = test::WithFolder;

// Before anything is measured, and not after minutes of it.
TEST_F(PageFiles, WhereNoneCanBeWrittenNothingIsMeasured) {
  for (const std::string command : {"doctor --device virtual:h200", "selftest --quick --only width",
                                    "verify-pytorch a --trace /no/such/trace.json --device virtual:h200"}) {
    const test::Outcome outcome = run_tool(command + " --html /no-such-folder/a.html --json " + path());
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.errors, HasSubstr("/no-such-folder")) << command;
    EXPECT_FALSE(std::filesystem::exists(path())) << command;
  }
}

}  // namespace
}  // namespace jitterscope
