// What `jitterscope verify-pytorch` prints and writes.
#pragma once

#include <string>

#include "measure/run_record.hpp"
#include "pytorch/comparison.hpp"

namespace jitterscope {

struct PytorchRecord {
  Environment environment;
  DeviceDescription device;
  PytorchComparison comparison;
};

std::string pytorch_table(const PytorchRecord& record);
/// docs/verify-pytorch.schema.json describes it.
std::string pytorch_json(const PytorchRecord& record);

}  // namespace jitterscope
