// What holds back a process that wants to cheat, as far as the kernel allows it without root.
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

/// What holds a worker back, and what does not and why.
struct Sandbox {
  Isolation isolation = Isolation::none;
  std::vector<std::string> has, lacks;
};

/// Returns what the kernel lets a process without rights have: it starts one that tries.
Sandbox probe_sandbox(bool is_on_gpu);

/// What a child needs to have files of its own, written before it is made.
struct OwnFiles {
  const char* folder = nullptr;
  std::string user, group, size;  ///< lines of uid_map and gid_map, option of a file system in memory
};
OwnFiles own_files(const char* folder, Bytes size);

/// Makes a process, as fork does, in namespaces of its own, or without where the kernel refuses them. With a
/// process namespace, all that a worker started ends with it; with a user namespace, it may not look into the
/// judge's memory though it has the same user. A GPU's driver writes to /proc/self: where a process namespace
/// cannot have a /proc of its own, a worker on a GPU has none.
pid_t start_in_sandbox(bool is_on_gpu);

// Below: what a child does to itself between fork and exec. Nothing there allocates memory.

bool write_file(const char* path, const char* text);
/// Sets a limit of setrlimit, or the highest below it that is allowed.
void limit_resource(int resource, std::int64_t value);
/// Takes away the right to write elsewhere, to gain privileges and to look into other processes. Returns what
/// was possible.
int hold_back(const OwnFiles& files);

}  // namespace jitterscope::judging
