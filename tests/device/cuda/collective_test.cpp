// Collectives on a device, in a process for each rank, against libraries that stand in for the driver and for
// NCCL: a GPU's memory is the host's.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "device/collective.hpp"
#include "device/cpu/number_formats.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "measure/verify.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/operation.hpp"
#include "support/forked_ranks.hpp"
#include "support/stand_in_nccl.hpp"
#include "support/stand_in_nvml.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

void load_stand_ins() {
  for (const char* library : {STAND_IN_CUDA_LIBRARY, STAND_IN_NCCL_LIBRARY}) {
    if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) throw FailedError(dlerror());
  }
}

std::unique_ptr<Device> gpu_of(const Ranks& ranks) {
  load_stand_ins();
  return open_device(fmt::format("cuda:{}", ranks.rank()));
}

std::vector<double> numbers_at(const MemoryRegion& region, DataType dtype) {
  const auto count = static_cast<std::size_t>(region.size.value() / element_size(dtype).value());
  std::vector<double> numbers(count);
  const auto* bytes = static_cast<const char*>(region.address);
  for (std::size_t i = 0; i < count; ++i) {
    const char* from = bytes + i * static_cast<std::size_t>(element_size(dtype).value());
    std::uint16_t word = 0;
    float single = 0;
    if (dtype == DataType::f64) {
      std::memcpy(&numbers[i], from, sizeof(double));
    } else if (dtype == DataType::f32) {
      std::memcpy(&single, from, sizeof(single));
      numbers[i] = static_cast<double>(single);
    } else {
      std::memcpy(&word, from, sizeof(word));
      numbers[i] = dtype == DataType::f16 ? cpu::Half::read(word) : cpu::BFloat16::read(word);
    }
  }
  return numbers;
}

std::string difference(const std::string& text, std::size_t index, double got, double expected) {
  return fmt::format("{}: element {} is {}, not {}", text, index, got, expected);
}

// Runs it once on this rank; says which element is wrong. Poison is NaN.
std::string checked(Device& device, Queue& queue, const std::string& text) {
  const auto prepared = device.prepare(Operation::parse(text), {.seed = 7});
  const auto collective = std::get<Collective>(prepared->operation().parameters());
  const RankData data = prepared->rank_data().value();
  prepared->poison_outputs();
  const std::vector<double> before = numbers_at(prepared->memory().front(), collective.dtype);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto wanted = collective_content(collective, data, static_cast<std::int64_t>(i));
    if (wanted ? before[i] != *wanted : !std::isnan(before[i]))
      return "before it " + difference(text, i, before[i], wanted.value_or(NAN));
  }
  queue.launch(*prepared);
  queue.wait();
  const std::vector<double> got = numbers_at(prepared->memory().back(), collective.dtype);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto wanted = collective_result(collective, data, static_cast<std::int64_t>(i));
    if (wanted && !(std::abs(got[i] - *wanted) <= collective_tolerance(collective) * std::abs(*wanted)))
      return difference(prepared->operation().text(), i, got[i], *wanted);
  }
  return {};
}

class CollectiveOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    setenv("STAND_IN_CUDA_DEVICES", "3", 1);
    setenv("JITTERSCOPE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
  }
  void TearDown() override {
    for (const char* name : {stand_in::kNcclFault, stand_in::kNcclFaultyRank, stand_in::kNcclState,
                             "STAND_IN_CUDA_DEVICES", "JITTERSCOPE_NVML"})
      unsetenv(name);
  }
  static void let_rank_1(const char* fault) {
    setenv(stand_in::kNcclFault, fault, 1);
    setenv(stand_in::kNcclFaultyRank, "1", 1);
  }
  static std::vector<std::string> run(int count, const std::vector<std::string>& texts) {
    return run_ranks(count, [&](Ranks& ranks) {
      const auto device = gpu_of(ranks);
      device->join(ranks);
      const auto queue = device->make_queue();
      std::string wrong;
      for (const std::string& text : texts) wrong += checked(*device, *queue, text);
      return wrong;
    });
  }
};

// Longer than a period, and no multiple of it.
TEST_F(CollectiveOnGpu, EachKindGivesEachRankItsElements) {
  std::vector<std::string> texts;
  for (const char* kind : {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all",
                           "send_recv", "send"}) {
    texts.push_back(fmt::format("{}:count=300000", kind));
    texts.push_back(fmt::format("{}:count=6,dtype=bf16", kind));
    const Operation operation = Operation::parse(texts.back());
    if (can_be_in_place(std::get<Collective>(operation.parameters()).kind))
      texts.push_back(fmt::format("{}:count=300000,dtype=f16,in_place=1", kind));
  }
  texts.insert(texts.end(), {"broadcast:count=9,root=2", "broadcast:count=9,root=2,in_place=1",
                             "reduce:count=9,root=1", "reduce:count=9,root=2,in_place=1",
                             "send:count=9,root=2,to=0", "send:count=9,root=1,to=2,in_place=1"});
  EXPECT_THAT(run(3, texts), Each(IsEmpty()));
}

TEST_F(CollectiveOnGpu, EachReductionIsExact) {
  std::vector<std::string> texts;
  for (const char* type : {"f64", "f32", "f16", "bf16"}) {
    for (const char* reduction : {"sum", "prod", "max", "min", "avg"})
      texts.push_back(fmt::format("all_reduce:count=70000,dtype={},op={}", type, reduction));
  }
  EXPECT_THAT(run(2, texts), Each(IsEmpty()));
}

TEST_F(CollectiveOnGpu, AWrongSumIsSeenOnTheRankThatHasIt) {
  let_rank_1(stand_in::kNcclLies);
  EXPECT_THAT(run(2, {"all_reduce:count=12"}), ElementsAre("", HasSubstr("element 0 is ")));
}

TEST_F(CollectiveOnGpu, ARankThatDiesEndsTheWaitOfTheOthers) {
  let_rank_1(stand_in::kNcclDies);
  EXPECT_THAT(run(3, {"all_reduce:count=12"}),
              ElementsAre(HasSubstr("rank 0 of 3 waited for the others"), "ended",
                          HasSubstr("rank 2 of 3 waited for the others")));
}

TEST_F(CollectiveOnGpu, TheCommunicatorEndsWithItsDevice) {
  const std::string state = fmt::format("{}nccl-device-state-{}", testing::TempDir(), getpid());
  setenv(stand_in::kNcclState, state.c_str(), 1);
  EXPECT_THAT(run(2, {"all_reduce:count=12"}), Each(IsEmpty()));
  std::vector<std::string> ends;
  std::ifstream file(state);
  for (std::string line; std::getline(file, line);) ends.push_back(line);
  EXPECT_THAT(ends, UnorderedElementsAre("0 destroyed", "1 destroyed"));
  std::filesystem::remove(state);
}

TEST_F(CollectiveOnGpu, APreparedOneSaysWhoRunsItWhereAndStaysThere) {
  const auto results = run_ranks(2, [](Ranks& ranks) {
    const auto device = gpu_of(ranks);
    device->join(ranks);
    const auto prepared = device->prepare(Operation::parse("all_to_all:count=12"), {.placement = 3});
    const auto rank = prepared->rank_data();
    return fmt::format("{} by {} on rank {} of {}{}{}", prepared->algorithm(), prepared->provider(),
                       rank ? rank->rank : -1, std::get<Collective>(prepared->operation().parameters()).ranks,
                       prepared->place_anew() ? ", moved" : "",
                       prepared->lies_in_pages() ? ", in pages" : "");
  });
  EXPECT_THAT(results, ElementsAre("ncclSend and ncclRecv by nccl on rank 0 of 2",
                                   "ncclSend and ncclRecv by nccl on rank 1 of 2"));
}

// Its input is another operation's, whose values no rank knows of the others.
TEST_F(CollectiveOnGpu, OneWhoseInputIsSharedIsNotVerified) {
  const auto results = run_ranks(2, [](Ranks& ranks) {
    const auto device = gpu_of(ranks);
    device->join(ranks);
    const auto first = device->prepare(Operation::parse("all_reduce:count=12"), {});
    InputData data;
    data.shared = {{.operand = 0, .owner = first.get(), .owner_operand = 1}};
    const auto second = device->prepare(Operation::parse("all_reduce:count=12"), data);
    const auto queue = device->make_queue();
    verify(*queue, *second);
    return std::string();
  });
  EXPECT_THAT(results, Each(HasSubstr("its input is what another operation wrote")));
}

// By the copy engine; kernels do not run on the stand-in.
TEST_F(CollectiveOnGpu, CopiesReachAnotherRanksMemory) {
  const auto results = run_ranks(2, [](Ranks& ranks) {
    constexpr std::size_t kSize = 64;
    const auto device = gpu_of(ranks);
    const auto queue = device->make_queue();
    const auto memory = device->open_to_peers(ranks, Bytes(kSize));
    const auto whole = memory->copy_from(1 - ranks.rank(), PeerCopyBy::copy_engine, false);
    const auto half = memory->copy_from(1 - ranks.rank(), PeerCopyBy::copy_engine, true);
    auto* const own = static_cast<char*>(whole->memory().front().address);
    std::memset(own, ranks.rank() == 0 ? 'a' : 'b', kSize);
    ranks.exchange("filled");
    queue->launch(*half);  // by both ranks at once
    queue->wait();
    ranks.exchange("copied");
    std::string got(own, kSize);
    if (ranks.rank() == 1) std::memset(own, 'c', kSize);
    ranks.exchange("filled");
    if (ranks.rank() == 0) queue->launch(*whole);
    queue->wait();
    got += std::string(own, kSize);
    ranks.exchange("done");
    return got;
  });
  const std::string a(32, 'a'), b(32, 'b'), c(64, 'c');
  EXPECT_THAT(results, ElementsAre(a + b + c, b + a + c));
}

TEST_F(CollectiveOnGpu, NvmlSaysOverWhatAnotherRanksMemoryIsReached) {
  setenv("JITTERSCOPE_NVML", STAND_IN_NVML_LIBRARY, 1);
  setenv(stand_in::kGpus, "2", 1);
  const auto ways = run_ranks(2, [](Ranks& ranks) {
    const auto device = gpu_of(ranks);
    const auto memory = device->open_to_peers(ranks, Bytes(64));
    ranks.exchange("done");
    return memory->way_to(1 - ranks.rank());
  });
  unsetenv(stand_in::kGpus);
  EXPECT_THAT(ways, ElementsAre("NV2", "NV4"));
}

TEST_F(CollectiveOnGpu, MemoryThatCannotBeReachedIsRefusedOnEveryRank) {
  const auto results = run_ranks(2, [](Ranks& ranks) {
    if (ranks.rank() == 1) setenv("STAND_IN_CUDA_NO_PEERS", "1", 1);
    gpu_of(ranks)->open_to_peers(ranks, Bytes(64));
    return std::string();
  });
  EXPECT_THAT(results, Each(HasSubstr("rank 1: opening another rank's memory: ")));
}

TEST_F(CollectiveOnGpu, WithoutRanksItSaysHowToStartThem) {
  const auto results = run_ranks(1, [](Ranks& ranks) {
    gpu_of(ranks)->prepare(Operation::parse("all_reduce:count=12"), {});
    return std::string();
  });
  EXPECT_THAT(results, ElementsAre(AllOf(HasSubstr("this process is alone"), HasSubstr("--local N"))));
}

TEST_F(CollectiveOnGpu, NcclsVersionAndSettingsAreInTheDescription) {
  const auto results = run_ranks(1, [](Ranks& ranks) {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    const DeviceDescription description = gpu_of(ranks)->describe();
    std::string said;
    for (const LibraryInfo& library : description.libraries) {
      if (library.name == "nccl") said += library.version + library.problem;
    }
    for (const Property& property : description.properties) {
      if (property.key == "nccl_environment") said += " with " + property.value;
    }
    return said;
  });
  EXPECT_THAT(results, ElementsAre("2.28.9 with NCCL_NVLS_ENABLE=0"));
}

}  // namespace
}  // namespace jitterscope
