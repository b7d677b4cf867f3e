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

/// The library itself: $JITTERSCOPE_NVML where set, else libnvidia-ml.so.1.
class Nvml {
 public:
  /// Null where it is not there; `problem` then says why.
  static std::shared_ptr<const Nvml> open(std::string* problem);

  const nvml::Functions& functions() const { return functions_; }
  const std::string& path() const { return library_.path(); }
  std::string version() const;
  std::string driver_version() const;
  /// What a result code means, in NVML's words.
  std::string words(int result) const;

 private:
  explicit Nvml(SharedLibrary library);

  SharedLibrary library_;
  nvml::Functions functions_;
};

struct GpuProcess {
  unsigned pid = 0;
  std::string name;  ///< empty where NVML does not tell (another user's, or outside the container)
};

/// One GPU. What it or its driver does not have is absent.
class NvmlDevice {
 public:
  /// By UUID, never by index: CUDA_VISIBLE_DEVICES renumbers. Nothing where NVML or the GPU is not there.
  static std::optional<NvmlDevice> find(const std::string& uuid, std::string* problem);

  const Nvml& library() const { return *nvml_; }
  /// In some 10 µs. What takes milliseconds to read is read where the last time was 100 ms before `now` (of
  /// the host) or the hardware holds the clock: between two of those there is no energy, and what the
  /// hardware held is as it was.
  SensorReading read_sensors(Nanoseconds now);
  /// Of the clock now; empty where NVML does not tell.
  std::vector<std::string> clock_reasons() const;

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
  /// SM clocks that can be locked, ascending; empty where NVML does not tell.
  std::vector<Hertz> supported_sm_clocks() const;

  /// NVML's result code: nvml::kSuccess, nvml::kNoPermission, …
  int lock_sm_clock(Hertz clock) const;
  int reset_sm_clock() const;

 private:
  NvmlDevice(std::shared_ptr<const Nvml> library, nvml::Handle handle)
      : nvml_(std::move(library)), handle_(handle) {}
  const nvml::Functions& functions() const { return nvml_->functions(); }
  template <std::size_t count>
  using FieldNumbers = std::array<std::optional<double>, count>;
  template <std::size_t count>
  FieldNumbers<count> read_fields(const std::array<nvml::Field, count>& wanted) const;
  void read_slow_sensors(SensorReading& reading, Nanoseconds now);

  std::shared_ptr<const Nvml> nvml_;
  nvml::Handle handle_;
  std::optional<Nanoseconds> slow_read_;  // when, on the host's clock
  std::optional<Nanoseconds> throttled_by_hardware_, throttled_by_brake_;
};

// Who else uses the GPU.

/// All but this process, as "pid name". This process holds a context, so NVML lists it; where its pid is not
/// among them (NVML tells pids of the host, a container has its own) one entry that could be it is left out.
std::vector<std::string> others_among(std::vector<GpuProcess> processes, unsigned own_pid);

}  // namespace jitterscope::cuda
