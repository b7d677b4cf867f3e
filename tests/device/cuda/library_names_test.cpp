#include "device/cuda/driver.hpp"

#include <gmock/gmock.h>

namespace jitterscope::cuda {
namespace {

using testing::ElementsAre;

TEST(LibraryNames, ADriverTakesThoseThatAreNoNewer) {
  const std::vector<std::string> names = {"libcublas.so.13", "libcublas.so.12"};
  EXPECT_THAT(names_up_to(13, names), ElementsAre("libcublas.so.13", "libcublas.so.12"));
  EXPECT_THAT(names_up_to(12, names), ElementsAre("libcublas.so.12"));
  EXPECT_THAT(names_up_to(14, names), ElementsAre("libcublas.so.13", "libcublas.so.12"));
}

TEST(LibraryNames, WhereAllAreTooNewTheirOwnWordsAreHeard) {
  EXPECT_THAT(names_up_to(11, {"libcublas.so.13", "libcublas.so.12"}),
              ElementsAre("libcublas.so.13", "libcublas.so.12"));
}

}  // namespace
}  // namespace jitterscope::cuda
