// What `jitterscope methods` prints and writes.
#pragma once

#include <string>

#include "measure/methods.hpp"
#include "output/page.hpp"

namespace jitterscope {

struct MethodsRecord {
  Environment environment;
  DeviceDescription device;
  MethodComparison comparison;
};

/// Conditions and constants, a row for each method, and a numbered sentence for each.
std::string methods_table(const MethodsRecord& record, std::size_t width = kPageWidth);

/// Everything, times of each repetition included: docs/methods.schema.json describes it.
std::string methods_json(const MethodsRecord& record);

}  // namespace jitterscope
