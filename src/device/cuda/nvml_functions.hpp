// NVML's stable binary interface, declared here because nvml.h is part of no driver package. An older driver
// may lack a function. Names, numbers and layouts follow nvml.h.
#pragma once

#include <cstdint>
#include <optional>

namespace jitterscope::cuda::nvml {

using Handle = struct NvmlDeviceHandle*;

enum Result : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kInsufficientSize = 7,
  kFunctionNotFound = 13,
};

enum Clock : int { kGraphicsClock = 0, kSmClock = 1, kMemoryClock = 2 };
inline constexpr int kGpuTemperature = 0;
inline constexpr int kSlowdown = 1;                  // an nvmlTemperatureThresholds_t
inline constexpr int kDefaultApplicationsClock = 2;  // a clock id of nvmlDeviceGetClock

enum Field : std::uint32_t {
  kThrottledByPowerCap = 74,  // all throttle fields: cumulative nanoseconds
  kEnergy = 83,               // millijoules
  kInstantPower = 186,  // milliwatts; nvmlDeviceGetPowerUsage averages over 1 s on most GPUs since Ampere
  kThrottledBySoftwareThermal = 269,
  kThrottledByHardwareThermal = 270,
  kThrottledByPowerBrake = 271,
};

enum ValueType : int {
  kDouble = 0,
  kUint32 = 1,
  kUlong = 2,
  kUint64 = 3,
  kInt64 = 4,
  kInt32 = 5,
  kUint16 = 6
};

struct FieldValue {
  std::uint32_t field = 0, scope = 0;
  std::int64_t timestamp = 0, latency = 0;
  int type = 0;
  int result = kNotSupported;
  union {
    double real;
    std::uint32_t u32;
    std::uint64_t u64;
    std::int64_t i64;
    std::int32_t i32;
    std::uint16_t u16;
  } value{};
};
static_assert(sizeof(FieldValue) == 40);

struct ProcessInfo {  // layout for nvmlDeviceGetComputeRunningProcesses_v3
  std::uint32_t pid = 0;
  std::uint64_t memory = 0;
  std::uint32_t gpu_instance = 0, compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);

// Links between GPUs, and to the host.

enum NvLinkErrors : int { kReplays = 0, kRecoveries = 1 };
enum RemoteDevice : int { kRemoteGpu = 0, kRemoteSwitch = 2 };
/// Abilities of one GPU in another one's memory, and NVML's answers.
enum PeerAbility : int { kPeerReads = 0, kPeerWrites = 1, kPeerNvLink = 2, kPeerAtomics = 3 };
enum PeerStatus : int {
  kPeerOk = 0,
  kPeerNotByChipset = 1,
  kPeerNotByGpu = 2,
  kPeerNotByTopology = 3,
  kPeerSwitchedOff = 4,
  kPeerNotSupported = 5,
};
/// Where the ways of two GPUs to the host meet.
enum CommonAncestor : int {
  kSameBoard = 0,
  kOneSwitch = 10,
  kSeveralSwitches = 20,
  kHostBridge = 30,
  kNode = 40,
  kSystem = 50,
};

struct PciInfo {  // nvmlPciInfo_t
  char legacy_bus_id[16] = {};
  std::uint32_t domain = 0, bus = 0, device = 0, device_id = 0, subsystem_id = 0;
  char bus_id[32] = {};
};
static_assert(sizeof(PciInfo) == 68);

enum FabricState : std::uint8_t {
  kNoFabric = 0,
  kFabricNotStarted = 1,
  kFabricInProgress = 2,
  kFabricReady = 3
};
struct FabricInfo {  // nvmlGpuFabricInfo_t
  std::uint8_t cluster[16] = {};
  int status = kSuccess;  ///< a Result: whether joining the fabric worked
  std::uint32_t clique = 0;
  std::uint8_t state = kNoFabric;
};
static_assert(sizeof(FabricInfo) == 28);

// X(name, parameters)
#define JITTERSCOPE_NVML_FUNCTIONS(X)                                               \
  X(nvmlInit_v2, ())                                                                \
  X(nvmlSystemGetDriverVersion, (char*, unsigned))                                  \
  X(nvmlSystemGetNVMLVersion, (char*, unsigned))                                    \
  X(nvmlSystemGetProcessName, (unsigned, char*, unsigned))                          \
  X(nvmlDeviceGetCount_v2, (unsigned*))                                             \
  X(nvmlDeviceGetHandleByIndex_v2, (unsigned, Handle*))                             \
  X(nvmlDeviceGetHandleByUUID, (const char*, Handle*))                              \
  X(nvmlDeviceGetUUID, (Handle, char*, unsigned))                                   \
  X(nvmlDeviceGetName, (Handle, char*, unsigned))                                   \
  X(nvmlDeviceGetClockInfo, (Handle, int, unsigned*))                               \
  X(nvmlDeviceGetMaxClockInfo, (Handle, int, unsigned*))                            \
  X(nvmlDeviceGetClock, (Handle, int, int, unsigned*))                              \
  X(nvmlDeviceGetDefaultApplicationsClock, (Handle, int, unsigned*))                \
  X(nvmlDeviceGetPowerUsage, (Handle, unsigned*))                                   \
  X(nvmlDeviceGetEnforcedPowerLimit, (Handle, unsigned*))                           \
  X(nvmlDeviceGetPowerManagementDefaultLimit, (Handle, unsigned*))                  \
  X(nvmlDeviceGetTemperature, (Handle, int, unsigned*))                             \
  X(nvmlDeviceGetTemperatureThreshold, (Handle, int, unsigned*))                    \
  X(nvmlDeviceGetTotalEnergyConsumption, (Handle, unsigned long long*))             \
  X(nvmlDeviceGetCurrentClocksEventReasons, (Handle, unsigned long long*))          \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, (Handle, unsigned long long*))       \
  X(nvmlDeviceGetFieldValues, (Handle, int, FieldValue*))                           \
  X(nvmlDeviceGetComputeRunningProcesses_v3, (Handle, unsigned*, ProcessInfo*))     \
  X(nvmlDeviceGetPersistenceMode, (Handle, int*))                                   \
  X(nvmlDeviceGetEccMode, (Handle, int*, int*))                                     \
  X(nvmlDeviceGetMigMode, (Handle, unsigned*, unsigned*))                           \
  X(nvmlDeviceGetVirtualizationMode, (Handle, int*))                                \
  X(nvmlDeviceGetSupportedMemoryClocks, (Handle, unsigned*, unsigned*))             \
  X(nvmlDeviceGetSupportedGraphicsClocks, (Handle, unsigned, unsigned*, unsigned*)) \
  X(nvmlDeviceSetGpuLockedClocks, (Handle, unsigned, unsigned))                     \
  X(nvmlDeviceResetGpuLockedClocks, (Handle))                                       \
  X(nvmlDeviceGetPciInfo_v3, (Handle, PciInfo*))                                    \
  X(nvmlDeviceGetCurrPcieLinkGeneration, (Handle, unsigned*))                       \
  X(nvmlDeviceGetCurrPcieLinkWidth, (Handle, unsigned*))                            \
  X(nvmlDeviceGetMaxPcieLinkGeneration, (Handle, unsigned*))                        \
  X(nvmlDeviceGetMaxPcieLinkWidth, (Handle, unsigned*))                             \
  X(nvmlDeviceGetNvLinkState, (Handle, unsigned, int*))                             \
  X(nvmlDeviceGetNvLinkVersion, (Handle, unsigned, unsigned*))                      \
  X(nvmlDeviceGetNvLinkErrorCounter, (Handle, unsigned, int, unsigned long long*))  \
  X(nvmlDeviceGetNvLinkRemoteDeviceType, (Handle, unsigned, int*))                  \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (Handle, unsigned, PciInfo*))              \
  X(nvmlDeviceGetP2PStatus, (Handle, Handle, int, int*))                            \
  X(nvmlDeviceGetTopologyCommonAncestor, (Handle, Handle, int*))                    \
  X(nvmlDeviceGetGpuFabricInfo, (Handle, FabricInfo*))

struct Functions {
#define JITTERSCOPE_DECLARE(name, parameters) int(*name) parameters = nullptr;
  JITTERSCOPE_NVML_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
  const char* (*nvmlErrorString)(int) = nullptr;
};

/// Treats a function that the library lacks as one that the GPU does not support.
template <class Function, class... Arguments>
int call(Function* function, Arguments... arguments) {
  return function == nullptr ? static_cast<int>(kFunctionNotFound) : function(arguments...);
}

/// Returns what a function writes behind its other arguments; nullopt if it fails.
template <class Value, class Function, class... Arguments>
std::optional<Value> read(Function* function, Arguments... arguments) {
  Value value{};
  if (call(function, arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

}  // namespace jitterscope::cuda::nvml
