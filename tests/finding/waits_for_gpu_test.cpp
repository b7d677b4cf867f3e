#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> of_result(const std::string& id, bool waits, const std::string& operation) {
  Result result = simulated::result_of({simulated::measure({.time = microseconds(100)}, 1)});
  result.subject = Operation::parse(operation);
  result.waits_for_device = waits;
  return simulated::with_id(find_all(result, simulated::context()), id);
}

TEST(WaitsForGpuFinding, OfLaunchesThatWaited) {
  EXPECT_THAT(of_result("waits_for_gpu", true, "relu:count=1024"), SizeIs(1));
  EXPECT_THAT(of_result("waits_for_gpu", false, "relu:count=1024"), IsEmpty());
}

TEST(WaitsForGpuFinding, LeavesPageableCopiesToTheirOwn) {
  const std::string copy = "copy:bytes=1Mi,kind=h2d,memory=pageable";
  EXPECT_THAT(of_result("waits_for_gpu", true, copy), IsEmpty());
  EXPECT_THAT(of_result("pageable", true, copy), SizeIs(1));
}

}  // namespace
}  // namespace jitterscope
