// What `jitterscope engines` prints and writes.
#pragma once

#include <string>

#include "measure/engine_choice.hpp"
#include "measure/run_record.hpp"
#include "output/page.hpp"

namespace jitterscope {

struct EnginesRecord {
  Environment environment;
  DeviceDescription device;
  EngineRanking ranking;
};

/// A row for each engine, fastest first, and what each of PyTorch's two ways of choosing costs.
std::string engines_table(const EnginesRecord& record, std::size_t width = kPageWidth);

/// Everything but single launches: docs/engines.schema.json describes it.
std::string engines_json(const EnginesRecord& record);

}  // namespace jitterscope
