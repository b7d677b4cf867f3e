// Idle time, and what the program did meanwhile.
#include "timeline/idle.hpp"

#include <gmock/gmock.h>

#include "timeline/made_timeline.hpp"

namespace jitterscope::timeline {
namespace {

using capture::CallKind;

constexpr Time kMicrosecond = 1000;

std::vector<Gap> gaps_of(const DeviceWork& work) {
  std::vector<Gap> gaps;
  for_each_gap(work, [&](const Gap& gap) { gaps.push_back(gap); });
  return gaps;
}

// Two kernels with a gap from 100 to 200 µs, and calls.
class OneGap : public testing::Test {
 protected:
  OneGap() {
    process_.names.resize(1);
    add(0, 100, 1);
    add(200, 300, 2);
  }
  void add(Time begin, Time end, std::uint32_t correlation) {
    work_.begin.push_back(begin * kMicrosecond);
    work_.end.push_back(end * kMicrosecond);
    work_.what.push_back(0);
    work_.stream.push_back(1);
    work_.correlation.push_back(correlation);
  }
  void call(Time begin, Time end, CallKind kind, std::uint32_t correlation = 0) {
    capture::Calls& calls = process_.calls;
    calls.start.push_back(begin * kMicrosecond);
    calls.duration.push_back((end - begin) * kMicrosecond);
    calls.function.push_back(0);
    calls.kind.push_back(static_cast<std::uint8_t>(kind));
    calls.thread.push_back(1);
    calls.correlation.push_back(correlation);
    calls.result.push_back(0);
  }
  IdleCause cause() {
    call(-50, -45, CallKind::launch, 1);
    call(400, 405, CallKind::other);  // calls were recorded all the time
    const std::vector<Gap> gaps = gaps_of(work_);
    EXPECT_EQ(gaps.size(), 1u);
    return GapCauses(process_, work_).of(gaps.front());
  }

  Process process_;
  DeviceWork work_;
};

TEST_F(OneGap, IsALaunchThatBeganTooLate) {
  call(60, 130, CallKind::other);
  call(130, 195, CallKind::launch, 2);
  EXPECT_EQ(cause(), IdleCause::launch);
}

TEST_F(OneGap, IsASynchronizationThatTheLaunchFollowed) {
  call(50, 170, CallKind::wait);
  call(185, 195, CallKind::launch, 2);
  EXPECT_EQ(cause(), IdleCause::synchronization);
}

TEST_F(OneGap, IsAProgramThatDoesSomethingElse) {
  call(90, 105, CallKind::wait);
  call(190, 195, CallKind::launch, 2);
  EXPECT_EQ(cause(), IdleCause::host_elsewhere);
}

TEST_F(OneGap, IsAnAllocation) {
  call(110, 180, CallKind::allocation);
  call(185, 195, CallKind::launch, 2);
  EXPECT_EQ(cause(), IdleCause::allocation);
}

TEST_F(OneGap, IsAModuleThatIsLoaded) {
  process_.overheads.start.push_back(120 * kMicrosecond);
  process_.overheads.duration.push_back(60 * kMicrosecond);
  process_.overheads.kind.push_back(static_cast<std::uint8_t>(capture::OverheadKind::lazy_load));
  process_.overheads.thread.push_back(1);
  call(115, 195, CallKind::launch, 2);
  EXPECT_EQ(cause(), IdleCause::loading);
}

TEST_F(OneGap, IsAnotherStreamWhereTheLaunchCameLongBefore) {
  call(40, 45, CallKind::launch, 2);
  EXPECT_EQ(cause(), IdleCause::other_stream);
}

TEST_F(OneGap, IsUnknownWithoutCalls) {
  EXPECT_EQ(GapCauses(process_, work_).of(gaps_of(work_).front()), IdleCause::unknown);
}

TEST_F(OneGap, IsNoneWhereAnotherStreamWorks) {
  add(90, 210, 3);
  work_.stream.back() = 2;
  sort_by_begin(work_);
  EXPECT_TRUE(gaps_of(work_).empty());
  const Idle idle = idle_of(process_, work_, work_.span());
  EXPECT_DOUBLE_EQ(idle.idle_seconds, 0.0);
  EXPECT_NEAR(idle.busy_seconds, 300e-6, 1e-12);
}

TEST(Idle, AddsUpToTheWholeTime) {
  const Timeline timeline =
      test::make_timeline({.steps = 300, .late_input_every = 10, .records_calls = true});
  const Process& process = timeline.processes[0];
  const Idle idle = idle_of(process, process.devices[0], process.devices[0].span());
  EXPECT_NEAR(idle.busy_seconds + idle.idle_seconds,
              static_cast<double>(process.devices[0].span().length()) * 1e-9, 1e-9);
  double sum = 0.0;
  for (const double share : idle.shares) sum += share;
  EXPECT_NEAR(sum, 1.0, 1e-9);
  EXPECT_GT(idle.shares[static_cast<std::size_t>(IdleCause::host_elsewhere)], 0.8);
}

// Time in which nothing was recorded is neither busy nor idle.
TEST(Idle, LeavesOutWhatWasNotRecorded) {
  Timeline timeline = test::make_timeline({.steps = 300});
  Process& process = timeline.processes[0];
  DeviceWork& work = process.devices[0];
  const Span all = work.span();
  const Time from = work.end[3000], to = work.begin[4000];
  for (auto* column : {&work.begin, &work.end}) column->erase(column->begin() + 3001, column->begin() + 4000);
  for (auto* column : {&work.what, &work.stream, &work.correlation}) {
    column->erase(column->begin() + 3001, column->begin() + 4000);
  }
  work.bytes.clear();
  process.windows = {{{all.begin, from}, capture::Detail::light},
                     {{from, to}, capture::Detail::off},
                     {{to, all.end}, capture::Detail::light}};
  const Idle idle = idle_of(process, work, work.span());
  EXPECT_LT(idle.idle_share(), 0.02);
}

}  // namespace
}  // namespace jitterscope::timeline
