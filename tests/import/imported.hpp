// What the tests ask of imported models.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "import/import.hpp"
#include "operation/model.hpp"

namespace jitterscope::testing {

inline std::string data_file(const std::string& name) { return JITTERSCOPE_TEST_DATA "/" + name; }

inline Model execution_trace(const std::string& file) {
  return import_execution_trace(read_file(file).text, file);
}
inline Model profiler_trace(const std::string& file) {
  return import_profiler_trace(read_file(file).text, file);
}

/// How often each operation of these kinds runs.
inline std::map<std::string, std::int64_t> counts(const Model& model, const std::set<std::string>& kinds) {
  std::map<std::string, std::int64_t> result;
  for (const Layer& layer : model.layers) {
    if (kinds.contains(std::string(layer.operation.kind()))) result[layer.operation.text()] = layer.count();
  }
  return result;
}

inline std::int64_t total(const std::map<std::string, std::int64_t>& counts) {
  std::int64_t result = 0;
  for (const auto& [text, count] : counts) result += count;
  return result;
}

inline const Layer* find_layer(const Model& model, const std::string& text) {
  const auto same = [&](const Layer& layer) { return layer.operation == Operation::parse(text); };
  const auto found = std::find_if(model.layers.begin(), model.layers.end(), same);
  return found == model.layers.end() ? nullptr : &*found;
}

}  // namespace jitterscope::testing
