// The writer's part of the recorder, without a process around it.
#include "recorder/process_tables.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <map>
#include <optional>

#include "base/files.hpp"

namespace jitterscope::recorder {
namespace {

using capture::NameAudit;

CUptiResult next_kernel(std::uint8_t* buffer, std::size_t size, CUpti_Activity** record) {
  std::uint8_t* next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityKernel10);
  if (next >= buffer + size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

class Tables : public testing::Test {
 protected:
  Tables() {
    cupti_.cuptiActivityGetNextRecord = next_kernel;
    tables_.emplace(cupti_, folder_.path().string());
  }

  void add(const char* name, std::uint32_t grid, std::uint32_t correlation = 0) {
    CUpti_ActivityKernel10 kernel{};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = name;
    kernel.gridX = static_cast<std::int32_t>(grid);
    kernel.correlationId = correlation;
    kernel.start = ++time_;
    kernel.end = kernel.start + 10;
    tables_->consume(reinterpret_cast<std::uint8_t*>(&kernel), sizeof kernel);
  }

  // Kernels with their names, and how these were audited.
  std::vector<std::pair<std::string, NameAudit>> read() {
    tables_->finish(now());
    capture::Launches launches;
    capture::Kernels kernels;
    EXPECT_TRUE(capture::read_table((folder_.path() / "launches.arrows").string(), launches).is_complete);
    EXPECT_TRUE(capture::read_table((folder_.path() / "kernels.arrows").string(), kernels).is_complete);
    std::map<std::uint32_t, std::pair<std::string, NameAudit>> names;
    for (std::size_t i = 0; i < launches.id.size(); ++i)
      names[launches.id[i]] = {launches.name[i], static_cast<NameAudit>(launches.audit[i])};
    std::vector<std::pair<std::string, NameAudit>> result;
    for (const std::uint32_t launch : kernels.launch) result.push_back(names.at(launch));
    return result;
  }

  capture::Losses losses() const {
    capture::Losses losses;
    EXPECT_TRUE(capture::read_table((folder_.path() / "losses.arrows").string(), losses).is_complete);
    return losses;
  }

  TemporaryFolder folder_;
  Cupti cupti_;
  std::optional<ProcessTables> tables_;
  std::uint64_t time_ = 1'000;
};

TEST_F(Tables, TellNamesApartThatCameToTheSamePlace) {
  char name[] = "first";  // of a module that is unloaded
  add(name, 1);
  std::strcpy(name, "other");
  add(name, 1);
  std::strcpy(name, "first");
  add(name, 1);
  add(nullptr, 1);
  EXPECT_THAT(read(), testing::ElementsAre(
                          testing::Pair("first", NameAudit::none), testing::Pair("other", NameAudit::none),
                          testing::Pair("first", NameAudit::none), testing::Pair("", NameAudit::none)));
}

TEST_F(Tables, AuditKernelsThatCameBeforeTheirNameAndAfterIt) {
  tables_->launches().begin_audit();
  add("dgrad", 1, 11);
  tables_->launches().audit(11, "wgrad");
  tables_->launches().audit(12, "fprop");
  tables_->launches().await_rest();
  EXPECT_TRUE(tables_->launches().awaits_kernels());
  add("fprop", 2, 12);
  EXPECT_FALSE(tables_->launches().awaits_kernels());
  tables_->launches().end_audit();
  add("dgrad", 1, 13);
  add("dgrad", 3, 14);
  EXPECT_THAT(read(), testing::ElementsAre(testing::Pair("wgrad", NameAudit::corrected),
                                           testing::Pair("fprop", NameAudit::same),
                                           testing::Pair("wgrad", NameAudit::corrected),
                                           testing::Pair("dgrad", NameAudit::none)));
}

TEST_F(Tables, KeepCuptisNameWhereTheDriverHasTwoForOneLaunch) {
  tables_->launches().begin_audit();
  add("grad", 1, 11);
  add("grad", 1, 12);
  tables_->launches().audit(11, "wgrad");
  tables_->launches().audit(12, "dgrad");
  tables_->launches().end_audit();
  EXPECT_THAT(read(), testing::Each(testing::Pair("grad", NameAudit::none)));
}

TEST_F(Tables, HoldAnyNumberOfShapes) {
  constexpr std::uint32_t kShapes = 300'000;  // more than are kept in memory
  for (std::uint32_t i = 0; i < kShapes; ++i) {
    add(i % 2 == 0 ? "even" : "odd", i);
    if (i % 50'000 == 0) tables_->write(now());
  }
  add("even", 0);
  const auto kernels = read();
  ASSERT_EQ(kernels.size(), kShapes + 1);
  for (std::size_t i = 0; i < kShapes; ++i) ASSERT_EQ(kernels[i].first, i % 2 == 0 ? "even" : "odd");
  EXPECT_EQ(kernels.back().first, "even");
}

TEST_F(Tables, CountOtherRecordsByTheirMeanSize) {
  for (int i = 0; i < 10; ++i) add("kernel", 1);
  tables_->add_lost_bytes(1, 2, 50 * sizeof(CUpti_ActivityKernel10));
  read();
  EXPECT_THAT(losses().count, testing::ElementsAre(50u));
}

TEST_F(Tables, SayALossInOneRowUntilItIsWritten) {
  constexpr const char* kOften = "what happens often";
  tables_->add_loss(capture::LossKind::dropped, 5, 6, 2, kOften);
  tables_->add_loss(capture::LossKind::dropped, 3, 4, 7, kOften);
  tables_->add_loss(capture::LossKind::no_time, 1, 2, 1, "another");
  tables_->write(now());
  tables_->add_loss(capture::LossKind::dropped, 8, 9, 1, kOften);
  tables_->finish(now());
  EXPECT_THAT(losses().count, testing::ElementsAre(9u, 1u, 1u));
  EXPECT_THAT(losses().from, testing::ElementsAre(3, 1, 8));
  EXPECT_THAT(losses().to, testing::ElementsAre(6, 2, 9));
}

TEST(RangeNames, AreKnownHoweverTheProgramGivesThem) {
  struct Attributes {  // of NVTX 3
    std::uint16_t version = 3, size = 48;
    std::uint32_t category = 0;
    std::int32_t color_type = 0;
    std::uint32_t color = 0;
    std::int32_t payload_type = 0, reserved = 0;
    std::uint64_t payload = 0;
    std::int32_t message_type = 0;
    const void* message = nullptr;
  };
  RangeName name("step");
  const auto begins = [&](CUpti_CallbackId id, const void* parameters, const void* result = nullptr) {
    return name.begins(id, {nullptr, parameters, result});
  };
  const char *step = "step", *longer = "step 1", *none = nullptr;
  EXPECT_TRUE(begins(CUPTI_CBID_NVTX_nvtxRangePushA, &step));
  EXPECT_TRUE(begins(CUPTI_CBID_NVTX_nvtxRangeStartA, &step));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxMarkA, &step));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxRangePushA, &longer));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxRangePushA, &none));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxRangePushA, nullptr));

  Attributes attributes;
  attributes.message_type = 1;
  attributes.message = step;
  const Attributes* pointer = &attributes;
  const void* in_domain[] = {&name, pointer};
  EXPECT_TRUE(begins(CUPTI_CBID_NVTX_nvtxRangePushEx, &pointer));
  EXPECT_TRUE(begins(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, in_domain));
  EXPECT_TRUE(begins(CUPTI_CBID_NVTX_nvtxDomainRangeStartEx, in_domain));
  attributes.message_type = 2;  // wide characters
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxRangePushEx, &pointer));

  attributes.message_type = 3;
  attributes.message = &attributes;  // a handle
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, in_domain));
  const void *registered = &attributes, *another = &step;
  const void* of_another[] = {&name, longer};
  const void* of_step[] = {&name, step};
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, of_another, &registered));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, in_domain));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, of_step, &registered));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, of_step, &another));
  EXPECT_FALSE(begins(CUPTI_CBID_NVTX_nvtxDomainRegisterStringA, of_step, nullptr));
  EXPECT_TRUE(begins(CUPTI_CBID_NVTX_nvtxDomainRangePushEx, in_domain));
}

// A limit of this process's files stands for the disk's end. Each file may have as much as is kept for
// losses.
class FullDisk : public Tables {
 protected:
  void SetUp() override {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
  }
  void TearDown() override { ::setrlimit(RLIMIT_FSIZE, &before_); }
  void limit_files(rlim_t bytes) const {
    const rlimit limits{bytes, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limits), 0);
  }
  std::size_t kernels_in_file() const {
    capture::Kernels kernels;
    capture::read_table((folder_.path() / "kernels.arrows").string(), kernels);
    return kernels.start.size();
  }

  rlimit before_{};
};

TEST_F(FullDisk, IsCountedForMonths) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  constexpr int kWrites = 10'000;
  limit_files(65'536);
  std::int64_t time = now();
  for (int i = 0; i < kWrites; ++i) {
    add("kernel", 1);
    tables_->write(time += kHour);
  }
  tables_->finish(time);
  ASSERT_GT(kernels_in_file(), 0u);
  std::uint64_t lost = 0;
  for (const std::uint64_t count : losses().count) lost += count;
  EXPECT_EQ(kernels_in_file() + lost, std::uint64_t{kWrites});
  EXPECT_EQ(losses().to.back(), time);
}

TEST_F(FullDisk, IsCountedWhenItHasRoomAgain) {
  limit_files(1);
  add("kernel", 1);
  tables_->write(1'000);
  add("kernel", 1);
  tables_->write(2'000);
  limit_files(before_.rlim_cur);
  add("kernel", 1);
  EXPECT_THAT(read(), testing::ElementsAre(testing::Pair("kernel", NameAudit::none)));
  EXPECT_THAT(losses().count, testing::ElementsAre(2u));
}

TEST_F(FullDisk, ThatDoesNotTakeTheLossesEitherLeavesNoEndMarker) {
  add("kernel", 1);
  tables_->write(now());
  add("kernel", 1);
  limit_files(1);
  tables_->finish(now());
  limit_files(before_.rlim_cur);
  capture::Kernels kernels;
  EXPECT_FALSE(capture::read_table((folder_.path() / "kernels.arrows").string(), kernels).is_complete);
  EXPECT_EQ(kernels.start.size(), 1u);
}

}  // namespace
}  // namespace jitterscope::recorder
