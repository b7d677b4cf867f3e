// NCCL, opened at run time, and this process's communicator. Needs no CUDA header.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "device/cuda/nccl_functions.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

/// Opens libnccl.so.2 on first use: the process's copy if it has one, as a process with PyTorch has. Throws
/// MissingError with what to install.
const nccl::Functions& require_nccl();

/// Throws FailedError "WHAT: NCCL's words (its last message)" unless success.
void check_nccl(int result, std::string_view what);

/// Describes NCCL for `doctor` and the record; never throws.
LibraryInfo nccl_library();

/// Returns the settings that NCCL reads, sorted: "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0". Empty if there are
/// none.
std::string nccl_environment();

/// Returns "2.28.9" for 22809, and "2.7.8" for 2708, as NCCL before 2.9 has it.
std::string nccl_version_text(int code);

/// The communicator of this process, whose GPU's context must be current. One process for each GPU: a thread
/// for each may deadlock when graphs are recorded (NCCL's guide).
class Communicator {
 public:
  /// How long a wait may last while no error is known. A rank that ends is noticed by the process that
  /// started it; this is for those that nobody watches, and for ranks that call different collectives.
  static constexpr Nanoseconds kWaitLimit = seconds(60);

  /// Waits until all ranks have called it; each must have a GPU of its own. Throws MissingError without NCCL,
  /// UsageError if the ranks' versions of NCCL differ, FailedError if the unique id did not arrive, or if
  /// NCCL fails.
  explicit Communicator(Ranks& ranks, Nanoseconds wait_limit = kWaitLimit);
  /// The context must still be there.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int count() const { return count_; }
  /// Throws FailedError after a wait has failed.
  nccl::Handle handle() const;

  /// Calls `is_done` until it returns true, and asks NCCL for errors meanwhile. `pause` is called in between.
  /// If NCCL reports one, or after the limit, it aborts the communicator, which ends all collectives on the
  /// GPU, and throws FailedError.
  void wait(const std::function<bool()>& is_done, const std::function<void()>& pause = {});

 private:
  [[noreturn]] void fail(const std::string& why);

  int rank_, count_;
  Nanoseconds wait_limit_;
  nccl::Handle handle_ = nullptr;
};

}  // namespace jitterscope::cuda
