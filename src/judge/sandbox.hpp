// Limits for a process that wants to cheat, as far as the kernel allows them without root.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "jitterscope/units.hpp"

namespace jitterscope::judging {

/// How far a worker is kept from the judge and the machine.
enum class Isolation {
  strong,  ///< namespaces of its own, reads files and writes only its own folder
  weak,    ///< one of these is missing
  none     ///< neither
};
std::string_view to_string(Isolation);

/// The limits that hold for a worker, and those that do not and why.
struct Sandbox {
  Isolation isolation = Isolation::none;
  std::vector<std::string> has, lacks;
};

/// Returns what the kernel lets a process without rights have: it starts one that tries.
Sandbox probe_sandbox(bool is_on_gpu);

/// The limits of one process. Its address space has none: a GPU's driver reserves far more than it uses.
struct ProcessLimits {
  Bytes data = Bytes(std::int64_t{16} << 30), file = Bytes(std::int64_t{64} << 20);
  /// The size of its folder, and that of its /dev/shm, where the kernel gives it its own.
  Bytes folder = Bytes(std::int64_t{1} << 30);
  std::int64_t descriptors = 1024, core_seconds = 3600;
};

/// Paths and maps for a child with files of its own, written before it is made.
struct OwnFiles {
  const char* folder = nullptr;
  std::string user, group, options;  ///< lines of uid_map and gid_map, options of a file system in memory
};
OwnFiles own_files(const char* folder, Bytes size);

/// Makes a process, as fork does, in namespaces of its own, or without where the kernel refuses them. With a
/// process namespace, all that a worker started ends with it; with a user namespace, it may not look into the
/// judge's memory though it has the same user. A GPU's driver writes to /proc/self: where a process namespace
/// cannot have a /proc of its own, a worker on a GPU has none.
pid_t start_in_sandbox(bool is_on_gpu);

/// The namespaces that start_in_sandbox() asks for (flags of unshare), and what hold_back() returns in them.
struct Held {
  unsigned long namespaces = 0;  ///< none where the kernel refuses them
  int has = 0;
};
Held held_by_sandbox(bool is_on_gpu);

// Below: what a child does to itself between fork and exec. Nothing there allocates memory.

void limit_process(const ProcessLimits& limits);
/// Takes away the right to write elsewhere, to gain privileges and to look into other processes. Returns what
/// was possible, one bit each.
int hold_back(const OwnFiles& files);

}  // namespace jitterscope::judging
