// Writes, reads and prints the record of `run --device cuda:all`: several GPUs beside each other.
#pragma once

#include <string>
#include <vector>

#include "experiment/devices.hpp"
#include "output/html.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct DevicesRecord {
  Environment environment;
  DeviceDescription device;  ///< the first
  std::string title = {};    ///< of a model; else empty
  std::vector<DeviceDescription> devices;
  std::vector<std::string> lost;  ///< sentences: which GPU gave nothing, and why
  std::int64_t processes = 0;     ///< for each GPU, alone and at once each
  double margin = 0.01;           ///< smaller differences are no reason to act
  std::vector<DevicesComparison> comparisons;
  bool interrupted = false;
};

std::string write_record(const DevicesRecord& record);
Text record_text(const DevicesRecord& record, const ShownPage& shown);
Headline headline_of(const DevicesRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, DevicesRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const DevicesRecord& record);

}  // namespace jitterscope::report
