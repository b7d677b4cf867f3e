// Writes, reads, prints and draws the record of `collectives`: transfers and waits of the ranks of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/collectives.hpp"
#include "output/html.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// One collective at one size. Bytes, elements, type and busbw's factor are written beside it, so that a
/// reader of the file need not read the operation.
struct CollectiveRow {
  std::string collective;        ///< all_reduce, …
  Bytes bytes;                   ///< what nccl-tests calls size
  std::int64_t elements = 0;     ///< bytes over the size of the type
  std::string dtype, reduction;  ///< reduction: "none" where nothing is combined
  std::int64_t root = -1;        ///< -1: there is none
  double bus_factor = 1.0;       ///< busbw over algbw
  CollectiveResult result;
  std::string failure = {};  ///< why it has no time; empty if it has one
};

/// A rank of the job.
struct CollectiveRank {
  std::string host;
  DeviceDescription device;
  std::vector<LinkRates> links =
      {};  ///< to each other rank, measured by copies; empty if that was not possible
};

struct CollectivesRecord {
  Environment environment;
  DeviceDescription device;  ///< of rank 0
  std::vector<CollectiveRank> ranks;
  std::string library;             ///< "NCCL 2.28.9"; empty if it is not known
  std::vector<Property> settings;  ///< NCCL_… of the environment
  std::int64_t groups = 0;         ///< of fresh processes that were asked for
  std::vector<std::string> notes;  ///< sentences, as of a group that was lost
  std::vector<CollectiveRow> rows;
  bool interrupted = false;
};

/// nccl-tests' bandwidths of one call, bytes/s.
double algorithm_bandwidth(const CollectiveRow& row, Nanoseconds time);
double bus_bandwidth(const CollectiveRow& row, Nanoseconds time);

/// The rows of one collective, by size.
struct RowsOfCollective {
  std::string collective, dtype, reduction;
  std::int64_t root = -1;
  std::vector<const CollectiveRow*> rows;  // by size
};
std::vector<RowsOfCollective> collectives_of(const CollectivesRecord& record);
/// Returns "all_reduce, bf16, sum".
std::string collective_name(const RowsOfCollective& rows);

std::string write_record(const CollectivesRecord& record);
Text record_text(const CollectivesRecord& record, const ShownPage& shown);
Headline headline_of(const CollectivesRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, CollectivesRecord& record);

/// True if a result was compared with what it must be and had wrong elements.
bool has_wrong_elements(const CollectivesRecord& record);
/// Returns the half-width of the widest interval of a transfer over its time; infinite for one group.
double widest_precision(const CollectivesRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const CollectivesRecord& record);

}  // namespace jitterscope::report
