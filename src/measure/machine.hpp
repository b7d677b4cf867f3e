// The machine and the moment, for the record.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// Host facts that can be read without rights: host name, kernel, CPU, governor, virtualisation, container,
/// memory, operating system. What cannot be read is left out.
Environment read_environment(std::string command_line);

/// The product that runs this virtual machine; empty where none is seen.
std::string hypervisor();

// The best rates seen on this very device, and the proof that eviction evicts.

/// Bandwidth of a large copy, and FLOP/s of a large product in each of the data types: fastest of a few
/// bursts. A type that the device's library cannot multiply is left out.
Ceilings measure_ceilings(Session& session, std::span<const DataType> types);

/// Copies a probe after one eviction, after four, and warm. Proven where one evicts as well as four, within
/// 5 %, and over 5 % slower than none.
CacheProof prove_cold(Session& session);

}  // namespace jitterscope
