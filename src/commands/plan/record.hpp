// Writes, reads, prints and draws the record of `plan`: forecasts of a network's step on more GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// A time with its 95 % interval.
struct ForecastTime {
  Nanoseconds value, low, high;
};

/// One arrangement's step. Idle times are means over the ranks.
struct ForecastStep {
  std::string arrangement;  ///< "DP 4 × TP 2, ZeRO 1"
  std::int64_t data = 1, tensor = 1, pipeline = 1;
  ForecastTime step;
  double samples_per_second = 0, speedup = 0;
  Nanoseconds computing, bubble, exposed, straggler, launch, hidden;
  Bytes weights, gradients, optimizer, activations;  ///< the peak of the rank that needs most
  bool fits = true;
  bool is_assumed = false;  ///< some exchange costs what the user said
  std::optional<Nanoseconds> straggler_adds = {};
  std::string limit;  ///< what takes most of the time beside computing

  Bytes memory() const { return weights + gradients + optimizer + activations; }
};

struct ForecastRanks {
  std::int64_t ranks = 0;
  std::int64_t considered = 0, fitting = 0;  ///< arrangements
  std::vector<ForecastStep> steps;           ///< those that fit first, then by time
};

/// The line through the measured times of one exchange, or what the user stated.
struct ForecastExchange {
  std::string exchange;
  std::int64_t ranks = 0;
  Nanoseconds alpha;
  double bytes_per_second = 0;
  double distance = 0;  ///< of the measured time that is farthest from the line, relative
  bool is_assumed = false;
};

/// A stretch of a rank's time in one step.
struct ForecastSpan {
  std::int64_t rank = 0;
  std::string phase;  ///< forward, backward, exchange
  std::string name;
  Nanoseconds begin, end;
};

struct ForecastRecord {
  Environment environment;
  DeviceDescription device;              ///< of the run's record
  std::string network;                   ///< as typed
  std::string from;                      ///< the run's file
  std::vector<std::string> collectives;  ///< files
  std::string times;                     ///< how the layers were timed: "in sequence", "cold bursts"
  std::int64_t samples = 0;              ///< of a micro-batch
  std::int64_t micro_batches = 1;        ///< of a step, for each rank
  std::int64_t gpus_per_host = 1, blocks = 0;
  Bytes weights, memory;           ///< of the network; of a GPU
  ForecastTime forward, backward;  ///< of a micro-batch on one GPU
  double straggler = 0.02;         ///< by how much one rank is slower in `straggler_adds`
  double compute_tax = 1.0, communication_tax = 1.0;
  std::vector<ForecastExchange> exchanges;
  std::vector<ForecastRanks> ranks;
  std::string drawn_arrangement;  ///< that the spans are of
  std::int64_t drawn_ranks = 0;
  std::vector<ForecastSpan> spans;
  std::vector<std::string> notes;  ///< sentences
  bool interrupted = false;
};

std::string write_record(const ForecastRecord& record);
Text record_text(const ForecastRecord& record, const ShownPage& shown);
Headline headline_of(const ForecastRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, ForecastRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const ForecastRecord& record);

}  // namespace jitterscope::report
