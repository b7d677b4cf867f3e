// Writes, reads and prints the record of `replay`: a program's calls, each run again alone and in sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/account.hpp"
#include "measure/run_record.hpp"
#include "operation/model.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// GPU work of a program that is not replayed.
struct UnreplayedWork {
  std::string kind;  ///< completes "4 %": "fused Triton kernels"
  std::int64_t calls = 0;
  std::optional<Nanoseconds> time = {};  ///< recorded for all of them; nullopt: unknown
  std::string example, reason;           ///< one of them, and why
};

/// All calls of a program that run the same operation.
struct ReplayedCall {
  std::vector<std::string> layers;  ///< the record's names for them
  std::int64_t count = 1;
  std::string operation = {}, provider = {}, algorithm = {};
  std::optional<TimeEstimate> in_program = {};  ///< one call; nullopt: the record has no times
  std::optional<TimeEstimate> warm = {}, cold = {}, in_sequence = {};
  std::optional<explain::Account> account = {};  ///< from alone to the program, if both are known
  std::string failure = {};                      ///< why it gave no time
};

struct ReplayedSequence {
  std::int64_t calls = 0, timed = 0;
  std::int64_t connected = 0;                  ///< calls that read or write memory of an earlier one
  Nanoseconds time;                            ///< sum over the timed calls
  std::optional<Nanoseconds> in_program = {};  ///< the same calls' recorded sum
};

struct ReplayRecord {
  Environment environment;
  DeviceDescription device;
  std::string source, format;                    ///< the file, and its kind
  std::string recorded_device, recorded_cudnn;   ///< empty if unknown
  std::optional<Nanoseconds> recorded_gpu_time;  ///< of the whole record; nullopt: it has no times
  /// Of that: work that can be replayed here, and what of it was replayed.
  std::optional<Nanoseconds> replayable_time, replayed_time;
  std::int64_t replayable_calls = 0, recorded_calls = 0;
  std::vector<UnreplayedWork> unreplayed;  ///< the longest first
  std::vector<ReplayedCall> calls;         ///< those with the largest recorded time first
  std::optional<ReplayedSequence> sequence;
  std::int64_t processes = 0;
  std::vector<std::string> unknown;  ///< sentences: parts that the source cannot know
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// Fills shares, calls and sentences from the program's calls and the times that they took here. The first
/// layers of the model are the record's entries.
void account_for_replay(const Model& program, const RunRecord& times, ReplayRecord& record);

std::string write_record(const ReplayRecord& record);
Text record_text(const ReplayRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const ReplayRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, ReplayRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

/// Draws the way from alone to the program, of all calls and of the longest ones.
std::vector<Plot> plots_of(const ReplayRecord& record);

}  // namespace jitterscope::report
