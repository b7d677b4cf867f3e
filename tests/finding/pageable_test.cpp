#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> of_copy(const std::string& text, bool on_gpu = true) {
  Result result = simulated::result_of({simulated::measure({.time = microseconds(100)}, 1)});
  result.subject = Operation::parse(text);
  FindingContext context = simulated::context();
  context.on_gpu = on_gpu;
  return simulated::with_id(find_all(result, context), "pageable");
}

TEST(PageableFinding, OfPageableCopiesOnAGpuOnly) {
  EXPECT_THAT(of_copy("copy:bytes=1Mi,kind=h2d,memory=pageable"), SizeIs(1));
  EXPECT_THAT(of_copy("copy:bytes=1Mi,kind=d2h,memory=pageable"), SizeIs(1));
  EXPECT_THAT(of_copy("copy:bytes=1Mi,kind=h2d"), IsEmpty());
  EXPECT_THAT(of_copy("copy:bytes=1Mi"), IsEmpty());
  EXPECT_THAT(of_copy("copy:bytes=1Mi,kind=h2d,memory=pageable", false), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
