// Devices, their libraries and sensors, and the machine around them, as they stand in a file.
#pragma once

#include "measure/run_record.hpp"
#include "record/described.hpp"
#include "record/words.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, LibraryInfo>& library) {
  fields("name", library.name);
  fields("version", library.version);
  fields("path", library.path);
  fields("problem", library.problem);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceListing>& listing) {
  fields("id", listing.id);
  fields("name", listing.name);
  fields("problem", listing.problem);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Check>& check) {
  fields("subject", check.subject);
  fields("status", check.status);
  fields("sentence", check.sentence);
  fields("remedy", check.remedy);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceCapabilities>& can) {
  fields("is_host", can.is_host);
  fields("is_simulated", can.is_simulated);
  fields("launches_return_early", can.launches_return_early);
  fields("launches_have_blocks", can.launches_have_blocks);
  fields("chains_have_streams", can.chains_have_streams);
  fields("marks_on_device", can.marks_on_device);
  fields("traces_kernels", can.traces_kernels);
  fields("owns_last_level_cache", can.owns_last_level_cache);
  fields("copies_depend_on_data", can.copies_depend_on_data);
  fields("operator_outputs_stay", can.operator_outputs_stay);
  fields("fast_layout", can.fast_layout);
  fields("pytorch_device", can.pytorch_device);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LargeWork>& work) {
  fields("copy_bytes", work.copy);
  fields("product", work.product);
  fields("slow_type", work.slow_type);
  fields("product_in_slow_type", work.product_in_slow_type);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceDescription>& device) {
  fields("id", device.id);
  fields("name", device.name);
  fields("uuid", device.uuid);
  fields("processors", device.processors);
  fields("memory_total_bytes", device.memory_total);
  fields("memory_free_bytes", device.memory_free);
  fields("last_level_cache_bytes", device.last_level_cache);
  fields("maximum_clock_hertz", device.maximum_clock);
  fields("power_limit_watts", device.power_limit);
  fields("slowdown_celsius", device.slowdown_temperature);
  fields("data_types", device.data_types);
  fields("further_types", device.further_types);
  fields("capabilities", device.capabilities);
  fields("large_work", device.large_work);
  fields("libraries", device.libraries);
  fields("properties", device.properties);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, SensorReading>& sensors) {
  fields("sm_clock_hertz", sensors.sm_clock);
  fields("memory_clock_hertz", sensors.memory_clock);
  fields("power_watts", sensors.power);
  fields("temperature_celsius", sensors.temperature);
  fields("energy_joules", sensors.energy);
  fields("throttled_power_seconds", sensors.throttled_power);
  fields("throttled_thermal_seconds", sensors.throttled_thermal);
  fields("throttled_brake_seconds", sensors.throttled_brake);
  fields.where(!sensors.clock_reasons.empty(), "clock_reasons", sensors.clock_reasons);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Environment>& environment) {
  fields("tool_version", environment.tool_version);
  fields("command_line", environment.command_line);
  fields("time", environment.time);
  fields("host", environment.host);
}

}  // namespace jitterscope
