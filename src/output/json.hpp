// Everything a run found out, for other programs: docs/measurement.schema.json describes it.
#pragma once

#include <string>

#include "measure/run_record.hpp"
#include "output/json_text.hpp"

namespace jitterscope {

/// The whole record, raw rounds and launches included.
std::string run_json(const RunRecord& record);

/// Parts, for other documents that hold them.
Json measurement_json(const Measurement& measurement);
Json finding_json(const Finding& finding);
Json sensors_json(const SensorReading& sensors);
Json environment_json(const Environment& environment);
Json properties_json(const std::vector<Property>& properties);
Json libraries_json(const std::vector<LibraryInfo>& libraries);
Json instrument_constant_json(const InstrumentConstant& constant);
Json kernels_json(const std::vector<LaunchKernel>& kernels);
Json untimed_json(const std::vector<UntimedOperator>& untimed);
Json estimate_json(const TimeEstimate& time);
Json sequence_json(const SequenceMeasurement& sequence);
Json iterations_json(const std::vector<IterationRun>& runs);
/// Words of an enumeration as one identifier: "time limit" is written "time_limit".
std::string identifier(std::string_view words);

}  // namespace jitterscope
