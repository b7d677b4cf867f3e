// The machine and the moment, for the record.
#pragma once

#include <string>

#include "measure/run_record.hpp"

namespace jitterscope {

/// Host facts that can be read without rights: host name, kernel, CPU, governor, virtualisation, container,
/// memory, operating system. What cannot be read is left out.
Environment read_environment(std::string command_line);

/// The product that runs this virtual machine; empty where none is seen.
std::string hypervisor();

}  // namespace jitterscope
