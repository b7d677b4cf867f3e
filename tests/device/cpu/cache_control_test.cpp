#include "device/cpu/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

class Operands final : public Workload {
 public:
  Operands(std::vector<std::uint8_t>& bytes, std::size_t first, std::size_t count)
      : region_{bytes.data() + first, Bytes(static_cast<std::int64_t>(count))} {}
  void run(NativeQueue) override {}
  bool produce_inputs(NativeQueue) override {
    ++produced;
    return true;
  }
  std::vector<MemoryRegion> memory() const override { return {region_}; }

  int produced = 0;

 private:
  MemoryRegion region_;
};

std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return bytes;
}

// Flushing is hard to see and must never be seen in the values: also at odd addresses and sizes.
TEST(CacheControl, NoStateChangesTheOperands) {
  std::vector<std::uint8_t> bytes = pattern((1 << 20) + 77);
  const std::vector<std::uint8_t> before = bytes;
  CacheControl caches(Bytes(1 << 20));
  Operands workload(bytes, 3, bytes.size() - 9);
  for (const CacheState state :
       {CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced}) {
    caches.set(state, workload);
    EXPECT_EQ(bytes, before) << to_string(state);
  }
  EXPECT_EQ(workload.produced, 1);
}

TEST(CacheControl, NothingIsFlushedOfAnEmptyRegion) { EXPECT_NO_THROW(flush_lines({nullptr, Bytes(0)})); }

class Unknown final : public Workload {
 public:
  void run(NativeQueue) override {}
};

TEST(CacheControl, AWorkloadOfUnknownMemoryIsEvictedByASweep) {
  CacheControl caches(Bytes(1 << 20));
  Unknown workload;
  EXPECT_NO_THROW(caches.set(CacheState::cold, workload));
  EXPECT_NO_THROW(caches.set(CacheState::dirty, workload));
  EXPECT_THROW(caches.set(CacheState::produced, workload), UsageError);
}

}  // namespace
}  // namespace jitterscope::cpu
