// Describes the machine and its software for the record, and measures its best rates.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// Reads facts about the host that need no rights: host name, kernel, CPU, governor, virtualisation,
/// container, memory, operating system. Leaves out what cannot be read.
Environment read_environment(std::string command_line);

/// Returns the product that runs this virtual machine; empty if none is seen.
std::string hypervisor();

/// Measures the bandwidth of a large copy, and the FLOP/s of a large product in each data type: the fastest
/// of a few bursts. Leaves out types that the device's library cannot multiply.
Ceilings measure_ceilings(Session& session, std::span<const DataType> types);

/// Measures this rank's link to each other rank, by large copies: one way by the fastest of a few bursts,
/// while no other rank copies; both ways while the other rank copies, too. All ranks call it, and it waits
/// for them. Throws UsageError on every rank if the devices have no links.
std::vector<LinkRates> measure_links(Session& session, Ranks& ranks);

/// Times a probe copy after one eviction, after four, and warm. Proven if one evicts as well as four, within
/// 5 %, and is over 5 % slower than none.
CacheProof prove_cold(Session& session);

}  // namespace jitterscope
