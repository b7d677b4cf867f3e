#include <fmt/format.h>

#include "cuda_test.hpp"

namespace jitterscope {
namespace {

// What the driver may keep or another process may take; ten leaks of a queue would be over 600 MB.
constexpr Bytes kMargin(64 << 20);

class CudaDeviceTest : public CudaTest {
 protected:
  void expect_usage_error(const std::string& text, const std::string& words) {
    try {
      prepare(text);
      ADD_FAILURE() << text << " was prepared";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
};

TEST_F(CudaDeviceTest, DescribesTheGpu) {
  const DeviceDescription description = device().describe();
  EXPECT_EQ(description.id, "cuda:0");
  EXPECT_FALSE(description.name.empty());
  EXPECT_TRUE(description.uuid.starts_with("GPU-"));
  EXPECT_EQ(description.uuid.size(), 40u);
  EXPECT_GT(description.processors, 0);
  EXPECT_GT(description.memory_total, description.memory_free);
  EXPECT_GT(description.last_level_cache, Bytes(0));
  EXPECT_GT(description.maximum_clock.value(), megahertz(200));
  // the driver, NVML, cuDNN, cuBLAS, cuBLASLt, CUPTI, NVRTC, PyTorch
  EXPECT_EQ(description.libraries.size(), 8u);
  for (const Property& property : description.properties)
    EXPECT_FALSE(property.value.empty()) << property.key;
}

TEST_F(CudaDeviceTest, PlacedAnewAnOperationHoldsAndComputesTheSameAndGivesItsMemoryBack) {
  const Bytes before = device().describe().memory_free;
  for (const char* text : {"add:count=1Mi", "max_pool:n=2,c=8,hw=16,window=2,stride=2,pass=backward",
                           "matmul:m=256,n=256,k=256"}) {
    const auto placed = prepare(text, {.placement = 3});
    const std::vector<MemoryRegion> regions = placed->memory();
    const std::vector<double> inputs = placed->read_operand(0), outputs = run_and_read(*placed);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(placed->place_anew()) << text;
      EXPECT_EQ(placed->memory().front().address, regions.front().address) << "recordings hold the address";
      EXPECT_EQ(placed->read_operand(0), inputs) << text;
      placed->poison_outputs();
      EXPECT_EQ(run_and_read(*placed), outputs) << text;
    }
  }
  EXPECT_LE(before - device().describe().memory_free, kMargin);
}

TEST_F(CudaDeviceTest, OperandsWithoutAPlacementStayWhereTheDriverPutThem) {
  EXPECT_FALSE(prepare("add:count=1Mi")->place_anew());
}

// Another process can place nothing of it in another way.
TEST_F(CudaDeviceTest, WhatHasNoOperandsIsTheSameInEachPlace) {
  EXPECT_TRUE(prepare("spin:cycles=1000")->place_anew());
}

TEST_F(CudaDeviceTest, SensorsAreSane) {
  for (const LibraryInfo& library : device().describe().libraries) {
    if (library.name == "nvml" && !library.problem.empty()) GTEST_SKIP() << library.problem;
  }
  const SensorReading reading = device().read_sensors();
  ASSERT_TRUE(reading.sm_clock && reading.power && reading.temperature);
  EXPECT_GE(*reading.sm_clock, megahertz(100));
  EXPECT_GT(*reading.power, Watts(5));
  EXPECT_LT(*reading.power, Watts(3000));
  EXPECT_GT(*reading.temperature, Celsius(5));
  EXPECT_LT(*reading.temperature, Celsius(120));
}

TEST_F(CudaDeviceTest, ChecksNameDriverLibrariesAndRights) {
  std::vector<std::string> subjects;
  for (const Check& check : device().check()) {
    subjects.push_back(check.subject);
    EXPECT_FALSE(check.sentence.empty()) << check.subject;
    EXPECT_TRUE(check.status != Check::Status::missing || !check.remedy.empty()) << check.subject;
  }
  for (const char* subject :
       {"driver", "nvml", "cudnn", "cublaslt", "cupti", "clock locking", "hardware counters"}) {
    EXPECT_NE(std::find(subjects.begin(), subjects.end(), subject), subjects.end()) << subject;
  }
}

TEST_F(CudaDeviceTest, OperandsThatDoNotFitAreRefusedBeforeAllocating) {
  const DeviceDescription before = device().describe();
  const std::int64_t count = before.memory_total.value() / element_size(DataType::f32).value();
  expect_usage_error(fmt::format("add:count={},dtype=f32", count), "GiB free");
  expect_usage_error(fmt::format("copy:bytes={},kind=d2h", 4 * count), "GiB free");
  EXPECT_GT(device().describe().memory_free, before.memory_free - kMargin);
}

TEST_F(CudaDeviceTest, WhatTheGpuCannotDoIsRefused) {
  expect_usage_error("spin:ns=10,blocks=1,threads=2048", "thread");
}

TEST_F(CudaDeviceTest, ManyQueuesAndOperationsLeaveNoMemoryBehind) {
  const auto once = [&] {
    auto other = device().make_queue();
    auto add = prepare("add:count=10000000,dtype=f32");
    other->launch(*add);
    other->wait();
  };
  once();
  const Bytes before = device().describe().memory_free;
  for (int i = 0; i < 10; ++i) once();
  EXPECT_GT(device().describe().memory_free, before - kMargin);
}

}  // namespace
}  // namespace jitterscope
