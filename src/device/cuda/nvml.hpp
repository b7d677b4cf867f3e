// Sensors, limits and clocks of a GPU by NVML, opened at run time. Needs no CUDA context and no CUDA header.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_library.hpp"
#include "device/cuda/nvml_functions.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// The library itself: $JITTERSCOPE_NVML if set, else libnvidia-ml.so.1.
class Nvml {
 public:
  /// Returns null if NVML cannot be used; `problem` then says why.
  static std::shared_ptr<const Nvml> open(std::string* problem);

  const nvml::Functions& functions() const { return functions_; }
  const std::string& path() const { return library_.path(); }
  std::string version() const;
  std::string driver_version() const;
  /// Returns NVML's text for a result code.
  std::string words(int result) const;

 private:
  explicit Nvml(SharedLibrary library);

  SharedLibrary library_;
  nvml::Functions functions_;
};

struct GpuProcess {
  unsigned pid = 0;
  std::string name;  ///< empty if NVML does not tell (another user's, or outside the container)
};

/// One GPU. Values that it or its driver does not have are absent.
class NvmlDevice {
 public:
  /// Finds it by UUID: CUDA_VISIBLE_DEVICES renumbers indices. nullopt if NVML or the GPU is not there.
  static std::optional<NvmlDevice> find(const std::string& uuid, std::string* problem);
  /// Returns all GPUs of the machine, in NVML's order. Empty if NVML cannot be used, or knows none; `problem`
  /// then says why.
  static std::vector<NvmlDevice> all(std::string* problem);

  const Nvml& library() const { return *nvml_; }
  const nvml::Functions& functions() const { return nvml_->functions(); }
  nvml::Handle handle() const { return handle_; }
  /// Takes about 10 µs. Sensors that take milliseconds (energy, slowdowns by hardware) are read only if the
  /// last time was 100 ms before `now` (host time) or the hardware holds the clock down. In between there is
  /// no energy, and the slowdowns keep their last values.
  SensorReading read_sensors(Nanoseconds now);
  /// Reasons that hold the clock down now; empty if NVML does not tell.
  std::vector<std::string> clock_reasons() const;
  /// The same as NVML has them, a bit each.
  std::optional<unsigned long long> clock_reason_bits() const;

  std::string uuid() const;
  std::string name() const;
  std::optional<Hertz> clock(nvml::Clock clock) const;
  std::optional<Hertz> maximum_clock(nvml::Clock clock) const;
  std::optional<Hertz> default_sm_clock() const;
  std::optional<Watts> power_limit() const;
  std::optional<Celsius> slowdown_temperature() const;
  std::optional<Watts> default_power_limit() const;
  std::optional<bool> persistence() const;
  std::optional<bool> ecc() const;
  std::optional<bool> mig() const;
  std::optional<std::string> virtualisation() const;  ///< none, passthrough, vgpu, host
  std::optional<std::vector<GpuProcess>> processes() const;
  /// SM clocks that can be locked, ascending; empty if NVML does not tell.
  std::vector<Hertz> supported_sm_clocks() const;

  /// Return NVML's result code: nvml::kSuccess, nvml::kNoPermission, …
  int lock_sm_clock(Hertz clock) const;
  int reset_sm_clock() const;

 private:
  NvmlDevice(std::shared_ptr<const Nvml> library, nvml::Handle handle)
      : nvml_(std::move(library)), handle_(handle) {}
  template <std::size_t count>
  using FieldNumbers = std::array<std::optional<double>, count>;
  template <std::size_t count>
  FieldNumbers<count> read_fields(const std::array<nvml::Field, count>& wanted) const;
  void read_slow_sensors(SensorReading& reading, Nanoseconds now);

  std::shared_ptr<const Nvml> nvml_;
  nvml::Handle handle_;
  std::optional<Nanoseconds> slow_read_;  // host time of the last reading
  std::optional<Nanoseconds> throttled_by_hardware_, throttled_by_brake_;
};

// Other processes that use the GPU.

/// Returns all but this process, as "pid name". NVML lists this process, which holds a context. If its pid is
/// not in the list (NVML tells host pids, a container has its own), one entry that could be it is left out.
std::vector<std::string> others_among(std::vector<GpuProcess> processes, unsigned own_pid);

}  // namespace jitterscope::cuda
