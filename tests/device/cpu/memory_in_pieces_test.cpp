#include "device/cpu/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "device/cpu/cpu_device.hpp"

namespace jitterscope::cpu {
namespace {

constexpr std::int64_t kPages = 2048;

std::int64_t page_size() { return ::sysconf(_SC_PAGESIZE); }

// Where each page lies in the machine's memory; zeros for whoever may not know, who is not the superuser.
std::vector<std::uint64_t> frames_of(const AlignedMemory& memory) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kFrame = (std::uint64_t{1} << 55) - 1;
  std::vector<std::uint64_t> frames(static_cast<std::size_t>(memory.size().value() / page_size()));
  std::ifstream map("/proc/self/pagemap", std::ios::binary);
  map.seekg(static_cast<std::streamoff>(reinterpret_cast<std::uintptr_t>(memory.data()) /
                                        static_cast<std::uintptr_t>(page_size()) * sizeof(std::uint64_t)));
  map.read(reinterpret_cast<char*>(frames.data()),
           static_cast<std::streamsize>(frames.size() * sizeof(std::uint64_t)));
  EXPECT_TRUE(map);
  for (std::uint64_t& frame : frames) {
    EXPECT_TRUE((frame & kPresent) != 0) << "a page that was never touched";
    frame &= kFrame;
  }
  return frames;
}

// Of neighbours, how many lie side by side in the machine as well; it may give its frames out backwards.
double share_in_sequence(const std::vector<std::uint64_t>& frames) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    count += frames[i] == frames[i - 1] + 1 || frames[i] + 1 == frames[i - 1] ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(frames.size() - 1);
}

TEST(MemoryInPieces, LiesAllOverTheMachine) {
  const Bytes size(kPages * page_size());
  const std::vector<std::uint64_t> single = frames_of(memory_in_pieces(size, 1, 7)),
                                   one_piece = frames_of(memory_in_pieces(size, kPages, 7));
  if (single.front() == 0) return;  // the frames are not told
  // A system may give its frames out at random anyway, so that one piece is as far apart.
  EXPECT_LT(share_in_sequence(single), 0.1);
  EXPECT_LT(share_in_sequence(single), share_in_sequence(one_piece) + 0.05);
}

// The flags of the mapping that an address lies in, as the kernel lists them.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      is_there = begin <= at && at < end;
    } else if (is_there && line.starts_with("VmFlags:")) {
      return line + ' ';
    }
  }
  return {};
}

TEST(MemoryInPieces, HasNoHugePages) {
  const Bytes size(kPages * page_size());
  const AlignedMemory pieces = memory_in_pieces(size, 16, 7), whole(size);
  if (flags_of(whole.data()).empty() || !std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    return;
  EXPECT_NE(flags_of(pieces.data()).find(" nh "), std::string::npos) << flags_of(pieces.data());
  EXPECT_EQ(flags_of(whole.data()).find(" nh "), std::string::npos);
}

TEST(MemoryInPieces, IsMemoryLikeAnyOther) {
  const AlignedMemory memory = memory_in_pieces(Bytes(3 * page_size() + 5), 2, 1);
  EXPECT_EQ(memory.size(), Bytes(4 * page_size()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % static_cast<std::uintptr_t>(page_size()), 0u);
  std::memset(memory.data(), 0x5a, static_cast<std::size_t>(memory.size().value()));
  EXPECT_EQ(memory.data()[4 * page_size() - 1], std::byte{0x5a});
  EXPECT_EQ(memory_in_pieces(Bytes(0), 1, 1).data(), nullptr);
}

TEST(MemoryInPieces, HoldsTheSameOperands) {
  const auto device = open_cpu_device();
  const Operation operation = Operation::parse("add:count=100Ki");
  const auto whole = device->prepare(operation, {.seed = 3});
  for (const std::int64_t pages : {16, 4, 1}) {
    const auto scattered = device->prepare(operation, {.seed = 3, .heap_piece = pages});
    EXPECT_TRUE(scattered->lies_in_pages());
    EXPECT_EQ(scattered->read_operand(1), whole->read_operand(1));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scattered->memory()[0].address) %
                  static_cast<std::uintptr_t>(page_size()),
              0u);
  }
  EXPECT_FALSE(device->prepare(Operation::parse("spin:ns=1000"), {})->lies_in_pages());
}

}  // namespace
}  // namespace jitterscope::cpu
