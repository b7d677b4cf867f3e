// Studies: recommended remedies for slow work, what each changes, and what each outcome means.
#pragma once

#include <functional>
#include <optional>
#include <string>
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

/// One way to do the work.
struct Arm {
  std::string name;
  /// Changes a trial of the original work into one of this arm. Throws UsageError if the operation cannot be
  /// run in this way.
  std::function<void(OperationTrial&)> apply;
  double work = 1.0;  ///< amount of the first arm's work that one launch does
  /// It leaves out what its results need, to show that they are wrong then.
  bool is_to_be_wrong = false;
  bool is_remedy = true;  ///< else it only shows a cost of another arm, and advise does not try it
};

/// The facts that decide which arms there are.
struct StudyContext {
  Device& device;
  DeviceDescription description;
  std::vector<Operation> operations;  ///< that the study concerns; at least one
};

/// How to get an arm in a program, and what it costs there.
struct Remedy {
  /// Code to write, with `model` and `batch` in PyTorch, where all lines are Python; may be empty.
  std::vector<std::string> lines;
  std::string price;                 ///< a sentence on what the times leave out; empty if nothing
  std::string place = "In PyTorch";  ///< where the lines belong
};

struct Study {
  std::string id = {};           ///< layout, precision…
  std::string question = {};     ///< one sentence
  std::string concerns = {};     ///< the work that it applies to, in words
  bool changes_amount = false;   ///< arms do different amounts of work, and gain for each sample
  bool varies_type = false;      ///< the first arm has the types in which PyTorch runs the work
  bool saves_host_time = false;  ///< arms only gain if launches wait for the host
  bool is_remedy = true;         ///< advise tries its arms; else they only show what a machine does
  bool counts_memory = false;    ///< memory traffic is counted, if the device has counters
  bool traces_kernels = false;   ///< after the times, one launch of each arm is traced
  /// Returns its default subject: operations or sweeps that the device can run, one on each line.
  std::string (*subject)(const DeviceDescription&) = nullptr;
  bool (*can_be_asked_of)(const Operation&) = nullptr;
  /// Returns the arms. The first is the work without the remedy; the others are compared with it. Throws
  /// UsageError with the reason if there is no second arm.
  std::vector<Arm> (*arms)(const StudyContext&) = nullptr;
  Remedy (*remedy)(const std::string& arm) = nullptr;
  /// The remedy for kernels of the user's own, if it differs; else null.
  Remedy (*kernel_remedy)(const std::string& arm) = nullptr;
  /// Returns what a launch does, to be shown beside its time; null if the study shows no amount.
  std::optional<Amount> (*amount)(const Operation&) = nullptr;
  /// Returns sentences for the user, the most important first.
  std::vector<std::string> (*answer)(const ComparisonRecord&) = nullptr;
};

/// Returns `kernel_remedy` if all operations are kernels of the user's own and it exists; else `remedy`.
Remedy remedy_of(const Study&, const std::string& arm, const std::vector<Operation>&);

/// Returns the lines of the study's default subject.
std::vector<std::string> subjects_of(const Study&, const DeviceDescription&);

/// Returns the studies that compare operations, in the order of lists.
const std::vector<Study>& all_studies();
/// Returns all studies that the command `study` takes.
std::vector<StudySummary> list_studies();
/// Throws UsageError that names the nearest study.
const Study& find_study(const std::string& id);

}  // namespace jitterscope::study
