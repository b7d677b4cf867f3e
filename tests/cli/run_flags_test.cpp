// Flags of `run` that meet one another, and what is told before anything is measured.
#include <gmock/gmock.h>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

TEST(KernelsFlag, WithoutATracerTheTimesStay) {
  const std::string run =
      "run relu:count=64Ki --kernels --device cpu --cache warm --load burst --no-ceilings";
  const Outcome outcome = run_tool(run);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("| warm burst |"));
  EXPECT_THAT(outcome.output, HasSubstr("No kernels of #1: "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("Failed:")));
  EXPECT_EQ(test::validate_json(run_tool(run + " --json -").output), 0);
}

}  // namespace
}  // namespace jitterscope
