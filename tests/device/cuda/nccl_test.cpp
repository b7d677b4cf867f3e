// Against a library that stands in for NCCL, in a process for each rank.
#include "device/cuda/nccl.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jitterscope/error.hpp"
#include "support/forked_ranks.hpp"
#include "support/stand_in_nccl.hpp"

namespace jitterscope::cuda {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

void load(const char* library) {
  if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == nullptr) throw FailedError(dlerror());
}

bool is_done() {
  static auto* const pending =
      reinterpret_cast<stand_in::NcclPending*>(dlsym(RTLD_DEFAULT, stand_in::kNcclPendingName));
  return pending() == 0;
}

// One wait that must end with an error: long enough for a machine that is busy, and reached by no test that
// passes but by those of a rank that never ends its work.
constexpr Nanoseconds kShort = milliseconds(50);
constexpr Nanoseconds kLong = seconds(100);

using Floats = std::vector<float>;

// Runs one collective in each rank over buffers of so many floats; `in` begins with 10 × rank, 10 × rank + 1,
// …
using Collect = std::function<int(const nccl::Functions&, const Floats& in, Floats& out, nccl::Handle)>;

std::vector<std::string> collected(std::size_t in_count, std::size_t out_count, const Collect& collect,
                                   Nanoseconds limit = kLong) {
  return run_ranks(2, [&](Ranks& ranks) {
    load(STAND_IN_NCCL_LIBRARY);
    Communicator communicator(ranks, limit);
    Floats in(in_count), out(out_count, -1.0f);
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(10 * ranks.rank()) + static_cast<float>(i);
    check_nccl(collect(require_nccl(), in, out, communicator.handle()), "collecting");
    communicator.wait(is_done);
    return fmt::format("{}", fmt::join(out, " "));
  });
}

std::vector<std::string> all_reduced(Nanoseconds limit = kLong) {
  return collected(
      3, 3,
      [](const nccl::Functions& nccl, const Floats& in, Floats& out, nccl::Handle communicator) {
        return nccl.ncclAllReduce(in.data(), out.data(), in.size(), nccl::kFloat32, nccl::kSum, communicator,
                                  nullptr);
      },
      limit);
}

class NcclTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {stand_in::kNcclFault, stand_in::kNcclFaultyRank, stand_in::kNcclVersionCode,
                             stand_in::kNcclState, "NCCL_ALGO", "NCCL_NVLS_ENABLE"})
      unsetenv(name);
    std::filesystem::remove(state_);
  }
  static void let_rank_1(const char* fault) {
    setenv(stand_in::kNcclFault, fault, 1);
    setenv(stand_in::kNcclFaultyRank, "1", 1);
  }
  void note_ends() { setenv(stand_in::kNcclState, state_.c_str(), 1); }
  std::vector<std::string> ends() const {
    std::ifstream file(state_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::string state_ = fmt::format("{}nccl-state-{}", testing::TempDir(), getpid());
};

TEST_F(NcclTest, RanksMeetByAUniqueIdAndReduce) {
  note_ends();
  EXPECT_THAT(all_reduced(), Each("10 12 14"));
  EXPECT_THAT(ends(), UnorderedElementsAre("0 destroyed", "1 destroyed"));
}

TEST_F(NcclTest, EachCollectiveHasItsParametersInTheirOrder) {
  using nccl::kFloat32;
  using nccl::kMaximum;
  using nccl::kSum;
  const auto scattered =
      collected(4, 2, [](const auto& nccl, const Floats& in, Floats& out, nccl::Handle communicator) {
        return nccl.ncclReduceScatter(in.data(), out.data(), 2, kFloat32, kSum, communicator, nullptr);
      });
  EXPECT_THAT(scattered, ElementsAre("10 12", "14 16"));
  const auto gathered =
      collected(2, 4, [](const auto& nccl, const Floats& in, Floats& out, nccl::Handle communicator) {
        return nccl.ncclAllGather(in.data(), out.data(), 2, kFloat32, communicator, nullptr);
      });
  EXPECT_THAT(gathered, Each("0 1 10 11"));
  const auto sent = collected(2, 2, [](const auto& nccl, const Floats& in, Floats& out, nccl::Handle handle) {
    return nccl.ncclBroadcast(in.data(), out.data(), 2, kFloat32, 1, handle, nullptr);
  });
  EXPECT_THAT(sent, Each("10 11"));
  const auto reduced =
      collected(2, 2, [](const auto& nccl, const Floats& in, Floats& out, nccl::Handle comm) {
        return nccl.ncclReduce(in.data(), out.data(), 2, kFloat32, kMaximum, 1, comm, nullptr);
      });
  EXPECT_THAT(reduced, ElementsAre("-1 -1", "10 11"));
  const auto exchanged =
      collected(2, 2, [](const auto& nccl, const Floats& in, Floats& out, nccl::Handle communicator) {
        const int peer = in[0] == 0.0f ? 1 : 0;
        nccl.ncclGroupStart();
        nccl.ncclSend(in.data(), 2, kFloat32, peer, communicator, nullptr);
        nccl.ncclRecv(out.data(), 2, kFloat32, peer, communicator, nullptr);
        return nccl.ncclGroupEnd();
      });
  EXPECT_THAT(exchanged, ElementsAre("10 11", "0 1"));
}

TEST_F(NcclTest, ARankThatDiesIsAnErrorAndNoHang) {
  note_ends();
  let_rank_1(stand_in::kNcclDies);
  EXPECT_THAT(
      all_reduced(),
      ElementsAre(AllOf(StartsWith("error: rank 0 of 2 waited for the others: NCCL says 'remote process"),
                        HasSubstr("(what the stand-in said last)"), EndsWith("may have ended")),
                  "ended"));
  EXPECT_THAT(ends(), ElementsAre("0 aborted"));
}

TEST_F(NcclTest, ARankThatStallsIsAnErrorAfterTheLimit) {
  note_ends();
  let_rank_1(stand_in::kNcclStalls);
  // Rank 0 waits as long, or sees that rank 1 has ended.
  EXPECT_THAT(all_reduced(kShort),
              ElementsAre(HasSubstr("waited for the others"),
                          HasSubstr("its GPU was not done after 0.05 s, so another rank")));
  EXPECT_THAT(ends(), UnorderedElementsAre("0 aborted", "1 aborted"));
}

TEST_F(NcclTest, UnlikeCountsAreAnErrorAfterTheLimit) {
  const auto unlike = collected(
      3, 3,
      [](const auto& nccl, const Floats& in, Floats& out, nccl::Handle communicator) {
        return nccl.ncclAllReduce(in.data(), out.data(), in[0] == 0.0f ? 3 : 2, nccl::kFloat32, nccl::kSum,
                                  communicator, nullptr);
      },
      kShort);
  EXPECT_THAT(unlike, Each(HasSubstr("is at another collective")));
}

TEST_F(NcclTest, ErrorsAreSentencesInNcclsWords) {
  let_rank_1(stand_in::kNcclRefuses);
  EXPECT_EQ(
      all_reduced(kShort)[1],
      "error: collecting: NCCL says 'internal error (what the stand-in said last)'; NCCL_DEBUG=INFO shows "
      "more");
  let_rank_1(stand_in::kNcclReports);
  EXPECT_THAT(all_reduced(kShort)[1], HasSubstr("NCCL says 'unhandled system error"));
}

TEST_F(NcclTest, AnAbortedCommunicatorIsNotUsedAgain) {
  let_rank_1(stand_in::kNcclStalls);
  const auto results = run_ranks(2, [](Ranks& ranks) {
    load(STAND_IN_NCCL_LIBRARY);
    Communicator communicator(ranks, kShort);
    try {
      communicator.wait([] { return false; });
    } catch (const FailedError&) {
      communicator.handle();
    }
    return std::string();
  });
  EXPECT_THAT(results, Each(HasSubstr("its communicator was aborted after an error")));
}

TEST_F(NcclTest, RanksWithoutNcclSayWhatToInstall) {
  const auto results = run_ranks(1, [](Ranks& ranks) -> std::string {
    setenv("JITTERSCOPE_LIBRARY_PATH", "/nonexistent", 1);
    load(TOO_OLD_NCCL_LIBRARY);
    try {
      const Communicator communicator(ranks);
    } catch (const MissingError& error) {
      return fmt::format("{}; listed: {}", error.what(), nccl_library().problem);
    }
    return "no error";
  });
  EXPECT_THAT(results, ElementsAre(AllOf(StartsWith("collectives on GPUs need NCCL, and "),
                                         HasSubstr("lacks ncclSend, which NCCL has from 2.7 on"),
                                         HasSubstr("pip install nvidia-nccl-cu13"), HasSubstr("listed: "),
                                         EndsWith("from 2.7 on"))));
}

TEST_F(NcclTest, UnlikeVersionsAreRefusedOnEveryRank) {
  const auto versions = run_ranks(2, [](Ranks& ranks) {
    if (ranks.rank() == 1) setenv(stand_in::kNcclVersionCode, "2708", 1);
    load(STAND_IN_NCCL_LIBRARY);
    const Communicator communicator(ranks);
    return std::string();
  });
  EXPECT_THAT(versions, Each(HasSubstr("rank 0 has NCCL 2.28.9 and rank 1 has 2.7.8")));
}

// An exchange that loses the id, or cuts it.
class OtherTexts final : public Ranks {
 public:
  explicit OtherTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  int rank() const override { return 1; }
  int count() const override { return 2; }
  std::vector<std::string> exchange(const std::string& own) override {
    texts_.push_back(own);
    return texts_;
  }

 private:
  std::vector<std::string> texts_;
};

TEST_F(NcclTest, WhatIsNoUniqueIdIsRefused) {
  for (const std::string& id :
       {std::string(), std::string(255, 'a'), std::string(258, 'a'), std::string(256, 'g')}) {
    const auto results = run_ranks(1, [&](Ranks&) {
      load(STAND_IN_NCCL_LIBRARY);
      OtherTexts ranks({"2.28.9 " + id});
      const Communicator communicator(ranks);
      return std::string();
    });
    EXPECT_THAT(results, ElementsAre(HasSubstr("rank 0 sent no unique id of NCCL")));
  }
}

TEST_F(NcclTest, VersionsHaveTwoForms) {
  EXPECT_EQ(nccl_version_text(2708), "2.7.8");
  EXPECT_EQ(nccl_version_text(20805), "2.8.5");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
}

TEST_F(NcclTest, SettingsAreReadInOrder) {
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  setenv("NCCL_ALGO", "Ring", 1);
  setenv("NCCL_VERSION", "2.28.3-1", 1);  // that of an image
  EXPECT_EQ(nccl_environment(), "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0");
  unsetenv("NCCL_VERSION");
}

}  // namespace
}  // namespace jitterscope::cuda
