// Remedies that are recommended for slow work, each as something to try: what it changes, and what each
// outcome says.
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
  /// Makes this arm's trial of one that is as the user asked for. Throws UsageError where the operation
  /// cannot be run so.
  std::function<void(OperationTrial&)> apply;
  double work = 1.0;  ///< how much of the first arm's work one launch does
  /// It leaves out what its results need, to show that they are wrong then.
  bool is_to_be_wrong = false;
  bool is_remedy = true;  ///< else it shows what another arm costs besides, and advise does not try it
};

/// What decides which arms there are.
struct StudyContext {
  Device& device;
  DeviceDescription description;
  std::vector<Operation> operations;  ///< that the study concerns; at least one
};

/// How a person gets an arm in a program, and what it costs there.
struct Remedy {
  /// To write, with `model` and `batch` in PyTorch, where together they are Python; empty: there are none.
  std::vector<std::string> lines;
  std::string price;  ///< a sentence: what the times do not hold; empty where nothing is left out
  std::string place = "In PyTorch";  ///< where the lines belong
};

struct Study {
  std::string id = {};           ///< layout, precision…
  std::string question = {};     ///< one sentence
  std::string concerns = {};     ///< the work that it can be asked of, in words
  bool changes_amount = false;   ///< arms do unlike amounts of work, and gain for each sample
  bool varies_type = false;      ///< the first arm has the types that PyTorch runs the work in
  bool saves_host_time = false;  ///< arms gain only where launches wait for the host
  bool is_remedy = true;         ///< advise tries its arms; else they only show what a machine does
  bool counts_memory = false;    ///< what memory moves is counted, where the device counts
  bool traces_kernels = false;   ///< behind the times one launch of each arm is traced
  /// What it is asked of where the user names nothing: operations or sweeps that the device can run, a line
  /// each.
  std::string (*subject)(const DeviceDescription&) = nullptr;
  bool (*can_be_asked_of)(const Operation&) = nullptr;
  /// The first is the work as it is without the remedy; the others are compared with it. Throws UsageError
  /// where there is no second one, with the reason.
  std::vector<Arm> (*arms)(const StudyContext&) = nullptr;
  Remedy (*remedy)(const std::string& arm) = nullptr;
  /// For kernels of a user's own, where that is another one; else null.
  Remedy (*kernel_remedy)(const std::string& arm) = nullptr;
  /// What a launch does, where that is to stand beside its time; null where it is not.
  std::optional<Amount> (*amount)(const Operation&) = nullptr;
  /// Sentences for a person who asked the question, the most important first.
  std::vector<std::string> (*answer)(const ComparisonRecord&) = nullptr;
};

/// As `remedy` says, or `kernel_remedy` where all operations are kernels of a user's own.
Remedy remedy_of(const Study&, const std::string& arm, const std::vector<Operation>&);

/// The lines of its own subject.
std::vector<std::string> subjects_of(const Study&, const DeviceDescription&);

/// Those that compare operations, in the order in which they are listed.
const std::vector<Study>& all_studies();
/// Of all that `study` takes.
std::vector<StudySummary> list_studies();
/// Throws UsageError that names the nearest.
const Study& find_study(const std::string& id);

}  // namespace jitterscope::study
