#include "device/cuda/clock_lock.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <system_error>

#include "device/cuda/nvml.hpp"
#include "device/device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr char kReady = 'r';
constexpr char kRestored = 'd';
constexpr int kGuardianStartMilliseconds = 10'000;
// Signals by which others end a command. The guardian ignores them.
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::string& guardian_executable() {
  static std::string path;
  return path;
}

/// A guardian process, and this process's end of the socket to it.
class Guardian {
 public:
  explicit Guardian(const std::string& uuid) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail(errno);
    fd_ = ends[0];
    const int error = spawn(uuid, ends[1]);
    close(ends[1]);
    if (error != 0) {
      close(fd_);
      fail(error);
    }
    if (is_ready()) return;
    kill(pid_, SIGKILL);
    reap();
    throw FailedError(
        fmt::format("the guardian process that would restore the clock of {} did not start ({}); nothing was "
                    "locked",
                    uuid, guardian_executable()));
  }
  ~Guardian() { reap(); }
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Tells the guardian to end without touching the clock.
  void dismiss() noexcept { (void)!send(fd_, &kRestored, 1, MSG_NOSIGNAL); }

 private:
  [[noreturn]] static void fail(int error) {
    throw FailedError("the guardian process that restores the clock cannot be started: " +
                      std::generic_category().message(error) + "; nothing was locked");
  }

  int spawn(const std::string& uuid, int fd) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, fd, fd);  // same number: only clears close-on-exec
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int number : kEndingSignals) sigaddset(&blocked, number);
    // Blocked from the guardian's first instruction, so that none can end it before it ignores them.
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    std::string file = guardian_executable(), argument = kGuardianArgument, gpu = uuid,
                number = std::to_string(fd);
    std::array<char*, 5> arguments = {file.data(), argument.data(), gpu.data(), number.data(), nullptr};
    const int error = posix_spawn(&pid_, file.c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
  }

  bool is_ready() const {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, kGuardianStartMilliseconds) != 1) return false;
    char answer = 0;
    return read(fd_, &answer, 1) == 1 && answer == kReady;
  }

  void reap() noexcept {
    close(fd_);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  int fd_ = -1;
  pid_t pid_ = 0;
};

class GpuClockLock : public ClockLock {
 public:
  GpuClockLock(NvmlDevice device, const std::string& uuid, Hertz clock)
      : device_(std::move(device)), clock_(clock), guardian_(uuid) {
    const int result = device_.lock_sm_clock(clock_);
    if (result == nvml::kSuccess) return;
    guardian_.dismiss();
    if (result == nvml::kNoPermission) {
      throw UsageError(
          "locking clocks needs root (or an administrator of this machine to do it); nothing was changed. "
          "Without it the clock of each round is measured and the time at reference clock is given");
    }
    const std::string message =
        fmt::format("locking the clock of {} at {:.0f} MHz: NVML answers '{}'; nothing was changed", uuid,
                    clock_.value() * 1e-6, device_.library().words(result));
    if (result == nvml::kNotSupported || result == nvml::kFunctionNotFound) throw UsageError(message);
    throw FailedError(message);
  }
  // If the reset fails, the guardian tries again when its socket closes.
  ~GpuClockLock() override {
    if (device_.reset_sm_clock() == nvml::kSuccess) guardian_.dismiss();
  }
  Hertz frequency() const override { return clock_; }

 private:
  NvmlDevice device_;
  Hertz clock_;
  Guardian guardian_;
};

Hertz require_supported(Hertz wanted, const std::vector<Hertz>& supported) {
  if (supported.empty())
    throw UsageError("this GPU does not tell which clocks can be locked; nothing was changed");
  const auto nearest = std::min_element(supported.begin(), supported.end(), [&](Hertz a, Hertz b) {
    return std::abs((a - wanted).value()) < std::abs((b - wanted).value());
  });
  if (*nearest == wanted) return wanted;
  throw UsageError(fmt::format(
      "this GPU has no SM clock of {:.0f} MHz: the nearest is {:.0f} MHz (it has {:.0f} to {:.0f})",
      wanted.value() * 1e-6, nearest->value() * 1e-6, supported.front().value() * 1e-6,
      supported.back().value() * 1e-6));
}

Hertz requested_clock(std::string_view request, const NvmlDevice& device) {
  if (request == "max" || request == "base") {
    const auto clock = request == "max" ? device.maximum_clock(nvml::kSmClock) : device.default_sm_clock();
    if (clock) return *clock;
    throw UsageError(fmt::format("this GPU does not tell its {} clock; give MHz", request));
  }
  return requested_megahertz(request);
}

}  // namespace

void set_guardian_executable(const std::string& path) { guardian_executable() = path; }

std::unique_ptr<ClockLock> lock_gpu_clock(const std::string& uuid, std::string_view request) {
  if (guardian_executable().empty()) {
    throw UsageError(
        "only the jitterscope command line tool can lock clocks: it brings the process that restores them");
  }
  std::string problem;
  auto device = NvmlDevice::find(uuid, &problem);
  if (!device) throw MissingError("locking clocks needs NVML: " + problem);
  const Hertz clock = require_supported(requested_clock(request, *device), device->supported_sm_clocks());
  return std::make_unique<GpuClockLock>(std::move(*device), uuid, clock);
}

int run_clock_guardian(std::string_view uuid, int fd) {
  for (const int number : kEndingSignals) signal(number, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  std::string problem;
  const auto device = NvmlDevice::find(std::string(uuid), &problem);
  const int missing = static_cast<int>(ExitCode::missing);
  if (!device) return missing;
  if (write(fd, &kReady, 1) != 1) return static_cast<int>(ExitCode::failed);
  char word = 0;
  ssize_t received = 0;
  do {
    received = read(fd, &word, 1);
  } while (received < 0 && errno == EINTR);
  if (received == 1 && word == kRestored) return static_cast<int>(ExitCode::done);
  return device->reset_sm_clock() == nvml::kSuccess ? static_cast<int>(ExitCode::done)
                                                    : static_cast<int>(ExitCode::failed);
}

}  // namespace jitterscope::cuda
