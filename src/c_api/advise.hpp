// A step of advice about callables, of which the caller makes the remedies and this library says what they
// gave.
#pragma once

#include <string>

namespace jitterscope::c_api {

/// The record of `advise`, from what was measured. Throws UsageError where measured and asked do not fit.
std::string advise(const std::string& measured, const std::string& request);

}  // namespace jitterscope::c_api
