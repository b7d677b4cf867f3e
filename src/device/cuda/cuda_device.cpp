#include "device/cuda/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "device/can_run.hpp"
#include "device/chain.hpp"
#include "device/compiler/nvrtc.hpp"
#include "device/cuda/clock_lock.hpp"
#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/cupti/counters.hpp"
#include "device/cuda/cupti/kernel_trace.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/nccl.hpp"
#include "device/cuda/nvml.hpp"
#include "device/cuda/nvml_links.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/cuda/peer_memory.hpp"
#include "device/torch/plugin.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

// Checks what this machine allows on a GPU and what limits precision: the lines of `doctor`.

namespace jitterscope::cuda {

/// State of the GPU that the checks use; read beforehand.
struct GpuState {
  const DeviceDescription& description;
  const std::optional<NvmlDevice>& nvml;
  std::string nvml_problem;
  std::optional<std::vector<std::string>> other_processes;
};

std::vector<Check> check_gpu(const GpuState& state);

namespace {

std::string name_of(CUdevice device) {
  std::array<char, 256> name{};
  check(driver().cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
        "reading the GPU's name");
  return name.data();
}

// Returns the UUID as NVML and nvidia-smi write it. A part of a split GPU has its own UUID.
std::string uuid_of(CUdevice device, const char* prefix) {
  CUuuid uuid{};
  check(driver().cuDeviceGetUuid(&uuid, device), "reading the GPU's UUID");
  std::string text = prefix;
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string pci_bus_id_of(CUdevice device) {
  std::array<char, 32> id{};
  check(driver().cuDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device),
        "reading the PCI bus id");
  return id.data();
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string on_or_off(std::optional<bool> value) { return !value ? "unknown" : *value ? "on" : "off"; }

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal)
      : context_(ordinal),
        uuid_(uuid_of(context_.device(), "GPU")),
        nvml_(NvmlDevice::find(uuid_, &nvml_problem_)),
        major_(context_.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)),
        minor_(context_.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)) {
    if (!nvml_) look_for_part();
    if (nvml_) links_ = link_properties(*nvml_);
  }

  DeviceDescription describe() override;
  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& data) override;
  void join(Ranks& ranks) override;
  std::unique_ptr<PeerMemory> open_to_peers(Ranks& ranks, Bytes size) override {
    return open_gpu_to_peers(context_, ranks, size, uuid_, [this](const std::string& uuid) {
      std::string ignored;
      const std::optional<NvmlDevice> other = NvmlDevice::find(uuid, &ignored);
      return nvml_ && other ? words_of(describe_pair(*nvml_, *other)) : std::string();
    });
  }
  std::vector<EngineListing> list_engines(const Operation& operation) override {
    const Operation::Parameters& parameters = operation.parameters();
    if (std::holds_alternative<Conv2d>(parameters)) return list_convolution_engines(context_, operation);
    const bool is_product =
        std::holds_alternative<Matmul>(parameters) || std::holds_alternative<Linear>(parameters);
    return is_product ? list_matmul_engines(context_, operation) : std::vector<EngineListing>();
  }
  std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<CudaQueue>(context_, context_.stream());
  }
  std::unique_ptr<Queue> adopt_queue(NativeQueue stream) override {
    context_.require_own(static_cast<CUstream>(stream));
    return std::make_unique<CudaQueue>(context_, static_cast<CUstream>(stream));
  }
  std::unique_ptr<Queue> make_companion_queue() override {
    return std::make_unique<CompanionQueue>(context_);
  }
  std::unique_ptr<SideStream> make_side_stream(std::size_t parts) override {
    return std::make_unique<CudaSideStream>(context_, parts);
  }
  void wait_for_all() override {
    context_.make_current();
    cuda::check(driver().cuCtxSynchronize(), "waiting for all of the GPU's work");
  }
  SensorReading read_sensors() override { return nvml_ ? nvml_->read_sensors(host_time()) : SensorReading(); }
  std::optional<std::vector<std::string>> other_processes() override {
    const auto all = nvml_ ? nvml_->processes() : std::nullopt;
    if (!all) return std::nullopt;
    return others_among(*all, static_cast<unsigned>(getpid()));
  }
  std::vector<Check> check() override {
    const DeviceDescription description = describe();
    return check_gpu({description, nvml_, nvml_problem_, other_processes()});
  }
  std::unique_ptr<ClockLock> lock_clocks(std::string_view request) override {
    return lock_gpu_clock(uuid_, request);
  }
  std::unique_ptr<KernelTracer> trace_kernels() override {
    context_.make_current();
    return std::make_unique<KernelTrace>();
  }
  std::vector<Counter> list_counters() override { return list_gpu_counters(counted()); }
  void check_counters(const std::vector<std::string>& names) override {
    check_gpu_counters(counted(), names);
  }
  std::unique_ptr<CounterReader> count(const std::vector<std::string>& names) override {
    return count_gpu_launches(counted(), names);
  }
  Nanoseconds host_time() override { return host_time_now(); }
  void idle(Nanoseconds time) override {
    std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(time.value()));
  }
  void idle_awake(Nanoseconds time) override { stay_awake(time); }

 private:
  // A part of a split GPU has a UUID of its own.
  void look_for_part() {
    const std::string part = uuid_of(context_.device(), "MIG");
    std::string ignored;
    nvml_ = NvmlDevice::find(part, &ignored);
    if (!nvml_) return;
    uuid_ = part;
    nvml_problem_.clear();
  }
  std::string id() const { return fmt::format("cuda:{}", context_.ordinal()); }
  CountedGpu counted() const {
    context_.make_current();
    return {context_.handle(), context_.device(), context_.ordinal()};
  }
  std::vector<DataType> data_types() const;
  std::vector<LibraryInfo> libraries() const;
  std::vector<Property> properties() const;

  Context context_;
  std::string uuid_;
  std::string nvml_problem_;
  std::optional<NvmlDevice> nvml_;
  std::vector<Property> links_;  ///< read once, as it takes a call for each of many links
  int major_, minor_;
};

std::vector<DataType> CudaDevice::data_types() const {
  std::vector<DataType> types = {DataType::f64, DataType::f32, DataType::f16};
  if (major_ >= 8) types.insert(types.end(), {DataType::tf32, DataType::bf16});
  return types;
}

std::vector<LibraryInfo> CudaDevice::libraries() const {
  LibraryInfo nvml{.name = "nvml", .version = "", .path = "", .problem = nvml_problem_};
  if (nvml_) {
    nvml.version = nvml_->library().version();
    nvml.path = nvml_->library().path();
  }
  return {{.name = "libcuda",
           .version = version_text(driver().version),
           .path = driver().library.path(),
           .problem = ""},
          nvml,
          cudnn_library(),
          cublas_library(),
          cublaslt_library(),
          cupti_library(),
          nccl_library(),
          nvrtc_library(),
          torch::torch_library()};
}

std::vector<Property> CudaDevice::properties() const {
  std::vector<Property> list = {
      {"cuda_driver", version_text(driver().version)},
      {"compute_capability", fmt::format("{}.{}", major_, minor_)},
      {"pci_bus_id", pci_bus_id_of(context_.device())},
      {"memory_bus_bits", std::to_string(context_.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH))}};
  const auto add = [&](const char* key, std::string value) { list.push_back({key, std::move(value)}); };
  if (std::string settings = nccl_environment(); !settings.empty())
    add("nccl_environment", std::move(settings));
  if (!nvml_) return list;
  const auto add_mhz = [&](const char* key, std::optional<Hertz> clock) {
    if (clock) add(key, fmt::format("{:.0f}", clock->value() * 1e-6));
  };
  const auto add_watts = [&](const char* key, std::optional<Watts> power) {
    if (power) add(key, fmt::format("{:.0f}", power->value()));
  };
  add("driver_version", nvml_->library().driver_version());
  add("ecc", on_or_off(nvml_->ecc()));
  add("mig_mode", on_or_off(nvml_->mig()));
  add("persistence", on_or_off(nvml_->persistence()));
  add_mhz("maximum_sm_clock_mhz", nvml_->maximum_clock(nvml::kSmClock));
  add_mhz("maximum_memory_clock_mhz", nvml_->maximum_clock(nvml::kMemoryClock));
  add_mhz("default_sm_clock_mhz", nvml_->default_sm_clock());
  add_mhz("memory_clock_mhz", nvml_->clock(nvml::kMemoryClock));
  add_watts("power_limit_watts", nvml_->power_limit());
  add_watts("power_limit_default_watts", nvml_->default_power_limit());
  if (const auto mode = nvml_->virtualisation()) add("virtualisation", *mode);
  list.insert(list.end(), links_.begin(), links_.end());
  return list;
}

DeviceDescription CudaDevice::describe() {
  DeviceDescription description;
  description.id = id();
  description.name = name_of(context_.device());
  description.uuid = uuid_;
  description.processors = context_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  std::size_t total = 0;
  cuda::check(driver().cuDeviceTotalMem(&total, context_.device()), "reading the GPU's memory size");
  description.memory_total = Bytes(static_cast<std::int64_t>(total));
  description.memory_free = context_.free_memory();
  description.last_level_cache = Bytes(context_.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  description.maximum_clock = Hertz(context_.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e3);
  if (nvml_) {
    if (const auto clock = nvml_->maximum_clock(nvml::kSmClock)) description.maximum_clock = clock;
    description.power_limit = nvml_->power_limit();
    description.slowdown_temperature = nvml_->slowdown_temperature();
  }
  description.data_types = data_types();
  description.capabilities.pytorch_device = id();
  description.capabilities.memory_nodes = memory_nodes();
  description.capabilities.reason_not_fusible = reason_not_fusible_on_gpu;
  description.libraries = libraries();
  description.properties = properties();
  return description;
}

void CudaDevice::join(Ranks& ranks) {
  if (uuid_.starts_with("MIG")) {
    throw UsageError(fmt::format(
        "{} is a part of a split GPU (MIG), and NCCL takes only whole ones; take a GPU that is not split",
        id()));
  }
  context_.make_current();
  context_.join(std::make_unique<Communicator>(ranks));
}

Prepare* fused_way(GpuFusion way) {
  switch (way) {
    case GpuFusion::product_epilogue: return prepare_fused_product;
    case GpuFusion::convolution_graph: return prepare_fused_convolution;
    case GpuFusion::generated_kernel: break;
  }
  return prepare_fused_kernel;
}

Prepare prepare_steps;

/// Returns the function that prepares a kind of operation.
struct PrepareOf {
  Prepare* operator()(const Conv2d&) const { return prepare_convolution; }
  Prepare* operator()(const Matmul&) const { return prepare_matmul; }
  Prepare* operator()(const Linear&) const { return prepare_matmul; }
  Prepare* operator()(const Copy&) const { return prepare_copy; }
  Prepare* operator()(const Allocation&) const { return prepare_allocation; }
  Prepare* operator()(const Spin&) const { return prepare_spin; }
  Prepare* operator()(const Collective&) const { return prepare_collective; }
  Prepare* operator()(const BatchNorm&) const { return prepare_batch_norm; }
  Prepare* operator()(const Attention&) const { return prepare_attention; }
  Prepare* operator()(const CudaKernel&) const { return prepare_cuda_kernel; }
  Prepare* operator()(const Chain&) const { return prepare_steps; }
  Prepare* operator()(const Aten&) const { return prepare_aten; }
  template <class Shape>
  Prepare* operator()(const Shape&) const {
    return prepare_builtin;
  }
};

// A step that is a chain itself is a fused lane.
std::unique_ptr<PreparedOperation> prepare_steps(const Context& context, const Operation& chain,
                                                 const InputData& data) {
  const auto prepare_step = [&context](const Operation& step, const InputData& own, std::size_t,
                                       std::size_t) {
    const auto* lane = std::get_if<Chain>(&step.parameters());
    Prepare* prepare =
        lane != nullptr ? fused_way(gpu_fusion_of(*lane)) : std::visit(PrepareOf(), step.parameters());
    return prepare(context, step, own);
  };
  return prepare_chain(context, chain, data, prepare_step);
}

std::unique_ptr<PreparedOperation> CudaDevice::prepare(const Operation& operation, const InputData& data) {
  context_.make_current();
  refuse_collective(operation, id(), {}, context_.communicator() != nullptr);
  require_data_type(operation, id(), data_types());
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const Operation& step : chain->steps) require_data_type(step, id(), data_types());
    refuse_unfusible(operation, id(), {.reason_not_fusible = reason_not_fusible_on_gpu});
  }
  return std::visit(PrepareOf(), operation.parameters())(context_, operation, data);
}

}  // namespace

std::unique_ptr<Device> open_cuda_device(int ordinal) { return std::make_unique<CudaDevice>(ordinal); }

std::vector<DeviceListing> list_cuda_devices() {
  std::vector<DeviceListing> devices;
  try {
    int count = 0;
    check(driver().cuDeviceGetCount(&count), "counting the GPUs");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      CUdevice device = 0;
      check(driver().cuDeviceGet(&device, ordinal), "opening a GPU");
      devices.push_back({fmt::format("cuda:{}", ordinal), name_of(device), ""});
    }
  } catch (const std::exception& error) {
    devices.push_back({"cuda:0", "", error.what()});
  }
  return devices;
}

namespace {

using Status = Check::Status;

std::string property(const DeviceDescription& description, std::string_view key) {
  for (const Property& each : description.properties) {
    if (each.key == key) return each.value;
  }
  return "unknown";
}

Check check_driver(const DeviceDescription& description) {
  return {"driver", Status::good,
          fmt::format("{}: driver {}, CUDA {}, compute capability {}", description.name,
                      property(description, "driver_version"), property(description, "cuda_driver"),
                      property(description, "compute_capability")),
          ""};
}

Check check_library(const LibraryInfo& library) {
  if (library.problem.empty()) {
    return {library.name, Status::good,
            fmt::format("{} {} ({})", library.name, library.version, library.path), ""};
  }
  std::string remedy = "install it, or name its folder in JITTERSCOPE_LIBRARY_PATH";
  if (library.name == "nvml")
    remedy = "install the driver's NVML (libnvidia-ml.so.1); in a container pass it through";
  return {library.name, Status::missing, fmt::format("{} cannot be used: {}", library.name, library.problem),
          remedy};
}

Check check_clock_lock() {
  // Only trying would show whether NVML refuses, and trying changes the clock.
  const bool root = geteuid() == 0;
  return {"clock locking", root ? Status::good : Status::limits,
          fmt::format("only root may lock clocks; you are {}root", root ? "" : "not "),
          root ? ""
               : "not needed: the clock of each round is measured, and the time at reference clock is given"};
}

Check check_counters() {
  std::ifstream parameters("/proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (!line.starts_with("RmProfilingAdminOnly:")) continue;
    if (line.ends_with("0"))
      return {"hardware counters", Status::good, "hardware counters are open to all users", ""};
    return {"hardware counters", Status::limits, "hardware counters are for administrators only",
            "an administrator can set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module"};
  }
  return {"hardware counters", Status::limits,
          "whether counters may be read is unknown: no /proc/driver/nvidia/params", ""};
}

Check check_persistence(const NvmlDevice& nvml) {
  const auto on = nvml.persistence();
  if (!on) return {"persistence", Status::limits, "NVML does not tell the persistence mode", ""};
  if (*on) return {"persistence", Status::good, "persistence mode is on", ""};
  return {"persistence", Status::limits,
          "persistence mode is off: the driver unloads between programs, and first calls are slow",
          "an administrator can run nvidia-smi -pm 1 or nvidia-persistenced"};
}

Check check_processes(const std::optional<std::vector<std::string>>& others) {
  if (!others) return {"other processes", Status::limits, "whether others use this GPU cannot be known", ""};
  if (others->empty()) return {"other processes", Status::good, "no other process uses this GPU", ""};
  return {"other processes", Status::limits, fmt::format("others use this GPU: {}", joined(*others)),
          "end them, or take another GPU: while they run, times contain theirs"};
}

Check check_power(const NvmlDevice& nvml) {
  const auto limit = nvml.power_limit();
  const auto usual = nvml.default_power_limit();
  const std::string watts = limit ? fmt::format("{:.0f} W", limit->value()) : "unknown";
  if (limit && usual && limit->value() < usual->value() - 0.5) {
    return {"power cap", Status::limits,
            fmt::format("the power limit is {}, below the default of {:.0f} W", watts, usual->value()),
            "compare only with runs at the same limit; an administrator can raise it (nvidia-smi -pl)"};
  }
  std::vector<std::string> reasons = nvml.clock_reasons();
  std::erase(reasons, "idle");
  if (!reasons.empty()) {
    return {"power cap", Status::limits, fmt::format("the clock is held down now by: {}", joined(reasons)),
            "see what else runs, the cooling and the power limit"};
  }
  return {"power cap", Status::good, fmt::format("power limit {}, nothing holds the clock down now", watts),
          ""};
}

Check check_ecc(const NvmlDevice& nvml) {
  const auto on = nvml.ecc();
  const std::string text = !on ? "this GPU does not tell its ECC mode" : *on ? "ECC is on" : "ECC is off";
  return {"ECC", Status::good, text, ""};
}

Check check_mig(const NvmlDevice& nvml) {
  if (!nvml.mig().value_or(false)) return {"MIG", Status::good, "the GPU is not split (MIG off)", ""};
  return {"MIG", Status::limits, "the GPU is split (MIG on): other parts share its power and clock",
          "compare only with runs in the same MIG profile"};
}

Check check_virtualisation(const NvmlDevice& nvml) {
  const std::string mode = nvml.virtualisation().value_or("unknown");
  if (mode == "vgpu") {
    return {"virtualisation", Status::limits,
            "this is a share of a GPU (vGPU): other guests take time slices", "measure on a whole GPU"};
  }
  return {"virtualisation", Status::good, fmt::format("GPU virtualisation: {}", mode), ""};
}

}  // namespace

std::vector<Check> check_gpu(const GpuState& state) {
  std::vector<Check> checks = {check_driver(state.description)};
  for (const LibraryInfo& library : state.description.libraries) checks.push_back(check_library(library));
  checks.push_back(check_clock_lock());
  checks.push_back(check_counters());
  checks.push_back(check_processes(state.other_processes));
  if (!state.nvml) return checks;
  checks.push_back(check_persistence(*state.nvml));
  checks.push_back(check_power(*state.nvml));
  checks.push_back(check_ecc(*state.nvml));
  checks.push_back(check_mig(*state.nvml));
  checks.push_back(check_virtualisation(*state.nvml));
  return checks;
}

}  // namespace jitterscope::cuda
