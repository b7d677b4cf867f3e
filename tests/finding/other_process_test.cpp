#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> with_processes(std::optional<std::vector<std::string>> processes, bool on_gpu = true) {
  FindingContext context = simulated::context(on_gpu);
  context.other_processes = std::move(processes);
  return machine_findings(context);
}

TEST(OtherProcess, NamesThem) {
  const auto findings = with_processes({{"4711 python3", "4712 train"}});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "other_process");
  EXPECT_THAT(findings[0].sentence,
              HasSubstr("2 other processes make use of cuda:0: 4711 python3, 4712 train."));
  EXPECT_EQ(simulated::evidence_number(findings[0], "processes"), 2);
}

TEST(OtherProcess, NobodyOrUnknownOrACpuIsNone) {
  EXPECT_THAT(with_processes(std::vector<std::string>{}), IsEmpty());
  EXPECT_THAT(with_processes(std::nullopt), IsEmpty());
  EXPECT_THAT(with_processes({{"4711 python3"}}, false), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
