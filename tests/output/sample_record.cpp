#include "output/sample_record.hpp"

namespace jitterscope::test {
namespace {

SensorReading sample_sensors() {
  SensorReading sensors;
  sensors.sm_clock = megahertz(1980);
  sensors.memory_clock = megahertz(3201);
  sensors.power = Watts(412.5);
  sensors.temperature = Celsius(48);
  sensors.energy = Joules(123456.789);
  sensors.throttled_power = milliseconds(12);
  sensors.throttled_thermal = Nanoseconds(0);
  sensors.throttled_brake = Nanoseconds(0);
  sensors.clock_reasons = {"power_cap"};
  return sensors;
}

void describe_machine(RunRecord& record) {
  record.environment = {"0.1.0", "jitterscope run \"resnet18\"", "2026-01-02T03:04:05Z", {{"kernel", "6.1"}}};
  DeviceDescription& device = record.device;
  device.id = "cuda:0";
  device.name = "NVIDIA H200";
  device.uuid = "GPU-0";
  device.processors = 132;
  device.memory_total = Bytes(150000000000);
  device.memory_free = Bytes(149000000000);
  device.last_level_cache = Bytes(52428800);
  device.maximum_clock = megahertz(1980);
  device.power_limit = Watts(700);
  device.data_types = {DataType::f32, DataType::tf32, DataType::f16};
  device.libraries = {{"cudnn", "9.1.0", "/usr/lib/libcudnn.so.9", ""}, {"cupti", "", "", "not found"}};
  device.properties = {{"driver", "570.1"}};
  record.calibration.events = {microseconds(4.35), microseconds(0.05), Nanoseconds(32)};
  record.calibration.graph = {microseconds(0.1), microseconds(0.02), Nanoseconds(32)};
  record.calibration.method = "null and spin kernels by both instruments";
  record.ceilings.bytes_per_second = 4.31e12;
  record.ceilings.compute = {{DataType::f16, 795e12, "matmul:m=8192,n=8192,k=8192,dtype=f16"}};
}

Result sample_result(const std::string& operation, Nanoseconds time) {
  Result result;
  result.subject = Operation::parse(operation);
  result.provider = "cudnn";
  result.algorithm = "eng28";
  result.flops = 1e10;
  result.bytes = Bytes(20000000);
  result.workspace = Bytes(65536);
  result.prepare_time = milliseconds(120);
  result.first_call = milliseconds(14.2);
  result.launch_cost = microseconds(4.13);
  result.measurements = {sample_measurement(CacheState::warm, Load::burst, time),
                         sample_measurement(CacheState::cold, Load::burst, 1.1 * time)};
  return result;
}

}  // namespace

Measurement sample_measurement(CacheState cache, Load load, Nanoseconds time, double precision) {
  Measurement measurement;
  measurement.conditions = {cache, load, DataKind::normal, QueueMode::saturated};
  measurement.constant = {microseconds(4.35), microseconds(0.05), Nanoseconds(32)};
  for (int index = 0; index < 10; ++index) {
    Round round;
    round.started = milliseconds(100.0 * index);
    round.idle_before = load == Load::burst ? milliseconds(20.0 + index) : Nanoseconds(0);
    round.launches = {time, time, 1.01 * time};
    round.clock = megahertz(1716);
    round.sensors = sample_sensors();
    measurement.rounds.push_back(round);
  }
  measurement.time = measurement.repeatability = {time, (1 - precision) * time, (1 + precision) * time, 10};
  measurement.clock = ClockEstimate{megahertz(1716), megahertz(1700), megahertz(1730)};
  measurement.at_reference_clock =
      TimeAtReferenceClock{megahertz(1716), time, 0.998 * time, 1.002 * time, 0.2 * time, 0.8};
  measurement.cycles = cycles_in(time, megahertz(1716));
  measurement.launches = {0.99 * time, 0.995 * time, time, time, time, 1.01 * time, 1.02 * time, 30};
  if (load == Load::sustained) {
    measurement.steadiness = Steadiness{Steadiness::Verdict::steady, seconds(3.4), seconds(1.2), 2};
  }
  measurement.duration = seconds(0.6);
  return measurement;
}

RunRecord sample_model() {
  RunRecord record;
  describe_machine(record);
  record.title = "tiny";
  record.entries = {
      {sample_result("conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc", microseconds(20))},
      {sample_result("conv2d:n=32,c=64,hw=56,k=128,rs=1,dtype=f16,layout=nhwc", microseconds(30))},
      {sample_result("linear:n=32,in=512,out=1000,dtype=f16", microseconds(5))}};
  record.entries[0].layers = {"layer1.0.conv1", "layer1.0.conv2"};
  record.entries[0].count = 2;
  record.entries[1].layers = {"layer2.0.downsample"};
  record.entries[2].layers = {"fc"};
  record.entries[2].result.measurements.clear();
  record.entries[2].result.failure = "out of memory: 12 GiB needed, 3 GiB free";
  record.entries[0].result.measurements[0].modes = {{microseconds(20), 0.75}, {microseconds(21), 0.25}};
  record.entries[0].result.verification = Verification{1.5e-4, 1e-3, 65536, 65536, 0, true, true};
  record.entries[1].result.verification = Verification{0.25, 1e-3, 65536, 65536, 3, false};
  for (std::size_t row : {0u, 1u}) {
    record.entries[row].result.findings = {
        {"power_cap",
         "The power cap held the clock at " + std::to_string(1716 + row) + " MHz.",
         "Compare at equal clocks.",
         {{"clock_hz", 1716e6}, {"cause_known", true}},
         "the power cap lowers the SM clock",
         0.11 + static_cast<double>(row)}};
  }
  record.findings = {{"other_process",
                      "Another process uses the GPU.",
                      "End process 4711.",
                      {{"processes", std::int64_t{1}}, {"first", "4711 python"}},
                      "1 other process"}};
  return record;
}

RunRecord sample_operation() {
  RunRecord record;
  describe_machine(record);
  Result result = sample_result("matmul:m=4096,n=4096,k=4096,dtype=f16", microseconds(180));
  result.flops = 1.37e11;
  record.title = to_string(result.subject);
  result.measurements.push_back(
      sample_measurement(CacheState::warm, Load::sustained, microseconds(204), 0.003));
  result.measurements[0].modes = {{microseconds(180), 0.75}, {microseconds(190), 0.25}};
  record.entries = {{result}};
  return record;
}

RunRecord model_of(int layers) {
  RunRecord record = sample_model();
  const RunEntry first = record.entries[0];
  record.entries.clear();
  for (int i = 1; i <= layers; ++i) {
    RunEntry layer = first;
    layer.layers = {"layer" + std::to_string(i)};
    layer.count = 1;
    layer.result.measurements = {sample_measurement(CacheState::warm, Load::burst, microseconds(i), 0.001)};
    layer.result.findings.clear();
    record.entries.push_back(layer);
  }
  return record;
}

}  // namespace jitterscope::test
