// What a timing method gets wrong here, from the numbers.
#pragma once

#include "measure/method_comparison.hpp"

namespace jitterscope::method_sentences {

std::string wall_without_wait(const MethodComparison&, const MethodReading&);
std::string wall_with_wait(const MethodComparison&, const MethodReading&);
std::string events_empty_queue(const MethodComparison&, const MethodReading&);
std::string events_without_warm_up(const MethodComparison&, const MethodReading&);
std::string events_behind_gate(const MethodComparison&, const MethodReading&);
std::string events_less_constant(const MethodComparison&, const MethodReading&);
std::string cold(const MethodComparison&, const MethodReading&);
std::string dirty(const MethodComparison&, const MethodReading&);
std::string graph_total(const MethodComparison&, const MethodReading&);
std::string graph_slope(const MethodComparison&, const MethodReading&);
std::string cupti(const MethodComparison&, const MethodReading&);

}  // namespace jitterscope::method_sentences
