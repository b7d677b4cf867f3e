#include "base/host.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::vector<int> allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> found;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return found;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &allowed)) found.push_back(i);
  }
  return found;
}

Nanoseconds host_time_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds(std::chrono::duration<double, std::nano>(now).count());
}

void stay_awake(Nanoseconds time) {
  const Nanoseconds end = host_time_now() + time;
  while (host_time_now() < end) {
  }
}

namespace {

constexpr int kMostNodes = 1024;
constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;

// Reads a list as /sys writes it: "0-1,4".
std::vector<int> read_list(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) break;
    int last = first;
    if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
    for (int number = first; number <= std::min(last, kMostNodes - 1); ++number) numbers.push_back(number);
    if (read.ptr == end || *read.ptr != ',') break;
    at = read.ptr + 1;
  }
  return numbers;
}

// One more than the nodes, because the kernel subtracts one from the number of bits.
constexpr unsigned long kMaskBits = kMostNodes + 1;
using Mask = std::array<unsigned long, kMostNodes / kBits>;

[[noreturn]] void refuse(int node) {
  throw FailedError(
      fmt::format("the system does not let memory be taken from NUMA node {} (set_mempolicy: {})", node,
                  std::strerror(errno)));
}

}  // namespace

struct MemoryFromNode::Policy {
  int mode = MPOL_DEFAULT;
  Mask mask{};
};

std::vector<int> memory_nodes() {
  std::vector<int> nodes = read_list(file_text("/sys/devices/system/node/has_memory").text);
  if (nodes.empty()) nodes = {0};
  return nodes;
}

std::optional<int> memory_node_of(void* pointer) {
  if (memory_nodes().size() < 2) return std::nullopt;
  int node = -1;
  const long asked = syscall(SYS_get_mempolicy, &node, nullptr, 0UL, pointer, MPOL_F_NODE | MPOL_F_ADDR);
  return asked == 0 && node >= 0 ? std::optional(node) : std::nullopt;
}

MemoryFromNode::MemoryFromNode(std::optional<int> node) {
  if (!node) return;
  const std::vector<int> nodes = memory_nodes();
  if (std::ranges::find(nodes, *node) == nodes.end()) {
    std::vector<std::string> known;
    for (const int each : nodes) known.push_back(std::to_string(each));
    throw UsageError(
        fmt::format("NUMA node {} has no memory here; those that have: {}", *node, joined(known)));
  }
  auto before = std::make_unique<Policy>();
  if (syscall(SYS_get_mempolicy, &before->mode, before->mask.data(), kMaskBits, nullptr, 0UL) != 0)
    refuse(*node);
  Mask mask{};
  const auto bit = static_cast<std::size_t>(*node);
  mask[bit / kBits] = 1UL << (bit % kBits);
  if (syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kMaskBits) != 0) refuse(*node);
  before_ = std::move(before);
}

MemoryFromNode::~MemoryFromNode() {
  if (before_) syscall(SYS_set_mempolicy, before_->mode, before_->mask.data(), kMaskBits);
}

}  // namespace jitterscope
