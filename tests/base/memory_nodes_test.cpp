// Which NUMA nodes this machine has, and memory from one of them.
#include "base/host.hpp"

#include <gmock/gmock.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

int policy() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0 ? mode : -1;
}

TEST(MemoryNodes, ThereIsOneAtLeast) {
  const std::vector<int> nodes = memory_nodes();
  ASSERT_FALSE(nodes.empty());
  EXPECT_TRUE(std::ranges::is_sorted(nodes));
}

TEST(MemoryNodes, MemoryComesFromTheOneThatIsNamed) {
  const int before = policy();
  const int node = memory_nodes().back();
  try {
    const MemoryFromNode from(node);
    EXPECT_EQ(policy(), MPOL_BIND);
    constexpr std::size_t kSize = 1 << 20;
    void* pages = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    std::memset(pages, 1, kSize);
    int found = -1;
    EXPECT_EQ(syscall(SYS_get_mempolicy, &found, nullptr, 0UL, pages, MPOL_F_NODE | MPOL_F_ADDR), 0);
    EXPECT_EQ(found, node);
    ::munmap(pages, kSize);
  } catch (const FailedError& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(policy(), before) << "as it was";
}

TEST(MemoryNodes, WithoutANameNothingChanges) {
  const int before = policy();
  const MemoryFromNode from(std::nullopt);
  EXPECT_EQ(policy(), before);
}

TEST(MemoryNodes, OneThatIsNotThereIsRefusedWithThoseThatAre) {
  EXPECT_THAT(
      [] { MemoryFromNode from(1000); },
      ThrowsMessage<UsageError>(testing::AllOf(HasSubstr("node 1000"), HasSubstr("those that have: 0"))));
}

}  // namespace
}  // namespace jitterscope
