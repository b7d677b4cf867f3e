#include "capture/sampler.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "base/files.hpp"
#include "support/stand_in_nvml.hpp"

namespace jitterscope::capture {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::int64_t realtime() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class SamplerTest : public testing::Test {
 protected:
  void SetUp() override { ::setenv("JITTERSCOPE_NVML", STAND_IN_NVML_LIBRARY, 1); }
  void TearDown() override {
    ::unsetenv("JITTERSCOPE_NVML");
    ::unsetenv(stand_in::kNoGpu);
  }
  std::filesystem::path folder() const { return folder_.path(); }
  template <class Table>
  Table read(bool is_complete = true) const {
    Table table;
    const StreamEnd end = read_table((folder() / (std::string(Table::kName) + ".arrows")).string(), table);
    EXPECT_EQ(end.problem, "");
    EXPECT_EQ(end.is_complete, is_complete);
    return table;
  }

  TemporaryFolder folder_;
};

// One sample at the beginning and one at the end are taken in any case, however little time is between them.
TEST_F(SamplerTest, SensorsAreReadFromTheBeginningToTheEnd) {
  std::string problem;
  const std::int64_t begin = realtime();
  Sampler sampler(folder(), cuda::NvmlDevice::all(&problem), {});
  EXPECT_THAT(sampler.finish(), IsEmpty());
  EXPECT_EQ(problem, "");
  const auto sensors = read<Sensors>();
  ASSERT_GE(sensors.time.size(), 2u);
  EXPECT_GE(sensors.time.front(), begin);
  EXPECT_LE(sensors.time.back(), realtime());
  EXPECT_TRUE(std::ranges::is_sorted(sensors.time));
  EXPECT_THAT(sensors.gpu, Each(0));
  EXPECT_THAT(sensors.clock_mhz, Each(1755));
  EXPECT_THAT(sensors.memory_clock_mhz, Each(3201));
  EXPECT_THAT(sensors.power_mw, Each(512500));
  EXPECT_THAT(sensors.temperature, Each(47));
  EXPECT_EQ(sensors.energy_mj.front(), 5'000'000u);
  EXPECT_THAT(sensors.throttled_power, Each(7'000'000));
  EXPECT_GE(sensors.throttled_thermal.front(), 1200u);
  EXPECT_THAT(sensors.throttled_brake, Each(0));
  EXPECT_THAT(sensors.reasons, Each(0x24));
  EXPECT_THAT(sensors.other_processes, Each(2));  // the stand-in's, neither of which is ours
}

TEST_F(SamplerTest, BothClocksAreReadAtOnce) {
  const std::int64_t begin = realtime();
  Sampler sampler(folder(), {}, {});
  EXPECT_THAT(sampler.finish(), IsEmpty());
  const auto clocks = read<Clocks>();
  ASSERT_GE(clocks.realtime.size(), 2u);
  EXPECT_GE(clocks.realtime.front(), begin);
  EXPECT_LE(clocks.realtime.back(), realtime());
  EXPECT_TRUE(std::ranges::is_sorted(clocks.monotonic_raw));
  EXPECT_FALSE(std::filesystem::exists(folder() / "sensors.arrows"));
}

TEST_F(SamplerTest, WithoutAGpuThereIsAReason) {
  ::setenv(stand_in::kNoGpu, "1", 1);
  std::string problem;
  EXPECT_THAT(cuda::NvmlDevice::all(&problem), IsEmpty());
  EXPECT_THAT(problem, testing::EndsWith("knows no GPU"));
}

TEST_F(SamplerTest, ProcessesAreFoundByTheirFolders) {
  for (const char* name : {"p4711-99", "p12-7-r3", "other", "p", "px"})
    std::filesystem::create_directory(folder() / name);
  EXPECT_THAT(process_folders(folder()), ElementsAre(folder() / "p12-7-r3", folder() / "p4711-99"));
  EXPECT_EQ(process_of(folder() / "p4711-99"), 4711u);
  EXPECT_EQ(process_of(folder() / "p12-7-r3"), 12u);
  EXPECT_THAT(process_folders(folder() / "nowhere"), IsEmpty());
}

TEST(SampledTime, EndsWithTheLastRecording) {
  const std::map<std::filesystem::path, Nanoseconds> none,
      two = {{"p1-1", seconds(100)}, {"p2-1", seconds(105)}};
  const Settings settings{.start_after_ms = 20'000, .duration_ms = 60'000};
  EXPECT_TRUE(is_recording(none, seconds(500), settings));
  EXPECT_TRUE(is_recording(two, seconds(185), settings));
  EXPECT_FALSE(is_recording(two, seconds(188), settings));
  EXPECT_TRUE(is_recording(two, seconds(188), {}));  // to the end
  Settings of_ranges = settings;
  of_ranges.ranges = "step";
  EXPECT_TRUE(is_recording(two, seconds(188), of_ranges));
}

TEST_F(SamplerTest, ADiskThatTakesNothingIsSaidOnce) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit full{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &full);
    std::string problem;
    Sampler sampler(folder(), cuda::NvmlDevice::all(&problem), {});
    const std::vector<std::string> missing = sampler.finish();
    const bool is_said = missing.size() == 2 && missing[0].starts_with("sensors.arrows lacks ") &&
                         missing[0].ends_with(": File too large") &&
                         missing[1].starts_with("clocks.arrows lacks ");
    ::_exit(is_said ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Processes on a GPU: 10 and 11 are ours, 20 and 21 are others that can be seen, 90 to 92 are the host's,
// which a container does not see.
std::uint32_t others(const std::vector<unsigned>& listed, const std::vector<std::uint32_t>& captured) {
  std::vector<cuda::GpuProcess> processes;
  for (const unsigned pid : listed) processes.push_back({pid, ""});
  return count_others(processes, {[](std::uint32_t pid) { return pid < 90; },
                                  [](std::uint32_t pid) { return pid < 20; }, captured});
}

TEST(OtherProcesses, AreThoseThatAreNotOurs) {
  EXPECT_EQ(others({}, {}), 0u);
  EXPECT_EQ(others({10, 11}, {10, 11}), 0u);
  EXPECT_EQ(others({10, 20, 21}, {10}), 2u);
}

TEST(OtherProcesses, HiddenOnesAreOursAsFarAsOursAreNotListed) {
  EXPECT_EQ(others({90}, {10}), 0u);
  EXPECT_EQ(others({90, 91}, {10}), 1u);
  EXPECT_EQ(others({90, 91, 92}, {10, 11}), 1u);
  EXPECT_EQ(others({90}, {10, 11}), 0u);  // the second is on another GPU
  EXPECT_EQ(others({10, 90}, {10}), 1u);  // ours is listed, so the hidden one is another's
}

}  // namespace
}  // namespace jitterscope::capture
