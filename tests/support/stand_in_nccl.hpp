// What NCCL without a GPU can be told to do, for the tests that use it.
#pragma once

namespace jitterscope::stand_in {

/// What the rank STAND_IN_NCCL_RANK does in place of its work; every rank works if it is not set.
inline constexpr const char* kNcclFault = "STAND_IN_NCCL_FAULT";
inline constexpr const char* kNcclFaultyRank = "STAND_IN_NCCL_RANK";
inline constexpr const char* kNcclLies = "lies";        ///< the first element of each result is one too large
inline constexpr const char* kNcclStalls = "stalls";    ///< its collectives never end
inline constexpr const char* kNcclDies = "dies";        ///< the process ends at its first collective
inline constexpr const char* kNcclReports = "reports";  ///< an error is found while collectives run
inline constexpr const char* kNcclRefuses = "refuses";  ///< each collective is answered with an error

/// Code of its version, as ncclGetVersion gives it; kNcclVersion if it is not set.
inline constexpr const char* kNcclVersionCode = "STAND_IN_NCCL_VERSION";
inline constexpr int kNcclVersion = 22809;

/// File to which each communicator appends "destroyed" or "aborted" when it ends, if it is set.
inline constexpr const char* kNcclState = "STAND_IN_NCCL_STATE";

/// Name and type of a function: how many collectives of this process are not done yet. A stand-in for the
/// driver asks it, so that events pass when collectives do.
inline constexpr char kNcclPendingName[] = "stand_in_nccl_pending";
using NcclPending = int();

}  // namespace jitterscope::stand_in
