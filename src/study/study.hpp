// Studies: recommended remedies for slow work, what each changes, and what each outcome means.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "experiment/comparison.hpp"
#include "jitterscope/measure.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope::study {

/// An operation under conditions, as arms change both.
struct OperationTrial {
  Operation operation;
  MeasureOptions options;
};

/// How to get an arm in a program, and what it costs there.
struct Remedy {
  /// Code to write, with `model` and `batch` in PyTorch, where all lines are Python; may be empty.
  std::vector<std::string> lines;
  std::string price = {};            ///< a sentence on what the times leave out; empty if nothing
  std::string place = "In PyTorch";  ///< where the lines belong
};

// Values that arms set, where an answer looks at them.

struct AllAsOne {};  ///< one launch as large as all
/// One launch for all steps of a chain.
struct FusedSteps {
  bool in_graph = false;
};
struct SharedMemory {};  ///< more shared memory for a block
struct OlderGpu {};      ///< code for another GPU
/// A tile in shared memory of which a warp reads a column.
struct TransposedTile {
  bool is_padded = false;
};
/// A level of memory, and whether it is one that a list of all levels leaves to a sentence of its own.
struct MemoryLevel {
  enum class Place { near_half, far_half, host_latency, host_bandwidth, other };
  std::string name;
  Place place = Place::other;
};
using ArmValue = std::variant<std::monostate, DataType, QueueMode, WaitAfter, AllAsOne, FusedSteps,
                              SharedMemory, OlderGpu, TransposedTile, MemoryLevel>;

/// One way to do the work.
struct Arm {
  std::string name;
  /// Changes a trial of the original work into one of this arm. Throws UsageError if the operation cannot be
  /// run in this way.
  std::function<void(OperationTrial&)> apply;
  Remedy remedy = {};
  std::optional<Remedy> kernel_remedy = {};  ///< for kernels of the user's own, if it differs
  ArmValue value = {};
  double work = 1.0;  ///< amount of the first arm's work that one launch does
  /// It leaves out what its results need, to show that they are wrong then.
  bool is_to_be_wrong = false;
  bool is_remedy = true;  ///< else it only shows a cost of another arm, and advise does not try it
  bool is_bound = false;  ///< it does less than the work, to show the rest: no answer calls it the fastest
};

/// The facts that decide which arms there are.
struct StudyContext {
  Device& device;
  DeviceDescription description;
  std::vector<Operation> operations;  ///< that the study concerns; at least one
};

/// The measured arms of a study: those of the record's alternatives, in their order.
struct StudyResult {
  const ComparisonRecord& record;
  std::span<const Arm> arms;
};
/// Sentences for the user, the most important first.
using Sentences = std::vector<std::string>;

struct Study {
  std::string id = {};              ///< layout, precision…
  std::string question = {};        ///< one sentence
  std::string concerns = {};        ///< the work that it applies to, in words
  bool changes_amount = false;      ///< arms do different amounts of work, and gain for each sample
  bool varies_type = false;         ///< the first arm has the types in which PyTorch runs the work
  bool saves_host_time = false;     ///< arms only gain if launches wait for the host
  bool is_remedy = true;            ///< advise tries its arms; else they only show what a machine does
  bool counts_memory = false;       ///< memory traffic is counted, if the device has counters
  bool traces_kernels = false;      ///< after the times, one launch of each arm is traced
  bool is_about_kernels = false;    ///< a simulated GPU, which does not run kernels, cannot answer it
  bool asks_for_reference = false;  ///< the answer says what results were compared with
  bool shows_what_ran = false;      ///< the answer names the code that ran in each arm
  /// Its default subject: operations or sweeps that any device can run, one on each line.
  std::string subject = {};
  std::string host_subject = {};  ///< the subject on a CPU, if it differs
  /// Returns the subject if it depends on more of the device; else null.
  std::string (*make_subject)(const DeviceDescription&) = nullptr;
  bool (*can_be_asked_of)(const Operation&) = nullptr;
  /// Returns the arms. The first is the work without the remedy; the others are compared with it. Throws
  /// UsageError with the reason if there is no second arm.
  std::vector<Arm> (*arms)(const StudyContext&) = nullptr;
  /// Returns what a launch does, to be shown beside its time; null if the study shows no amount.
  std::optional<Amount> (*amount)(const Operation&) = nullptr;
  /// Returns the answer; null: which arm is the fastest, and how to get it.
  Sentences (*answer)(const StudyResult&) = nullptr;
  /// Returns sentences that follow the first one of the answer, and those at its end; null: none.
  Sentences (*reasons)(const StudyResult&) = nullptr;
  Sentences (*details)(const StudyResult&) = nullptr;
};

/// Returns `kernel_remedy` if all operations are kernels of the user's own and it exists; else `remedy`.
const Remedy& remedy_of(const Arm&, const std::vector<Operation>&);

/// Returns the lines of the study's default subject.
std::vector<std::string> subjects_of(const Study&, const DeviceDescription&);

/// Returns what the study's outcome means; `arms` are those of the record's alternatives, in their order.
Sentences answer_of(const Study&, const ComparisonRecord&, std::span<const Arm> arms);

/// Returns the studies that compare operations, in the order of lists.
const std::vector<Study>& all_studies();
/// Returns all studies that the command `study` takes.
std::vector<StudySummary> list_studies();
/// Throws UsageError that names the nearest study.
const Study& find_study(const std::string& id);

}  // namespace jitterscope::study
