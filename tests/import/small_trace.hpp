// A profiler trace as tests write it: an operator on the CPU's thread 1, what it launched, and its kernel.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "import/import.hpp"

namespace jitterscope::testing {

inline std::string event(const std::string& category, const std::string& name, const std::string& when,
                         const std::string& arguments) {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":1,)" + when +
         R"(,"args":{)" + arguments + "}}";
}

inline const std::string kSum = event("cpu_op", "aten::add", R"("ts":100.000,"dur":10)",
                                      R"("Input Dims":[[4],[4],[]],"Input type":["float","float","Scalar"],)"
                                      R"("Input Strides":[[1],[1],[]],"Concrete Inputs":["","","1"])");
inline const std::string kLaunch =
    event("cuda_runtime", "cudaLaunchKernel", R"("ts":105,"dur":1)", R"("correlation":7)");
inline const std::string kKernel = event("kernel", "adds", R"("ts":120,"dur":2.5)", R"("correlation":7)");

inline std::string trace_of(const std::vector<std::string>& events) {
  std::string text = R"({"traceEvents":[)";
  for (const std::string& one : events) text += (text.back() == '[' ? "" : ",") + one;
  return text + "]}";
}

inline Model profile(const std::string& text) { return import_profiler_trace(text, "t.json"); }

/// Each of them is replaced where it stands.
inline std::string replaced_in(std::string text,
                               const std::vector<std::pair<std::string, std::string>>& replacements) {
  for (const auto& [from, to] : replacements) {
    const std::size_t place = text.find(from);
    if (place != std::string::npos) text.replace(place, from.size(), to);
  }
  return text;
}

}  // namespace jitterscope::testing
