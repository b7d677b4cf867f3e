// Includes all of jitterscope's C++ interface.
#pragma once

#include "jitterscope/counters.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/kernel_trace.hpp"
#include "jitterscope/measure.hpp"
#include "jitterscope/measurement.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"
#include "jitterscope/version.hpp"
