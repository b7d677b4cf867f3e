#include "output/run_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

TEST(RunTable, Print) {
  std::printf("%s\n=====\n%s\n====\n%s", run_table(test::sample_model()).c_str(),
              run_table(test::sample_operation()).c_str(), run_table(RunRecord()).c_str());
}

}  // namespace
}  // namespace jitterscope
