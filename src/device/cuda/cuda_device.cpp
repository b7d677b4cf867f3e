#include "device/cuda/cuda_device.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/host_time.hpp"
#include "base/memory_nodes.hpp"
#include "device/can_run.hpp"
#include "device/compiler/nvrtc.hpp"
#include "device/cuda/clock_lock.hpp"
#include "device/cuda/companion_queue.hpp"
#include "device/cuda/context.hpp"
#include "device/cuda/cuda_checks.hpp"
#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/cupti/counters.hpp"
#include "device/cuda/cupti/kernel_trace.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/nvml.hpp"
#include "device/cuda/operations/fused_operations.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/cuda/other_processes.hpp"
#include "device/fusion.hpp"
#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

std::string name_of(CUdevice device) {
  std::array<char, 256> name{};
  check(driver().cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
        "reading the GPU's name");
  return name.data();
}

// As NVML and nvidia-smi write it; a part of a split GPU has a UUID of its own.
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
    if (nvml_) return;
    const std::string part = uuid_of(context_.device(), "MIG");
    std::string ignored;
    nvml_ = NvmlDevice::find(part, &ignored);
    if (!nvml_) return;
    uuid_ = part;
    nvml_problem_.clear();
  }

  DeviceDescription describe() override;
  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& data) override;
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
          nvrtc_library(),
          torch::torch_library()};
}

std::vector<Property> CudaDevice::properties() const {
  std::vector<Property> list = {
      {"cuda_driver", version_text(driver().version)},
      {"compute_capability", fmt::format("{}.{}", major_, minor_)},
      {"pci_bus_id", pci_bus_id_of(context_.device())},
      {"memory_bus_bits", std::to_string(context_.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH))}};
  if (!nvml_) return list;
  const auto add = [&](const char* key, std::string value) { list.push_back({key, std::move(value)}); };
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

std::unique_ptr<PreparedOperation> prepare_fused_lane(const Context& context, const Operation& lane,
                                                      const InputData& data, GpuFusion way) {
  switch (way) {
    case GpuFusion::product_epilogue: return prepare_fused_product(context, lane, data);
    case GpuFusion::convolution_graph: return prepare_fused_convolution(context, lane, data);
    case GpuFusion::generated_kernel: break;
  }
  return prepare_fused_kernel(context, lane, data);
}

struct Preparer {
  const Context& context;
  const Operation& operation;
  const InputData& data;
  std::unique_ptr<PreparedOperation> operator()(const Conv2d&) {
    return prepare_convolution(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const Matmul&) {
    return prepare_matmul(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const Linear&) {
    return prepare_matmul(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const Copy&) {
    return prepare_copy(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const Allocation&) {
    return prepare_allocation(context, operation);
  }
  std::unique_ptr<PreparedOperation> operator()(const Spin&) {
    return prepare_spin(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const BatchNorm&) {
    return prepare_batch_norm(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const Attention&) {
    return prepare_attention(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const CudaKernel&) {
    return prepare_cuda_kernel(context, operation, data);
  }
  std::unique_ptr<PreparedOperation> operator()(const Chain&) {
    const auto prepare_step = [this](const Operation& step, const InputData& own, std::size_t, std::size_t) {
      const auto* lane = std::get_if<Chain>(&step.parameters());
      if (lane != nullptr) return prepare_fused_lane(context, step, own, gpu_fusion_of(*lane));
      return std::visit(Preparer{context, step, own}, step.parameters());
    };
    return prepare_chain(context, operation, data, prepare_step);
  }
  std::unique_ptr<PreparedOperation> operator()(const Aten&) {
    return prepare_aten(context, operation, data);
  }
  template <class Shape>
  std::unique_ptr<PreparedOperation> operator()(const Shape&) {
    return prepare_builtin(context, operation, data);
  }
};

std::unique_ptr<PreparedOperation> CudaDevice::prepare(const Operation& operation, const InputData& data) {
  context_.make_current();
  require_data_type(operation, id(), data_types());
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const Operation& step : chain->steps) require_data_type(step, id(), data_types());
    refuse_unfusible(operation, id(), {.reason_not_fusible = reason_not_fusible_on_gpu});
  }
  return std::visit(Preparer{context_, operation, data}, operation.parameters());
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

}  // namespace jitterscope::cuda
