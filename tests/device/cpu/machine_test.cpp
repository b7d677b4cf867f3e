#include "device/cpu/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace jitterscope::cpu {
namespace {

namespace fs = std::filesystem;

// A /proc and /sys of our own.
class MachineTest : public ::testing::Test {
 protected:
  MachineTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / (std::string("machine_") + test->name() + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  ~MachineTest() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  Check check_of(const std::string& subject) {
    for (const Check& check : checks_of(read_machine(root_), {})) {
      if (check.subject == subject) return check;
    }
    ADD_FAILURE() << "no line for " << subject;
    return {};
  }

  fs::path root_;
};

TEST_F(MachineTest, ReadsTheProcessor) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast One\nflags\t\t: fpu hypervisor avx\n\nmodel name\t: Other\n");
  write("proc/stat", "cpu  10 0 10 70 0 0 0 10 0 0\n");
  write("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
  write("sys/devices/system/cpu/cpu0/cache/index3/size", "32M\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n");
  write("sys/class/hwmon/hwmon0/name", "nvme\n");
  write("sys/class/hwmon/hwmon0/temp1_input", "30000\n");
  write("sys/class/hwmon/hwmon1/name", "coretemp\n");
  write("sys/class/hwmon/hwmon1/temp1_input", "61000\n");
  const MachineFacts machine = read_machine(root_);
  EXPECT_EQ(machine.model, "Fast One");
  EXPECT_TRUE(machine.hypervisor);
  EXPECT_DOUBLE_EQ(machine.steal_share.value(), 0.1);
  EXPECT_EQ(machine.last_level_cache, Bytes(32 << 20));
  EXPECT_EQ(machine.maximum_clock, Hertz(3.5e9));
  EXPECT_EQ(current_clock(root_), Hertz(2.4e9));
  EXPECT_EQ(current_temperature(root_), Celsius(61));
}

TEST_F(MachineTest, AMachineThatSaysNothingHasNoFacts) {
  const MachineFacts machine = read_machine(root_);
  EXPECT_EQ(machine.model, "");
  EXPECT_FALSE(machine.hypervisor);
  EXPECT_FALSE(machine.core_quota);
  EXPECT_FALSE(machine.turbo);
  EXPECT_FALSE(machine.maximum_clock);
  EXPECT_FALSE(current_clock(root_));
  EXPECT_FALSE(current_temperature(root_));
  EXPECT_GE(usable_cores(machine), 1);
}

TEST_F(MachineTest, TheTightestControlGroupLimitsMemory) {
  write("proc/meminfo", "MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:  6000 kB\n");
  EXPECT_EQ(available_memory(root_), Bytes(6000 * 1024));
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/memory.max", "4096000\n");
  write("sys/fs/cgroup/outer/memory.current", "3000000\n");
  write("sys/fs/cgroup/outer/memory.stat", "anon 5\nfile 900000\ninactive_file 300000\nactive_file 100000\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(available_memory(root_), Bytes(4096000 - 3000000 + 400000)) << "file cache can be given up";
  EXPECT_EQ(read_machine(root_).memory_total, Bytes(4096000));
}

TEST_F(MachineTest, Version1ControlGroupsAreReadToo) {
  write("proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 6000 kB\n");
  write("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(available_memory(root_), Bytes(1500000));
  EXPECT_EQ(read_machine(root_).core_quota, 1.5);
}

TEST_F(MachineTest, AQuotaBelowTheCoresIsALimit) {
  EXPECT_EQ(check_of("cpu quota").status, Check::Status::good);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(check_of("cpu quota").status, Check::Status::limits);
  EXPECT_THAT(check_of("cpu quota").remedy, ::testing::HasSubstr("OMP_NUM_THREADS=1"));
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(check_of("cpu quota").status, Check::Status::good);
}

TEST_F(MachineTest, ChecksFollowTheFacts) {
  const fs::path cpus = "sys/devices/system/cpu";
  write(cpus / "cpu0/cpufreq/scaling_governor", "performance\n");
  write(cpus / "intel_pstate/no_turbo", "1\n");
  write(cpus / "smt/active", "0\n");
  write("proc/loadavg", "0.10 0.20 0.30 1/99 1234\n");
  for (const char* subject :
       {"cpu governor", "cpu turbo", "cpu threads per core", "cpu load", "cpu virtualisation"}) {
    EXPECT_EQ(check_of(subject).status, Check::Status::good) << subject;
    EXPECT_EQ(check_of(subject).remedy, "") << subject;
  }
  write(cpus / "cpu0/cpufreq/scaling_governor", "powersave\n");
  write(cpus / "intel_pstate/no_turbo", "0\n");
  write(cpus / "smt/active", "1\n");
  write("proc/loadavg", "3.10 0.20 0.30 1/99 1234\n");
  write("proc/cpuinfo", "flags : hypervisor\n");
  for (const char* subject :
       {"cpu governor", "cpu turbo", "cpu threads per core", "cpu load", "cpu virtualisation"}) {
    EXPECT_EQ(check_of(subject).status, Check::Status::limits) << subject;
    EXPECT_NE(check_of(subject).remedy, "") << subject;
  }
}

}  // namespace
}  // namespace jitterscope::cpu
