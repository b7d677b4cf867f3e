#include "device/cuda/nvml.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace jitterscope::cuda {
namespace {

using namespace nvml;

// Reading energy takes 3.0 to 3.8 ms on an H200, slowdowns by hardware 0.9 to 1.1 ms, all others 2 µs
// (benchmarks/sensors; the driver counts energy each 100 ms). After each round of 1 ms they took a sixth of
// the time of measuring a network, and under a load without pause the GPU ran out of short launches.
constexpr Nanoseconds kBetweenSlowReads = milliseconds(100);

constexpr std::array<std::pair<unsigned long long, const char*>, 9> kClockReasons = {{
    {0x1, "idle"},
    {0x2, "applications_clocks"},
    {0x4, "power_cap"},
    {0x8, "hardware"},
    {0x10, "sync_boost"},
    {0x20, "thermal"},
    {0x40, "hardware_thermal"},
    {0x80, "power_brake"},
    {0x100, "display"},
}};

bool is_by_hardware(const std::string& reason) {
  return reason == "hardware" || reason == "hardware_thermal" || reason == "power_brake";
}

std::optional<Hertz> as_clock(std::optional<unsigned> mhz) {
  if (!mhz || *mhz == 0) return std::nullopt;
  return megahertz(*mhz);
}
std::optional<Watts> as_power(std::optional<unsigned> milliwatts) {
  if (!milliwatts) return std::nullopt;
  return Watts(*milliwatts * 1e-3);
}

std::optional<double> number_in(const FieldValue& field) {
  if (field.result != kSuccess) return std::nullopt;
  switch (field.type) {
    case kDouble: return field.value.real;
    case kUint32: return field.value.u32;
    case kUlong:
    case kUint64: return static_cast<double>(field.value.u64);
    case kInt64: return static_cast<double>(field.value.i64);
    case kInt32: return field.value.i32;
    case kUint16: return field.value.u16;
    default: return std::nullopt;
  }
}

template <class Function, class... Arguments>
std::string text_of(Function* function, Arguments... arguments) {
  std::array<char, 96> text{};
  if (call(function, arguments..., text.data(), static_cast<unsigned>(text.size())) != kSuccess) return {};
  return text.data();
}

// Asks for the count, then for that many. Some functions answer the first question with success.
template <class Item, class Ask>
std::optional<std::vector<Item>> read_list(Ask ask) {
  constexpr unsigned kSpare = 16;  // the list may grow between the two calls
  unsigned count = 0;
  int result = ask(&count, static_cast<Item*>(nullptr));
  if (result != kSuccess && result != kInsufficientSize) return std::nullopt;
  if (count == 0) return std::vector<Item>();
  count += kSpare;
  std::vector<Item> items(count);
  result = ask(&count, items.data());
  if (result != kSuccess) return std::nullopt;
  items.resize(count);
  return items;
}

}  // namespace

Nvml::Nvml(SharedLibrary library) : library_(std::move(library)) {
#define JITTERSCOPE_FIND(name, parameters) functions_.name = library_.find_function<int parameters>(#name);
  JITTERSCOPE_NVML_FUNCTIONS(JITTERSCOPE_FIND)
#undef JITTERSCOPE_FIND
  functions_.nvmlErrorString = library_.find_function<const char*(int)>("nvmlErrorString");
}

std::shared_ptr<const Nvml> Nvml::open(std::string* problem) {
  const char* chosen = std::getenv("JITTERSCOPE_NVML");
  auto library = SharedLibrary::open({chosen != nullptr ? chosen : "libnvidia-ml.so.1"}, {}, problem);
  if (!library) return nullptr;
  std::shared_ptr<const Nvml> nvml(new Nvml(std::move(*library)));
  const int result = call(nvml->functions_.nvmlInit_v2);
  if (result == kSuccess) return nvml;
  if (problem != nullptr) *problem = nvml->path() + ": nvmlInit_v2 answers '" + nvml->words(result) + "'";
  return nullptr;
}

std::string Nvml::version() const { return text_of(functions_.nvmlSystemGetNVMLVersion); }
std::string Nvml::driver_version() const { return text_of(functions_.nvmlSystemGetDriverVersion); }

std::string Nvml::words(int result) const {
  if (functions_.nvmlErrorString != nullptr) return functions_.nvmlErrorString(result);
  return result == kFunctionNotFound ? "function not found" : "error " + std::to_string(result);
}

std::optional<NvmlDevice> NvmlDevice::find(const std::string& uuid, std::string* problem) {
  auto library = Nvml::open(problem);
  if (!library) return std::nullopt;
  Handle handle = nullptr;
  const int result = call(library->functions().nvmlDeviceGetHandleByUUID, uuid.c_str(), &handle);
  if (result == kSuccess) return NvmlDevice(std::move(library), handle);
  if (problem != nullptr) *problem = "NVML does not know " + uuid + ": " + library->words(result);
  return std::nullopt;
}

std::vector<NvmlDevice> NvmlDevice::all(std::string* problem) {
  std::vector<NvmlDevice> devices;
  const auto library = Nvml::open(problem);
  if (!library) return devices;
  const auto count = read<unsigned>(library->functions().nvmlDeviceGetCount_v2);
  for (unsigned index = 0; index < count.value_or(0); ++index) {
    Handle handle = nullptr;
    // One that has fallen off the bus is no reason to do without the others.
    if (call(library->functions().nvmlDeviceGetHandleByIndex_v2, index, &handle) == kSuccess)
      devices.push_back(NvmlDevice(library, handle));
  }
  if (devices.empty() && problem != nullptr) *problem = library->path() + " knows no GPU";
  return devices;
}

std::string NvmlDevice::uuid() const { return text_of(functions().nvmlDeviceGetUUID, handle_); }
std::string NvmlDevice::name() const { return text_of(functions().nvmlDeviceGetName, handle_); }

SensorReading NvmlDevice::read_sensors(Nanoseconds now) {
  SensorReading reading;
  reading.sm_clock = clock(kSmClock);
  reading.memory_clock = clock(kMemoryClock);
  if (const auto celsius = read<unsigned>(functions().nvmlDeviceGetTemperature, handle_, kGpuTemperature)) {
    reading.temperature = Celsius(*celsius);
  }
  reading.clock_reasons = clock_reasons();
  const FieldNumbers<3> quick =
      read_fields<3>({kInstantPower, kThrottledByPowerCap, kThrottledBySoftwareThermal});
  if (quick[0]) reading.power = Watts(*quick[0] * 1e-3);
  if (!reading.power) reading.power = as_power(read<unsigned>(functions().nvmlDeviceGetPowerUsage, handle_));
  if (quick[1]) reading.throttled_power = Nanoseconds(*quick[1]);

  const bool is_held = std::ranges::any_of(reading.clock_reasons, is_by_hardware);
  if (is_held || !slow_read_ || now - *slow_read_ >= kBetweenSlowReads) read_slow_sensors(reading, now);
  if (quick[2] || throttled_by_hardware_) {
    reading.throttled_thermal =
        Nanoseconds(quick[2].value_or(0)) + throttled_by_hardware_.value_or(Nanoseconds(0));
  }
  reading.throttled_brake = throttled_by_brake_;
  return reading;
}

void NvmlDevice::read_slow_sensors(SensorReading& reading, Nanoseconds now) {
  slow_read_ = now;
  const FieldNumbers<3> slow = read_fields<3>({kEnergy, kThrottledByHardwareThermal, kThrottledByPowerBrake});
  if (slow[0]) {
    reading.energy = Joules(*slow[0] * 1e-3);
  } else {
    const auto energy = read<unsigned long long>(functions().nvmlDeviceGetTotalEnergyConsumption, handle_);
    if (energy) reading.energy = Joules(static_cast<double>(*energy) * 1e-3);
  }
  if (slow[1]) throttled_by_hardware_ = Nanoseconds(*slow[1]);
  if (slow[2]) throttled_by_brake_ = Nanoseconds(*slow[2]);
}

template <std::size_t count>
NvmlDevice::FieldNumbers<count> NvmlDevice::read_fields(const std::array<Field, count>& wanted) const {
  std::array<FieldValue, count> fields{};
  for (std::size_t i = 0; i < count; ++i) fields[i].field = wanted[i];
  FieldNumbers<count> numbers;
  const int result =
      call(functions().nvmlDeviceGetFieldValues, handle_, static_cast<int>(count), fields.data());
  if (result != kSuccess) return numbers;
  for (std::size_t i = 0; i < count; ++i) numbers[i] = number_in(fields[i]);
  return numbers;
}

std::optional<unsigned long long> NvmlDevice::clock_reason_bits() const {
  const auto reasons = read<unsigned long long>(functions().nvmlDeviceGetCurrentClocksEventReasons, handle_);
  if (reasons) return reasons;
  // The function's name before driver 535.
  return read<unsigned long long>(functions().nvmlDeviceGetCurrentClocksThrottleReasons, handle_);
}

std::vector<std::string> NvmlDevice::clock_reasons() const {
  const auto reasons = clock_reason_bits();
  std::vector<std::string> names;
  for (const auto& [bit, name] : kClockReasons) {
    if ((reasons.value_or(0) & bit) != 0) names.emplace_back(name);
  }
  return names;
}

std::optional<Hertz> NvmlDevice::clock(Clock clock) const {
  return as_clock(read<unsigned>(functions().nvmlDeviceGetClockInfo, handle_, static_cast<int>(clock)));
}

std::optional<Hertz> NvmlDevice::maximum_clock(Clock clock) const {
  return as_clock(read<unsigned>(functions().nvmlDeviceGetMaxClockInfo, handle_, static_cast<int>(clock)));
}

std::optional<Hertz> NvmlDevice::default_sm_clock() const {
  const auto clock =
      read<unsigned>(functions().nvmlDeviceGetDefaultApplicationsClock, handle_, kGraphicsClock);
  if (clock) return as_clock(clock);
  return as_clock(
      read<unsigned>(functions().nvmlDeviceGetClock, handle_, kGraphicsClock, kDefaultApplicationsClock));
}

std::optional<Watts> NvmlDevice::power_limit() const {
  return as_power(read<unsigned>(functions().nvmlDeviceGetEnforcedPowerLimit, handle_));
}
std::optional<Watts> NvmlDevice::default_power_limit() const {
  return as_power(read<unsigned>(functions().nvmlDeviceGetPowerManagementDefaultLimit, handle_));
}

std::optional<Celsius> NvmlDevice::slowdown_temperature() const {
  const auto celsius = read<unsigned>(functions().nvmlDeviceGetTemperatureThreshold, handle_, kSlowdown);
  if (!celsius || *celsius == 0) return std::nullopt;
  return Celsius(*celsius);
}

std::optional<bool> NvmlDevice::persistence() const {
  const auto mode = read<int>(functions().nvmlDeviceGetPersistenceMode, handle_);
  return mode ? std::optional(*mode != 0) : std::nullopt;
}

std::optional<bool> NvmlDevice::ecc() const {
  int current = 0, pending = 0;
  if (call(functions().nvmlDeviceGetEccMode, handle_, &current, &pending) != kSuccess) return std::nullopt;
  return current != 0;
}

std::optional<bool> NvmlDevice::mig() const {
  unsigned current = 0, pending = 0;
  if (call(functions().nvmlDeviceGetMigMode, handle_, &current, &pending) != kSuccess) return std::nullopt;
  return current != 0;
}

std::optional<std::string> NvmlDevice::virtualisation() const {
  const auto mode = read<int>(functions().nvmlDeviceGetVirtualizationMode, handle_);
  if (!mode) return std::nullopt;
  switch (*mode) {
    case 0: return "none";
    case 1: return "passthrough";
    case 2: return "vgpu";
    default: return "host";
  }
}

std::optional<std::vector<GpuProcess>> NvmlDevice::processes() const {
  const auto list = read_list<ProcessInfo>([&](unsigned* count, ProcessInfo* items) {
    return call(functions().nvmlDeviceGetComputeRunningProcesses_v3, handle_, count, items);
  });
  if (!list) return std::nullopt;
  std::vector<GpuProcess> processes;
  for (const ProcessInfo& info : *list) {
    std::array<char, 256> name{};
    const int result =
        call(functions().nvmlSystemGetProcessName, info.pid, name.data(), static_cast<unsigned>(name.size()));
    processes.push_back({info.pid, result == kSuccess ? name.data() : ""});
  }
  return processes;
}

std::vector<Hertz> NvmlDevice::supported_sm_clocks() const {
  const auto memory_clocks = read_list<unsigned>([&](unsigned* count, unsigned* items) {
    return call(functions().nvmlDeviceGetSupportedMemoryClocks, handle_, count, items);
  });
  if (!memory_clocks || memory_clocks->empty()) return {};
  // Work runs at the fastest memory clock, which also has the most SM clocks.
  const unsigned fastest = *std::max_element(memory_clocks->begin(), memory_clocks->end());
  const auto sm_clocks = read_list<unsigned>([&](unsigned* count, unsigned* items) {
    return call(functions().nvmlDeviceGetSupportedGraphicsClocks, handle_, fastest, count, items);
  });
  if (!sm_clocks) return {};
  std::vector<Hertz> clocks;
  for (const unsigned mhz : *sm_clocks) clocks.push_back(megahertz(mhz));
  std::sort(clocks.begin(), clocks.end());
  return clocks;
}

int NvmlDevice::lock_sm_clock(Hertz clock) const {
  const auto mhz = static_cast<unsigned>(std::lround(clock.value() * 1e-6));
  return call(functions().nvmlDeviceSetGpuLockedClocks, handle_, mhz, mhz);
}
int NvmlDevice::reset_sm_clock() const { return call(functions().nvmlDeviceResetGpuLockedClocks, handle_); }

std::vector<std::string> others_among(std::vector<GpuProcess> processes, unsigned own_pid) {
  const auto has_own_pid = [own_pid](const GpuProcess& process) { return process.pid == own_pid; };
  auto own = std::find_if(processes.begin(), processes.end(), has_own_pid);
  // In a container, only names of the container's own processes can be read here.
  const auto has_name = [](const GpuProcess& process) { return !process.name.empty(); };
  if (own == processes.end()) own = std::find_if(processes.begin(), processes.end(), has_name);
  if (own == processes.end() && !processes.empty()) own = std::prev(processes.end());
  if (own != processes.end()) processes.erase(own);
  std::vector<std::string> others;
  for (const GpuProcess& process : processes) {
    others.push_back(std::to_string(process.pid) + " " +
                     (process.name.empty() ? "(name hidden)" : process.name));
  }
  return others;
}

}  // namespace jitterscope::cuda
