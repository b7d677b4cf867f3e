// Writes, reads, prints and draws the record of a study of a step between ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/parallel_steps.hpp"
#include "output/html.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "study/parallel_studies.hpp"

namespace jitterscope {

struct ParallelStudyRank {
  std::string host, device;     ///< its name: NVIDIA H200
  TimeEstimate computing = {};  ///< its own step, without an exchange
};

struct ParallelStudyCut {
  CutComputing computing;       ///< of the slowest rank
  Nanoseconds from_whole = {};  ///< the step as planned if each cut layer took 1/N of its time
};

struct ParallelStudyArm {
  std::string name;
  std::int64_t parts = 1;          ///< in which layers are cut, one for each rank
  std::int64_t stages = 1;         ///< ranks that share the network's layers
  std::int64_t micro_batches = 1;  ///< in which the batch is cut
  std::int64_t exchanges = 0;      ///< collectives of a step, or of `steps`
  std::int64_t steps = 1;          ///< between two exchanges
  Bytes memory = {};               ///< weights, gradients, optimizer and activations of a rank, as planned
  Nanoseconds simulated = {};      ///< the step as planned; 0: not known
  StepTimes times;
  std::optional<ParallelStudyCut> cut = {};         ///< of an arm in parts whose calls were timed
  std::optional<study::PipelineArm> pipeline = {};  ///< of an arm in stages whose layers were timed
  std::string failure = {};                         ///< why it has no times; empty if it has
};

struct ParallelStudyRecord {
  Environment environment;
  DeviceDescription device;        ///< of rank 0
  std::string study, question;     ///< data-parallel
  std::string network;             ///< as typed
  std::int64_t samples = 0;        ///< of a step: of each rank's own, or of all that share its layers
  Bytes weights;                   ///< the gradients have the same size
  std::string dtype;               ///< in which gradients are exchanged
  std::string library;             ///< "NCCL 2.28.9"; empty if it is not known
  std::vector<Property> settings;  ///< NCCL_… of the environment
  std::int64_t groups = 0;         ///< of fresh processes that gave times
  std::vector<ParallelStudyRank> ranks;
  std::int64_t slowest = 0;   ///< the rank that computes longest
  TimeEstimate waiting = {};  ///< of the others for it, mean over ranks
  std::vector<ParallelStudyArm> arms;
  std::vector<std::string> answers;  ///< sentences, the most important first
  std::vector<std::string> notes;    ///< sentences, as of a group that was lost
  bool interrupted = false;
};

std::string write_record(const ParallelStudyRecord& record);
Text record_text(const ParallelStudyRecord& record, const ShownPage& shown);
Headline headline_of(const ParallelStudyRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, ParallelStudyRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ParallelStudyRecord& record);

}  // namespace jitterscope::report
