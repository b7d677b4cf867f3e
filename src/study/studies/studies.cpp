#include "study/studies/studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"
#include "study/answers.hpp"
#include "study/parallel_studies.hpp"

namespace jitterscope::study::studies {

void require_streams(const StudyContext& context) {
  if (context.description.capabilities.chains_have_streams) return;
  throw UsageError(
      context.description.id +
      " runs one launch after the other, but this study needs several at once: use a GPU, or a simulated "
      "one (--device cuda or virtual)");
}

bool can_be_step(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  if (std::holds_alternative<Chain>(parameters) || std::holds_alternative<Aten>(parameters)) return false;
  if (std::holds_alternative<Spin>(parameters)) return false;
  const auto* copy = std::get_if<Copy>(&parameters);
  return copy == nullptr || copy->kind == CopyKind::d2d || copy->memory == HostMemory::pinned;
}

Arm arm_of(std::string name, std::function<Operation(const Operation&)> make, Remedy remedy) {
  return {
      .name = std::move(name),
      .apply = [make = std::move(make)](OperationTrial& trial) { trial.operation = make(trial.operation); },
      .remedy = std::move(remedy)};
}

Arm chain_arm(std::string name, Instrument instrument, const std::function<Chain(const Operation&)>& make,
              Remedy remedy) {
  return {.name = std::move(name),
          .apply =
              [instrument, make](OperationTrial& trial) {
                trial.operation = Operation(make(trial.operation));
                trial.options.instrument = instrument;
              },
          .remedy = std::move(remedy)};
}

Arm in_queue(Arm arm, QueueMode queue) {
  arm.apply = [apply = std::move(arm.apply), queue](OperationTrial& trial) {
    apply(trial);
    trial.options.queue = queue;
  };
  return arm;
}

const Comparison* comparison_with(const ComparisonRecord& record, std::size_t alternative) {
  const auto found = std::ranges::find_if(record.comparisons, [&](const Comparison& comparison) {
    return comparison.failure.empty() && comparison.alternative == alternative;
  });
  return found == record.comparisons.end() ? nullptr : &*found;
}

const Comparison* comparison_with_bound(const StudyResult& result) {
  const auto bound = std::ranges::find(result.arms, true, &Arm::is_bound);
  return comparison_with(result.record, static_cast<std::size_t>(bound - result.arms.begin()));
}

const CudaKernel* kernel_of(const Operation& operation) {
  return std::get_if<CudaKernel>(&operation.parameters());
}

const Chain* chain_of(const Operation& operation) { return std::get_if<Chain>(&operation.parameters()); }

Nanoseconds added_time(const Comparison& comparison) {
  return comparison.second.time.median - comparison.first.time.median;
}

}  // namespace jitterscope::study::studies

namespace jitterscope::study {

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = {
      studies::layout(),     studies::precision(), studies::engine(),        studies::batch(),
      studies::graph(),      studies::pinned(),    studies::compiler(),      studies::occupancy(),
      studies::streams(),    studies::overlap(),   studies::dependencies(),  studies::synchronization(),
      studies::priorities(), studies::tiling(),    studies::waves(),         studies::access(),
      studies::hierarchy(),  studies::allocator(), studies::fragmentation(), studies::fusion()};
  return studies;
}

std::vector<std::string> subjects_of(const Study& study, const DeviceDescription& device) {
  const bool of_host = device.capabilities.is_host && !study.host_subject.empty();
  std::istringstream lines(study.make_subject != nullptr ? study.make_subject(device)
                           : of_host                     ? study.host_subject
                                                         : study.subject);
  std::vector<std::string> subjects;
  for (std::string line; std::getline(lines, line);) subjects.push_back(line);
  return subjects;
}

std::vector<StudySummary> list_studies() {
  std::vector<StudySummary> list;
  for (const Study& study : all_studies()) list.push_back({study.id, study.question, study.concerns});
  list.push_back(kLossScaling);
  for (const ParallelStudy& study : parallel_studies()) list.push_back(study.summary);
  return list;
}

const Study& find_study(const std::string& id) {
  const auto found = std::ranges::find(all_studies(), id, &Study::id);
  if (found != all_studies().end()) return *found;
  if (id == kLossScaling.id)
    throw UsageError(
        "the study loss-scaling trains a model, and has no arms: jitterscope study loss-scaling");
  if (find_parallel_study(id) != nullptr)
    throw UsageError(
        fmt::format("the study {0} times a network between ranks, and has no arms for one "
                    "operation: jitterscope study {0} NETWORK --local 2",
                    id));
  std::vector<std::string> known;
  for (const StudySummary& study : list_studies()) known.emplace_back(study.id);
  throw UsageError(fmt::format("there is no study '{}'{}", printable(id, 60), suggestion(id, known)));
}

}  // namespace jitterscope::study
