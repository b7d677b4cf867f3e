// Pages and pictures of whatever measures.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "cli/command.hpp"
#include "output/text.hpp"

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

TEST(Help, IsNoWiderThanThePage) {
  std::istringstream help(run_tool("run --help").output);
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with("  jitterscope ")) break;  // examples, which can be pasted
    EXPECT_LE(display_width(line), kPageWidth) << line;
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

// Where neither the Python that is named nor one on PATH can draw: that of scripts/setup plots, beside this
// build.
TEST_F(PageFiles, APictureIsDrawnByThePythonBesideTheBuild) {
  ASSERT_EQ(run_tool("run add:count=1Ki" + test::kQuick + " --json " + path()).exit_code, 0);
  const std::filesystem::path builds = std::filesystem::path(JITTERSCOPE_EXECUTABLE).parent_path() / "../..";
  const bool has_tools = std::filesystem::exists(builds / "python-tools/bin/python");
  const std::string folders = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  ::setenv("JITTERSCOPE_PYTHON", "/nowhere/python", 1);
  const test::Outcome outcome = run_tool("report " + path() + " --plot " + path("r.svg"));
  ::unsetenv("JITTERSCOPE_PYTHON");
  ::setenv("PATH", folders.c_str(), 1);
  EXPECT_EQ(outcome.exit_code, has_tools ? 0 : 3) << outcome.errors;
  EXPECT_EQ(std::filesystem::exists(path("r.svg")), has_tools);
  if (!has_tools) {
    EXPECT_THAT(outcome.errors,
                HasSubstr("no Python has it (/nowhere/python, python3, python): run scripts/setup plots"));
  }
}

}  // namespace
}  // namespace jitterscope
