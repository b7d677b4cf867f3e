#include "device/cpu/cpu_device.hpp"

#include <fmt/format.h>
#include <time.h>

#include <cmath>

#include "base/host_time.hpp"
#include "device/can_run.hpp"
#include "device/cpu/checks.hpp"
#include "device/cpu/cpu_queue.hpp"
#include "device/cpu/machine.hpp"
#include "device/cpu/onednn_facts.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/fusion.hpp"
#include "device/prepared_chain.hpp"
#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace cpu {
namespace {

std::string name_of(const MachineFacts& machine) { return machine.model.empty() ? "CPU" : machine.model; }

std::vector<Property> properties_of(const MachineFacts& machine) {
  std::vector<Property> properties = {{"cpu_model", name_of(machine)},
                                      {"governor", machine.governor.empty() ? "unknown" : machine.governor},
                                      {"isa", onednn_instruction_set()},
                                      {"threads", std::to_string(thread_count())},
                                      {"clock_source", std::string(CycleCounter().source())}};
  if (machine.core_quota) properties.push_back({"core_quota", fmt::format("{:g}", *machine.core_quota)});
  return properties;
}

class CpuDevice final : public Device {
 public:
  DeviceDescription describe() override {
    const MachineFacts machine = read_machine();
    DeviceDescription description;
    description.id = "cpu";
    description.name = name_of(machine);
    description.processors = usable_cores(machine);
    description.memory_total = machine.memory_total;
    description.memory_free = machine.memory_free;
    description.last_level_cache = machine.last_level_cache;
    description.maximum_clock = machine.maximum_clock;
    description.data_types = product_types();
    description.further_types = further_types();
    description.capabilities = {.is_host = true,
                                .launches_return_early = false,
                                .launches_have_blocks = false,
                                .chains_have_streams = false,
                                .marks_on_device = false,
                                .traces_kernels = false,
                                .owns_last_level_cache = false,
                                .copies_depend_on_data = false,
                                .waits_can_sleep = false,
                                .allocates_memory = false,
                                .runs_queues_beside = false,
                                .operator_outputs_stay = false,
                                .fast_layout = Layout::nchw,
                                .pytorch_device = "cpu",
                                .host_memories = {},
                                .allocators = cpu::allocators(),
                                .reason_not_fusible = reason_not_fusible_on_cpu};
    // A product takes a tenth of a second. In f64 own loops do 1.4 GFLOP/s, and 1536 would take 5 s.
    description.large_work = {
        .copy = Bytes(256 << 20), .product = 1536, .slow_type = DataType::f64, .product_in_slow_type = 256};
    description.libraries = cpu_libraries();
    description.properties = properties_of(machine);
    return description;
  }

  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& data) override {
    if (!std::holds_alternative<Chain>(operation.parameters()))
      return cpu::prepare(operation, table(data, data.seed));
    refuse_streams(operation, "cpu");
    refuse_unfusible(operation, "cpu", {.reason_not_fusible = reason_not_fusible_on_cpu});
    return std::make_unique<PreparedChain>(
        operation, data,
        [this, seed = data.seed](const Operation& step, const InputData& own, std::size_t, std::size_t) {
          return cpu::prepare(step, table(own, seed));
        });
  }

  std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<CpuQueue>(read_machine().last_level_cache);
  }

  std::unique_ptr<Queue> adopt_queue(NativeQueue stream) override {
    if (stream == nullptr) return make_queue();
    throw UsageError("a cpu has no streams, so none can be measured on: give no stream, or open cuda:0");
  }

  SensorReading read_sensors() override {
    SensorReading reading;
    reading.sm_clock = current_clock();
    reading.temperature = current_temperature();
    return reading;
  }

  std::vector<Check> check() override { return checks_of(read_machine(), cpu_libraries()); }

  std::unique_ptr<KernelTracer> trace_kernels() override {
    throw MissingError("a CPU has no kernels to trace");
  }
  std::unique_ptr<ClockLock> lock_clocks(std::string_view) override {
    throw UsageError(
        "the cpu's clock cannot be locked from here: leave out --lock-clocks, or set the governor "
        "with 'cpupower frequency-set' as root");
  }

  Nanoseconds host_time() override { return host_time_now(); }

  // Returns early when a signal comes, so that Ctrl-C need not wait.
  void idle(Nanoseconds duration) override {
    if (duration <= Nanoseconds(0)) return;
    const double whole = std::floor(to_seconds(duration));
    timespec time{};
    time.tv_sec = static_cast<time_t>(whole);
    time.tv_nsec = static_cast<long>(duration.value() - whole * 1e9);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  }
  void idle_awake(Nanoseconds time) override { stay_awake(time); }

 private:
  // Making a table takes 50 ms; a model prepares hundreds of operations from one, and a chain a thousand
  // steps, each of which takes other parts of it, by a seed of its own.
  const InputTable& table(const InputData& data, std::uint64_t seed) {
    if (!table_ || table_data_.kind != data.kind || table_data_.seed != seed) {
      table_data_ = data;
      table_data_.seed = seed;
      table_ = std::make_unique<InputTable>(table_data_);
    }
    table_->use_for(data);
    return *table_;
  }

  InputData table_data_;
  std::unique_ptr<InputTable> table_;
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Device> open_cpu_device() { return std::make_unique<cpu::CpuDevice>(); }

DeviceListing list_cpu_device() { return {"cpu", cpu::name_of(cpu::read_machine()), ""}; }

std::vector<LibraryInfo> cpu_libraries() { return {cpu::onednn_library(), torch::torch_library()}; }

}  // namespace jitterscope
