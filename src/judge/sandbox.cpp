#include "judge/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"

namespace jitterscope::judging {

std::string_view to_string(Isolation isolation) {
  switch (isolation) {
    case Isolation::strong: return "strong";
    case Isolation::weak: return "weak";
    case Isolation::none: return "none";
  }
  return "";
}

namespace {

constexpr unsigned long kNamespaces =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS;

bool refuse_system_calls() {
#ifdef __x86_64__
  constexpr auto kRefused = std::to_array<std::uint32_t>({SYS_ptrace,
                                                          SYS_process_vm_readv,
                                                          SYS_process_vm_writev,
                                                          SYS_perf_event_open,
                                                          SYS_bpf,
                                                          SYS_mount,
                                                          SYS_umount2,
                                                          SYS_pivot_root,
                                                          SYS_setns,
                                                          SYS_unshare,
                                                          SYS_keyctl,
                                                          SYS_add_key,
                                                          SYS_request_key,
                                                          SYS_connect,
                                                          SYS_io_uring_setup,
                                                          SYS_mount_setattr,
                                                          SYS_move_mount,
                                                          SYS_open_tree,
                                                          SYS_fsopen,
                                                          SYS_fsmount,
                                                          SYS_fsconfig,
                                                          SYS_fspick,
                                                          SYS_pidfd_getfd,
                                                          SYS_kcmp,
                                                          SYS_userfaultfd});
  constexpr std::size_t kBefore = 3;
  std::array<sock_filter, kBefore + kRefused.size() + 3> filter{};
  const auto jump_if_equal = [](std::uint32_t value, std::uint8_t then, std::uint8_t otherwise) {
    return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, then, otherwise, value};
  };
  filter[0] = {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch)};
  // Another architecture's numbers are not these: all of it is refused.
  filter[1] = jump_if_equal(AUDIT_ARCH_X86_64, 0, kRefused.size() + 3);
  filter[2] = {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)};
  for (std::size_t i = 0; i < kRefused.size(); ++i) {
    filter[kBefore + i] = jump_if_equal(kRefused[i], static_cast<std::uint8_t>(kRefused.size() - i + 1), 0);
  }
  constexpr std::uint32_t kX32 = 0x40000000;  // the same calls by other numbers
  filter[kBefore + kRefused.size()] = {BPF_JMP | BPF_JGE | BPF_K, 1, 0, kX32};
  filter[kBefore + kRefused.size() + 1] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  filter[kBefore + kRefused.size() + 2] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM};
  const sock_fprog program{filter.size(), filter.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
  return false;
#endif
}

constexpr const char* kSharedMemory = "/dev/shm";

// Bits of what a child has.
constexpr int kHasNoPrivileges = 1, kHasNoWriting = 2, kHasNoCalls = 4, kHasOwnFiles = 8,
              kHasOwnProcesses = 16;

// Lets the process write below one folder and to devices only; to /dev/shm and /proc if they are its own,
// else to what /proc has of itself, as a GPU's driver does with the names of its threads.
bool refuse_writing(int folder, int has) {
  constexpr std::uint64_t kWrites = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  // Newer than the headers of some systems; a kernel that lacks one refuses the whole set. Without the right
  // to rename from folder to folder, which Triton's cache does, that fails everywhere.
  constexpr std::uint64_t kRename = std::uint64_t{1} << 13, kTruncate = std::uint64_t{1} << 14;
  constexpr std::uint32_t kAskVersion = 1;
  constexpr long kVersionOfRename = 2, kVersionOfTruncate = 3;
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  const std::uint64_t rename = version >= kVersionOfRename ? kRename : 0;
  const std::uint64_t truncate = version >= kVersionOfTruncate ? kTruncate : 0;
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = kWrites | rename | truncate;
  const int set = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0));
  if (set < 0) return false;
  const auto allow = [&](int place, std::uint64_t access) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = access;
    rule.parent_fd = place;
    return ::syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  };
  const int devices = ::open("/dev", O_PATH | O_CLOEXEC);
  const int shared = (has & kHasOwnFiles) != 0 ? ::open(kSharedMemory, O_PATH | O_CLOEXEC) : -1;
  const int processes = ::open((has & kHasOwnProcesses) != 0 ? "/proc" : "/proc/self", O_PATH | O_CLOEXEC);
  const bool is_done = allow(folder, kWrites | rename | truncate) &&
                       (devices < 0 || allow(devices, LANDLOCK_ACCESS_FS_WRITE_FILE | truncate)) &&
                       (shared < 0 || allow(shared, kWrites | rename | truncate)) &&
                       (processes < 0 || allow(processes, LANDLOCK_ACCESS_FS_WRITE_FILE | truncate)) &&
                       ::syscall(SYS_landlock_restrict_self, set, 0) == 0;
  ::close(set);
  if (devices >= 0) ::close(devices);
  if (shared >= 0) ::close(shared);
  if (processes >= 0) ::close(processes);
  return is_done;
}

bool write_file(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = ::write(file, text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text));
  ::close(file);
  return is_written;
}

// Sets a limit of setrlimit, or the highest below it that is allowed.
void limit_resource(int resource, std::int64_t value) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  const auto wanted = std::min(static_cast<rlim_t>(value), now.rlim_max);
  now = {wanted, wanted};
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

// Gives up the capabilities that a new user namespace grants. An executed program loses them by exec.
void give_up_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  ::syscall(SYS_capset, &header, none.data());
}

pid_t clone_process(unsigned long namespaces) {
  return static_cast<pid_t>(::syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

}  // namespace

OwnFiles own_files(const char* folder, Bytes size) {
  // Nobody inside, so that exec takes away the rights that a new user namespace gives.
  return {folder, fmt::format("65534 {} 1", ::getuid()), fmt::format("65534 {} 1", ::getgid()),
          fmt::format("mode=1777,size={}", size.value())};
}

namespace {

// In a mount namespace: the folder and /dev/shm become file systems in memory, which end with the last
// process and have a size, /proc shows this namespace's processes, and all others can only be read. So
// nothing outside is changed, by chmod neither.
int have_own_files(const OwnFiles& files) {
  mount_attr read_only{}, writable{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  writable.attr_clr = MOUNT_ATTR_RDONLY;
  const auto set = [](const char* path, unsigned flags, mount_attr& attributes) {
    return ::syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attributes, sizeof(attributes)) == 0;
  };
  constexpr unsigned long kSafe = MS_NOSUID | MS_NODEV;
  if (!(write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", files.user.c_str()) &&
        write_file("/proc/self/gid_map", files.group.c_str()) &&
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("own", files.folder, "tmpfs", kSafe, files.options.c_str()) == 0 &&
        ::mount("own", kSharedMemory, "tmpfs", kSafe, files.options.c_str()) == 0 &&
        set("/", AT_RECURSIVE, read_only) && set(files.folder, 0, writable) &&
        set(kSharedMemory, 0, writable))) {
    return 0;
  }
  const bool has_namespace = ::getpid() == 1;
  if (has_namespace && ::mount("own", "/proc", "proc", kSafe | MS_NOEXEC, nullptr) == 0) {
    return kHasOwnFiles | kHasOwnProcesses;
  }
  if (!has_namespace) set("/proc", 0, writable);
  return kHasOwnFiles;
}

}  // namespace

void limit_process(const ProcessLimits& limits) {
  constexpr std::int64_t kProcesses = 4096;
  limit_resource(RLIMIT_CORE, 0);
  limit_resource(RLIMIT_DATA, limits.data.value());
  limit_resource(RLIMIT_FSIZE, limits.file.value());
  limit_resource(RLIMIT_NOFILE, limits.descriptors);
  limit_resource(RLIMIT_CPU, limits.core_seconds);
  limit_resource(RLIMIT_NPROC, kProcesses);
  write_file("/proc/self/oom_score_adj", "1000");  // where memory ends, it ends before the judge
}

namespace {

// Returns what a child has that holds itself back; -1 if there is none.
int probe(unsigned long namespaces) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const OwnFiles files = own_files(path.c_str(), Bytes(std::int64_t{1} << 20));
  const pid_t pid = clone_process(namespaces);
  if (pid == 0) ::_exit(hold_back(files));
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

unsigned long namespaces_of(bool is_on_gpu) {
  if (!is_on_gpu) return kNamespaces;
  static const bool has_own_processes = [] {
    const int has = probe(kNamespaces);
    return has >= 0 && (has & kHasOwnProcesses) != 0;
  }();
  return has_own_processes ? kNamespaces : kNamespaces & ~static_cast<unsigned long>(CLONE_NEWPID);
}

}  // namespace

pid_t start_in_sandbox(bool is_on_gpu) {
  const pid_t pid = clone_process(namespaces_of(is_on_gpu));
  return pid < 0 ? clone_process(0) : pid;
}

Held held_by_sandbox(bool is_on_gpu) {
  const unsigned long namespaces = namespaces_of(is_on_gpu);
  if (const int has = probe(namespaces); has >= 0) return {namespaces, has};
  return {0, std::max(0, probe(0))};
}

int hold_back(const OwnFiles& files) {
  int has = have_own_files(files);
  give_up_rights();
  const int folder = ::open(files.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) has |= kHasNoPrivileges;
  if (folder >= 0 && refuse_writing(folder, has)) has |= kHasNoWriting;
  if (folder >= 0) ::close(folder);
  if (refuse_system_calls()) has |= kHasNoCalls;
  return has;
}

Sandbox probe_sandbox(bool is_on_gpu) {
  Sandbox sandbox;
  const unsigned long namespaces = namespaces_of(is_on_gpu);
  const int with_namespaces = probe(namespaces);
  const int problem = errno;
  const int has = with_namespaces >= 0 ? with_namespaces : probe(0);
  const auto say = [&](bool holds, const std::string& what, const std::string& why) {
    if (holds) {
      sandbox.has.push_back(what);
    } else {
      sandbox.lacks.push_back(fmt::format("{} ({})", what, why));
    }
  };
  say(with_namespaces >= 0,
      namespaces == kNamespaces ? "namespaces of its own for users, processes, mounts, network and IPC"
                                : "namespaces of its own for users, mounts, network and IPC",
      with_namespaces >= 0 ? "" : std::strerror(problem));
  say(with_namespaces >= 0 && (has & kHasOwnFiles) != 0,
      "all files read only but those of its own folder, which has a size and ends with it",
      with_namespaces >= 0 ? "the kernel refuses mounts" : "there is no namespace for it");
  if (with_namespaces >= 0 && namespaces != kNamespaces) {
    say(false, "a namespace of its own for processes",
        "the kernel mounts no /proc for it, which a GPU's driver needs");
  }
  say((has & kHasNoWriting) != 0 && has >= 0, "writes only to its own folder and devices",
      "the kernel has no Landlock");
  say((has & kHasNoCalls) != 0 && has >= 0, "no system calls that look into other processes",
      "seccomp filters are refused");
  say((has & kHasNoPrivileges) != 0 && has >= 0, "no new privileges", "prctl refused");
  sandbox.isolation = sandbox.lacks.empty()                                   ? Isolation::strong
                      : has > 0 && (has & (kHasNoWriting | kHasNoCalls)) != 0 ? Isolation::weak
                                                                              : Isolation::none;
  return sandbox;
}

}  // namespace jitterscope::judging
