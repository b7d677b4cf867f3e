#include <fmt/format.h>

#include <cmath>

#include "cuda_test.hpp"

namespace jitterscope {
namespace {

class CudaCopy : public CudaTest, public testing::WithParamInterface<const char*> {
 protected:
  std::unique_ptr<PreparedOperation> prepare_bytes(const char* bytes) {
    return prepare(fmt::format("copy:bytes={},{}", bytes, GetParam()));
  }
};

TEST_P(CudaCopy, MovesEveryElement) {
  for (const char* bytes : {"4", "1020", "33554436"}) {
    auto copy = prepare_bytes(bytes);
    EXPECT_TRUE(std::isnan(copy->read_operand(1).back())) << "the destination is poisoned";
    const std::vector<double> destination = run_and_read(*copy);
    EXPECT_EQ(destination, copy->read_operand(0));
    EXPECT_TRUE(std::isfinite(destination.back()));
    EXPECT_NE(destination.front(), destination.size() > 1 ? destination.back() : 0.0);
  }
}

TEST_P(CudaCopy, PoisonCoversTheWholeDestination) {
  auto copy = prepare_bytes("1020");
  run_and_read(*copy);
  copy->poison_outputs();
  for (const double value : copy->read_operand(1)) EXPECT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(All, CudaCopy,
                         testing::Values("kind=d2d", "kind=h2d,memory=pinned", "kind=h2d,memory=pageable",
                                         "kind=d2h,memory=pinned", "kind=d2h,memory=pageable"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase_if(
                               name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

}  // namespace
}  // namespace jitterscope
