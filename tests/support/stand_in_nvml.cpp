// An NVML library without a GPU: fixed answers, and clock changes written to a file. It lacks some functions
// (nvmlDeviceGetClock, nvmlDeviceGetVirtualizationMode, …), as old drivers do.
#include "support/stand_in_nvml.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "device/cuda/nvml_functions.hpp"

using namespace jitterscope;
using namespace jitterscope::cuda::nvml;

namespace {

int device_storage, second_storage;
std::uint64_t hardware_slowdown = 0;  // nanoseconds
const Handle kDevice = reinterpret_cast<Handle>(&device_storage);
const Handle kSecond = reinterpret_cast<Handle>(&second_storage);
constexpr const char* kBusIds[] = {"00000000:18:00.0", "00000000:2A:00.0", "00000000:3A:00.0"};
constexpr unsigned kLinks = 4;

bool missing(const char* function) {
  const char* list = std::getenv(stand_in::kMissing);
  return list != nullptr &&
         (std::string(",") + list + ",").find(std::string(",") + function + ",") != std::string::npos;
}

template <class Value>
int answer(const char* function, Handle device, Value* out, Value value) {
  if (missing(function)) return kFunctionNotFound;
  if (device != kDevice && device != kSecond) return kInvalidArgument;
  *out = value;
  return kSuccess;
}

template <class Value>
int answer_link(const char* function, Handle device, unsigned link, Value* out, Value value) {
  return link < kLinks ? answer(function, device, out, value) : static_cast<int>(kInvalidArgument);
}

int change(const char* function, const std::string& line) {
  if (missing(function)) return kFunctionNotFound;
  if (std::getenv(stand_in::kNoPermission) != nullptr) return kNoPermission;
  const int file = open(std::getenv(stand_in::kStateFile), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(file);
  return written ? kSuccess : kInvalidArgument;
}

int list(unsigned* count, unsigned* out, unsigned first, unsigned last, unsigned step) {
  const unsigned needed = (last - first) / step + 1;
  const unsigned room = *count;
  *count = needed;
  if (room < needed || out == nullptr) return kInsufficientSize;
  for (unsigned i = 0; i < needed; ++i) out[i] = last - i * step;  // descending, as NVML lists them
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return missing("nvmlInit_v2") ? kFunctionNotFound : kSuccess; }
const char* nvmlErrorString(int result) {
  if (result == kFunctionNotFound) return "Function Not Found";
  return result == kNoPermission ? "Insufficient Permissions" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.00.00");
  return kSuccess;
}
int nvmlSystemGetProcessName(unsigned pid, char* text, unsigned size) {
  if (pid != 4242) return kNoPermission;
  std::snprintf(text, size, "/usr/bin/train");
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const char* gpus = std::getenv(stand_in::kGpus);
  *count = std::getenv(stand_in::kNoGpu) != nullptr ? 0 : gpus == nullptr ? 1 : std::atoi(gpus);
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
  if (index > 1) return kInvalidArgument;
  *device = index == 0 ? kDevice : kSecond;
  return kSuccess;
}
int nvmlDeviceGetUUID(Handle device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", device == kDevice ? stand_in::kUuid : stand_in::kSecondUuid);
  return kSuccess;
}
int nvmlDeviceGetName(Handle, char* text, unsigned size) {
  std::snprintf(text, size, "NVIDIA H200");
  return kSuccess;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, Handle* device) {
  const bool is_first = std::strcmp(uuid, stand_in::kUuid) == 0;
  if (!is_first && std::strcmp(uuid, stand_in::kSecondUuid) != 0) return 6;  // not found
  *device = is_first ? kDevice : kSecond;
  return kSuccess;
}
int nvmlDeviceGetClockInfo(Handle device, int clock, unsigned* mhz) {
  return answer("nvmlDeviceGetClockInfo", device, mhz, clock == kMemoryClock ? 3201u : 1755u);
}
int nvmlDeviceGetMaxClockInfo(Handle device, int clock, unsigned* mhz) {
  return answer("nvmlDeviceGetMaxClockInfo", device, mhz,
                clock == kMemoryClock ? 3201u : stand_in::kMaximumMegahertz);
}
int nvmlDeviceGetDefaultApplicationsClock(Handle device, int, unsigned* mhz) {
  return answer("nvmlDeviceGetDefaultApplicationsClock", device, mhz, stand_in::kBaseMegahertz);
}
int nvmlDeviceGetPowerUsage(Handle device, unsigned* milliwatts) {
  return answer("nvmlDeviceGetPowerUsage", device, milliwatts, 400000u);
}
int nvmlDeviceGetTotalEnergyConsumption(Handle device, unsigned long long* millijoules) {
  return answer("nvmlDeviceGetTotalEnergyConsumption", device, millijoules, 5000000ull);
}
int nvmlDeviceGetTemperature(Handle device, int, unsigned* celsius) {
  return answer("nvmlDeviceGetTemperature", device, celsius, 47u);
}
int nvmlDeviceGetCurrentClocksEventReasons(Handle device, unsigned long long* reasons) {
  const bool is_braked = std::getenv(stand_in::kBraked) != nullptr;
  return answer("nvmlDeviceGetCurrentClocksEventReasons", device, reasons, is_braked ? 0x80ull : 0x24ull);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Handle device, unsigned long long* reasons) {
  return answer("nvmlDeviceGetCurrentClocksThrottleReasons", device, reasons, 0x1ull);
}
int nvmlDeviceGetPersistenceMode(Handle device, int* mode) {
  return answer("nvmlDeviceGetPersistenceMode", device, mode, 1);
}
int nvmlDeviceGetFieldValues(Handle, int count, FieldValue* fields) {
  if (missing("nvmlDeviceGetFieldValues")) return kFunctionNotFound;
  for (int i = 0; i < count; ++i) {
    fields[i].result = kSuccess;
    fields[i].type = kUint64;
    switch (fields[i].field) {
      case kInstantPower:
        fields[i].type = kUint32;
        fields[i].value.u32 = 512500;
        break;
      case kThrottledByPowerCap: fields[i].value.u64 = 7000000; break;
      case kThrottledBySoftwareThermal: fields[i].value.u64 = 1000; break;
      // What is slow on a GPU grows with each read, so that a test sees when it is read.
      case kThrottledByHardwareThermal: fields[i].value.u64 = hardware_slowdown += 200; break;
      default: fields[i].result = kNotSupported;
    }
  }
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Handle, unsigned* count, ProcessInfo* out) {
  const unsigned room = *count;
  *count = 2;
  if (room < 2 || out == nullptr) return kInsufficientSize;
  out[0] = {.pid = 4242, .memory = 0, .gpu_instance = 0, .compute_instance = 0};
  out[1] = {.pid = 77, .memory = 0, .gpu_instance = 0, .compute_instance = 0};
  return kSuccess;
}
int nvmlDeviceGetSupportedMemoryClocks(Handle, unsigned* count, unsigned* out) {
  if (missing("nvmlDeviceGetSupportedMemoryClocks")) return kFunctionNotFound;
  return list(count, out, 1593, 3201, 1608);
}
int nvmlDeviceGetSupportedGraphicsClocks(Handle, unsigned memory_mhz, unsigned* count, unsigned* out) {
  if (memory_mhz != 3201) return list(count, out, 345, 345, 1);
  return list(count, out, stand_in::kMinimumMegahertz, stand_in::kMaximumMegahertz, stand_in::kStepMegahertz);
}
int nvmlDeviceSetGpuLockedClocks(Handle, unsigned low, unsigned high) {
  return change("nvmlDeviceSetGpuLockedClocks",
                "lock " + std::to_string(low) + " " + std::to_string(high) + "\n");
}
int nvmlDeviceGetPciInfo_v3(Handle device, PciInfo* info) {
  std::strcpy(info->bus_id, kBusIds[device == kDevice ? 0 : 1]);
  return missing("nvmlDeviceGetPciInfo_v3") ? kFunctionNotFound : kSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(Handle device, unsigned* generation) {
  return answer("nvmlDeviceGetCurrPcieLinkGeneration", device, generation, 1u);
}
int nvmlDeviceGetCurrPcieLinkWidth(Handle device, unsigned* width) {
  return answer("nvmlDeviceGetCurrPcieLinkWidth", device, width, 8u);
}
int nvmlDeviceGetMaxPcieLinkGeneration(Handle device, unsigned* generation) {
  return answer("nvmlDeviceGetMaxPcieLinkGeneration", device, generation, 5u);
}
int nvmlDeviceGetMaxPcieLinkWidth(Handle device, unsigned* width) {
  return answer("nvmlDeviceGetMaxPcieLinkWidth", device, width, 16u);
}
int nvmlDeviceGetNvLinkState(Handle device, unsigned link, int* is_active) {
  return answer_link("nvmlDeviceGetNvLinkState", device, link, is_active,
                     link == 1 && device == kDevice ? 0 : 1);
}
int nvmlDeviceGetNvLinkVersion(Handle device, unsigned link, unsigned* version) {
  return answer_link("nvmlDeviceGetNvLinkVersion", device, link, version, link == 3 ? 4u : 5u);
}
int nvmlDeviceGetNvLinkErrorCounter(Handle device, unsigned link, int counter, unsigned long long* value) {
  return answer_link("nvmlDeviceGetNvLinkErrorCounter", device, link, value,
                     counter == kReplays ? 10ull + link : 1000ull);
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Handle device, unsigned link, int* type) {
  return answer_link("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, type,
                     static_cast<int>(device == kDevice ? kRemoteGpu : kRemoteSwitch));
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle device, unsigned link, PciInfo* info) {
  if (device == kSecond) return kNotSupported;
  std::strcpy(info->bus_id, kBusIds[link == 2 ? 2 : 1]);
  return kSuccess;
}
int nvmlDeviceGetP2PStatus(Handle first, Handle, int ability, int* status) {
  const int answered = ability == kPeerReads ? kPeerOk : ability == kPeerWrites ? kPeerSwitchedOff : 77;
  return answer("nvmlDeviceGetP2PStatus", first, status, answered);
}
int nvmlDeviceGetTopologyCommonAncestor(Handle first, Handle, int* level) {
  return answer("nvmlDeviceGetTopologyCommonAncestor", first, level, static_cast<int>(kNode));
}
int nvmlDeviceGetGpuFabricInfo(Handle device, FabricInfo* info) {
  FabricInfo fabric;
  fabric.state = kFabricReady;
  fabric.status = device == kDevice ? kSuccess : kNoPermission;
  return answer("nvmlDeviceGetGpuFabricInfo", device, info, fabric);
}
int nvmlDeviceResetGpuLockedClocks(Handle) { return change("nvmlDeviceResetGpuLockedClocks", "reset\n"); }

}  // extern "C"
