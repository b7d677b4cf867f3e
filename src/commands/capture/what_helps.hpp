// Says how a program could keep its GPU busier, and names the command that goes on.
#pragma once

#include <string>

#include "commands/capture/record.hpp"

namespace jitterscope {

/// One or two sentences; empty if the device idles for less than a fifth of the time, or nothing tells why.
std::string what_helps(const CaptureRecord& record, const CaptureDevice& device);

}  // namespace jitterscope
