#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<Finding> with_data(DataKind data) {
  simulated::Record record;
  record.conditions.data = data;
  const Measurement measurement = simulated::measure(record, 1);
  return simulated::with_id(find_all(simulated::result_of({measurement, measurement}), simulated::context()),
                            "zeros");
}

TEST(Zeros, ZerosAndOnesAreSaidOnce) {
  ASSERT_THAT(with_data(DataKind::zeros), SizeIs(1));
  EXPECT_THAT(with_data(DataKind::ones).at(0).sentence, HasSubstr("all ones"));
  EXPECT_THAT(with_data(DataKind::zeros).at(0).remedy, HasSubstr("--data normal"));
}

TEST(Zeros, RealDataIsNone) {
  for (const DataKind data : {DataKind::normal, DataKind::uniform, DataKind::sparse}) {
    EXPECT_THAT(with_data(data), ::testing::IsEmpty()) << to_string(data);
  }
}

}  // namespace
}  // namespace jitterscope
