// Against a library that stands in for CUPTI's Range Profiler.
#include "device/cuda/cupti/counters.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <stdexcept>

#include "jitterscope/error.hpp"
#include "support/stand_in_counters.hpp"

namespace jitterscope::cuda {
namespace {

using stand_in::CounterScript;
using testing::HasSubstr;
using testing::Not;

class CountersTest : public testing::Test {
 protected:
  // It is opened by its name, and is then in the process already.
  static void SetUpTestSuite() {
    void* const library = dlopen(STAND_IN_COUNTERS_LIBRARY, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    script_getter =
        reinterpret_cast<stand_in::GetCounterScript>(dlsym(library, stand_in::kCounterScriptName));
    launcher = reinterpret_cast<stand_in::Launch>(dlsym(library, stand_in::kLaunchName));
    ASSERT_TRUE(script_getter != nullptr && launcher != nullptr);
  }
  void SetUp() override { script() = {}; }
  // Whatever happened, nothing stays behind.
  void TearDown() override {
    EXPECT_FALSE(script().initialized);
    EXPECT_FALSE(script().enabled);
    EXPECT_FALSE(script().started);
    EXPECT_FALSE(script().in_range);
    EXPECT_EQ(script().hosts, 0u);
  }

  static CounterScript& script() { return *script_getter(); }
  static CountedGpu gpu() {
    static int context = 0;
    return {reinterpret_cast<CUcontext>(&context), 0, 0};
  }
  static CounterReading read(const std::vector<std::string>& names) {
    return count_gpu_launches(gpu(), names)->read([] { launcher(); }, [] { launcher(); });
  }
  /// What reading them throws, "kind: sentence".
  static std::string problem(const std::vector<std::string>& names = {}) {
    try {
      read(names);
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    } catch (const MissingError& error) {
      return std::string("missing: ") + error.what();
    } catch (const FailedError& error) {
      return std::string("failed: ") + error.what();
    }
    return "none";
  }
  static std::string problem_of(const char* function, CUptiResult failure, std::size_t call = 1) {
    script() = {};
    script().failing = function;
    script().failure = failure;
    script().failing_call = call;
    return problem();
  }

  static inline stand_in::GetCounterScript script_getter = nullptr;
  static inline stand_in::Launch launcher = nullptr;
};

TEST_F(CountersTest, CountsTheLaunchAloneInEachPass) {
  const CounterReading reading = read({"dram__bytes_read.sum"});
  EXPECT_EQ(reading.passes, 3);
  EXPECT_EQ(script().launches_in_range, 3u);
  EXPECT_EQ(script().launches_elsewhere, 3u) << "what prepares a pass";
  EXPECT_EQ(script().most_in_one_pass, 1u);
  ASSERT_EQ(reading.values.size(), 1u);
  EXPECT_EQ(reading.values[0].name, "dram__bytes_read.sum");
  EXPECT_EQ(reading.values[0].unit, "byte");
  EXPECT_EQ(reading.values[0].value, 1.0);
}

TEST_F(CountersTest, TheProfilerIsOnOnlyWhileALaunchIsRead) {
  const auto reader = count_gpu_launches(gpu(), {});
  EXPECT_FALSE(script().enabled);
  for (int i = 0; i < 2; ++i) {
    reader->read([] { EXPECT_TRUE(script().started && !script().in_range); },
                 [] { EXPECT_TRUE(script().in_range); });
    EXPECT_FALSE(script().enabled);
  }
  EXPECT_EQ(script().enabled_times, 2u);
}

TEST_F(CountersTest, TheDefaultSetIsWhatTheChipHasOfIt) {
  const CounterReading reading = read({});
  ASSERT_EQ(reading.values.size(), 3u);
  EXPECT_EQ(reading.values[0].quantity, CounterQuantity::dram_bytes_read);
  EXPECT_EQ(reading.values[1].quantity, CounterQuantity::l2_hit_rate);
  EXPECT_EQ(reading.values[1].value, std::nullopt) << "it is not a number";
  EXPECT_EQ(reading.values[2].quantity, CounterQuantity::stalled);
  EXPECT_EQ(reading.values[2].stall_reason, "long_scoreboard");
  EXPECT_EQ(reading.values[2].value, 12.5);
}

TEST_F(CountersTest, ANameWithoutSuffixMeansTheUsualOne) {
  const CounterReading reading =
      read({stand_in::kReadBytes, stand_in::kHitRate, stand_in::kThroughput, stand_in::kDotted});
  ASSERT_EQ(reading.values.size(), 4u);
  EXPECT_EQ(reading.values[0].name, "dram__bytes_read.sum");
  EXPECT_EQ(reading.values[1].name, "lts__t_sector_hit_rate.pct");
  EXPECT_EQ(reading.values[2].name, "dram__throughput.avg.pct_of_peak_sustained_elapsed");
  EXPECT_EQ(reading.values[3].name, "SM_C.TriageCompute.sm__cycles_active.sum");
  EXPECT_EQ(reading.values[3].quantity, CounterQuantity::other);
}

TEST_F(CountersTest, AnUnknownNameNamesTheNearest) {
  EXPECT_THAT(
      problem({"dram__byte_read.sum"}),
      HasSubstr("usage: GH100 has no counter 'dram__byte_read.sum' (did you mean 'dram__bytes_read.sum'?)"));
  EXPECT_THAT(problem({"dram__bytes_read.som"}),
              HasSubstr("usage: the counter dram__bytes_read has no '.som' (did you mean '.sum'?)"));
  EXPECT_THAT(problem({"sm"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(problem({"pcie__read_bytes.sum", "dram__bytes_read.sum"}),
              HasSubstr("usage: these counters cannot be read together"));
  EXPECT_EQ(problem({"pcie__read_bytes.sum"}), "none");
  EXPECT_THROW(check_gpu_counters(gpu(), {"nonsense"}), UsageError);
  check_gpu_counters(gpu(), {});
  EXPECT_EQ(script().enabled_times, 1u) << "only the one that was read";
}

TEST_F(CountersTest, WhereNothingCanBeAskedNamesAreNotRefusedYet) {
  for (const char* function : {"cuptiProfilerInitialize", "cuptiDeviceGetChipName"}) {
    script() = {};
    script().failing = function;
    script().failure = CUPTI_ERROR_UNKNOWN;
    check_gpu_counters(gpu(), {"nonsense"});
    TearDown();
  }
}

TEST_F(CountersTest, ARefusalSaysWhatToAskFor) {
  for (const char* function : {"cuptiProfilerGetCounterAvailability", "cuptiRangeProfilerEnable",
                               "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart"}) {
    const std::string refusal = problem_of(function, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    EXPECT_THAT(refusal,
                HasSubstr("missing: the driver lets only administrators read hardware counters: ask"));
    EXPECT_THAT(refusal, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
    EXPECT_THAT(refusal, HasSubstr("CAP_SYS_ADMIN"));
    EXPECT_THAT(refusal, HasSubstr("https://developer.nvidia.com/ERR_NVGPUCTRPERM"));
    EXPECT_THAT(refusal, HasSubstr(function));
  }
  EXPECT_THAT(problem_of("cuptiRangeProfilerEnable", CUPTI_ERROR_HARDWARE_BUSY),
              HasSubstr("failed: another tool holds this GPU's hardware counters"));
  EXPECT_THAT(problem_of("cuptiRangeProfilerEnable", CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED),
              HasSubstr("missing: hardware counters cannot be read on this part of a split GPU"));
  EXPECT_THAT(problem_of("cuptiRangeProfilerEnable", CUPTI_ERROR_NOT_SUPPORTED),
              HasSubstr("missing: CUPTI cannot read this GPU's hardware counters here"));
  EXPECT_THAT(problem_of("cuptiProfilerHostInitialize", CUPTI_ERROR_NOT_INITIALIZED),
              HasSubstr("missing: CUPTI cannot begin: libnvperf_host.so"));
  EXPECT_THAT(
      problem_of("cuptiRangeProfilerStop", CUPTI_ERROR_UNKNOWN),
      HasSubstr("failed: hardware counters could not be read, cuptiRangeProfilerStop: what the stand-in "
                "says (CUPTI error 999)"));
  script() = {};
  script().is_supported = false;
  EXPECT_THAT(problem(), HasSubstr("missing: hardware counters cannot be read on this GPU (confidential"));
}

// TearDown looks at what is left.
TEST_F(CountersTest, AnErrorAnywhereLeavesNothingBehind) {
  for (const char* function :
       {"cuptiProfilerInitialize", "cuptiProfilerDeviceSupported", "cuptiDeviceGetChipName",
        "cuptiProfilerGetCounterAvailability", "cuptiProfilerHostInitialize",
        "cuptiProfilerHostGetBaseMetrics", "cuptiProfilerHostConfigAddMetrics",
        "cuptiProfilerHostGetConfigImageSize", "cuptiProfilerHostGetConfigImage",
        "cuptiProfilerHostGetNumOfPasses", "cuptiRangeProfilerEnable", "cuptiRangeProfilerGetCounterDataSize",
        "cuptiRangeProfilerCounterDataImageInitialize", "cuptiRangeProfilerSetConfig",
        "cuptiRangeProfilerStart", "cuptiRangeProfilerPushRange", "cuptiRangeProfilerDecodeData",
        "cuptiRangeProfilerGetCounterDataInfo", "cuptiProfilerHostEvaluateToGpuValues"}) {
    EXPECT_THAT(problem_of(function, CUPTI_ERROR_UNKNOWN), HasSubstr(function));
    TearDown();
  }
  EXPECT_THAT(problem_of("cuptiRangeProfilerStart", CUPTI_ERROR_UNKNOWN, 2), HasSubstr("Start"));
}

TEST_F(CountersTest, ALaunchThatFailsEndsThePass) {
  const auto reader = count_gpu_launches(gpu(), {});
  EXPECT_THROW(reader->read([] {}, [] { throw std::runtime_error("the kernel failed"); }),
               std::runtime_error);
  EXPECT_FALSE(script().enabled || script().started || script().in_range);
  EXPECT_THROW(reader->read([] { throw std::runtime_error("so did this"); }, [] {}), std::runtime_error);
  EXPECT_FALSE(script().enabled || script().started);
  EXPECT_EQ(reader->read([] {}, [] {}).passes, 3);
}

TEST_F(CountersTest, PassesWithoutEndAndLostRangesAreErrors) {
  script().never_ends = true;
  EXPECT_THAT(problem(), HasSubstr("failed: CUPTI asks for more than 14 passes where 3 were to do"));
  script() = {};
  script().loses_the_range = true;
  EXPECT_THAT(problem(), HasSubstr("failed: CUPTI counted 0 ranges"));
}

TEST_F(CountersTest, AChipIsListedWithoutTheGpu) {
  const std::vector<Counter> counters = list_chip_counters("GH100");
  ASSERT_EQ(counters.size(), 7u);
  EXPECT_EQ(counters[0].name, "dram__bytes_read.sum");
  EXPECT_EQ(counters[0].description, "what it counts");
  for (std::size_t i = 0; i < counters.size(); ++i)
    EXPECT_EQ(counters[i].is_default, i < 3) << counters[i].name;
  EXPECT_EQ(script().enabled_times, 0u);
  try {
    list_chip_counters("GH10");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'GH10' (did you mean 'GH100'?)"));
  }
  EXPECT_EQ(list_gpu_counters(gpu()).size(), 7u);
}

}  // namespace
}  // namespace jitterscope::cuda
