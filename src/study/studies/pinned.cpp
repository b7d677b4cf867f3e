// Pinned. Varies how the host's side of a copy is allocated. Reports time by size, so that one sees from
// which size on it pays. Can go wrong: pinning itself takes long, and these times do not hold it; page-locked
// memory is missing elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

using statistics::EffectVerdict;

bool is_host_copy(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  return copy != nullptr && copy->kind != CopyKind::d2d;
}

Arm pinned_arm(HostMemory memory) {
  return {std::string(to_string(memory)), [memory](Trial& trial) {
            Copy copy = std::get<Copy>(trial.operation.parameters());
            copy.memory = memory;
            trial.operation = Operation(copy);
          }};
}

std::vector<Arm> pinned_arms(const StudyContext& context) {
  if (context.description.capabilities.is_host) {
    throw UsageError(context.description.id + ": there is no copy between host and device on a CPU");
  }
  return {pinned_arm(HostMemory::pageable), pinned_arm(HostMemory::pinned)};
}

std::string pinned_subject(const DeviceDescription&) { return "copy:bytes=4Ki..128Mi*8,kind=h2d"; }

const Copy& copy_of(const Comparison& comparison) {
  return std::get<Copy>(std::get<Operation>(comparison.second.subject).parameters());
}

// Sizes at which pinned memory is shown to be faster, the smallest first.
std::vector<const Comparison*> sizes_that_pay(const ComparisonRecord& record) {
  std::vector<const Comparison*> sizes;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty() && !is_wrong(comparison) && comparison.verdict == EffectVerdict::faster) {
      sizes.push_back(&comparison);
    }
  }
  std::ranges::sort(sizes, {}, [](const Comparison* comparison) { return copy_of(*comparison).bytes; });
  return sizes;
}

Remedy pinned_remedy(const std::string&) {
  return {
      {"loader = DataLoader(dataset, batch_size, pin_memory=True)",
       "batch = batch.to(\"cuda\", non_blocking=True)"},
      "Pinning takes longer than a copy and is not in these times: pin a buffer once and use it again, not each "
      "batch anew."};
}

std::vector<std::string> pinned_answer(const ComparisonRecord& record) {
  const std::vector<const Comparison*> sizes = sizes_that_pay(record);
  if (sizes.empty()) return answer_by_fastest(record, pinned_remedy);
  const Comparison& largest = *sizes.back();
  std::vector<std::string> sentences = {
      fmt::format("**Copies of {} from pinned memory are {}**; it pays from {} on.",
                  bytes_text(Bytes(copy_of(largest).bytes)), speed_against(largest.time, "pageable"),
                  bytes_text(Bytes(copy_of(*sizes.front()).bytes)))};
  sentences.push_back(remedy_sentence(pinned_remedy("pinned")));
  for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace

Study pinned() {
  return {.id = "pinned",
          .question = "From which size on does pinned host memory pay?",
          .concerns = "copies between host and device",
          .subject = pinned_subject,
          .can_be_asked_of = is_host_copy,
          .arms = pinned_arms,
          .remedy = pinned_remedy,
          .answer = pinned_answer};
}

}  // namespace jitterscope::study::studies
