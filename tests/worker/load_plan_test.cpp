#include "worker/neighbour_process.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {
namespace {

using explain::CompanionWork;

TEST(LoadPlans, ReadAsTheyWereWritten) {
  const auto plan = read_load_plan(write_load_plan({.device = "cuda:1", .parent = 77, .seed = 5}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->device, "cuda:1");
  EXPECT_EQ(plan->parent, 77);
  EXPECT_EQ(plan->seed, 5u);
  for (const CompanionWork work : {CompanionWork::kernels, CompanionWork::memory, CompanionWork::link}) {
    const LoadOrder order = read_load_order(write_load_order({.work = work, .duty = 0.25}));
    EXPECT_EQ(order.work, work);
    EXPECT_EQ(order.duty, 0.25);
  }
  EXPECT_FALSE(read_load_order(write_load_order({})).work);
  EXPECT_EQ(read_load_answer(write_load_answer({12})).launches, 12);
}

TEST(LoadPlans, EachIsOneLine) {
  EXPECT_EQ(write_load_plan({.device = "a\nb"}).find('\n'), std::string::npos);
  EXPECT_EQ(write_load_order({.work = CompanionWork::link}).find('\n'), std::string::npos);
}

TEST(LoadPlans, AnotherKindOfPlanIsNone) {
  EXPECT_FALSE(read_load_plan(R"({"format": "jitterscope-plan", "version": 1, "device": "cpu"})"));
  EXPECT_FALSE(read_load_plan("{"));
  EXPECT_FALSE(read_load_plan(""));
  EXPECT_THROW(read_load_plan(R"({"format": "jitterscope-load", "version": 2, "device": "cpu"})"),
               UsageError);
  EXPECT_THROW(read_load_plan(R"({"format": "jitterscope-load", "version": 1})"), UsageError);
}

TEST(LoadPlans, AnOrderThatCannotBeFollowedIsRefused) {
  EXPECT_THROW(read_load_order(R"({"work": "kernels", "duty": 0})"), UsageError);
  EXPECT_THROW(read_load_order(R"({"work": "kernels", "duty": 1.5})"), UsageError);
  EXPECT_THROW(read_load_order(R"({"work": "dancing"})"), UsageError);
  EXPECT_THROW(read_load_order("stop"), UsageError);
}

TEST(LoadPlans, AnErrorInPlaceOfAnAnswerIsThrown) {
  EXPECT_THROW(read_load_answer(write_error(MissingError("no driver"))), MissingError);
  EXPECT_THROW(read_load_answer("{}"), UsageError);
}

}  // namespace
}  // namespace jitterscope
