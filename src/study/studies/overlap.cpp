// Overlap. Varies into how many pieces a copy to the device, the work and the copy back are cut, and over how
// many streams the pieces are spread. Reports the time of all, and how much of the copies' time is hidden
// behind other pieces. Can go wrong: pageable memory cannot be copied beside anything, so both sides are
// pinned here; small pieces use neither link nor device well.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "study/answers.hpp"
#include "study/batch_size.hpp"
#include "study/studies/chain_arms.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

using statistics::EffectVerdict;

constexpr const char* kInOrder = "one after the other";
constexpr const char* kWorkAlone = "without copies";

// Copies are checked as f32, and a piece is a part of the batch.
bool can_be_cut(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  const std::int64_t* batch = batch_of(parameters);
  if (batch == nullptr || *batch % 2 != 0 || !can_be_step(operation)) return false;
  const std::vector<Operand> operands = operation.operands();
  const Operand* input = first_operand(operands, OperandRole::input);
  const Operand* output = first_operand(operands, OperandRole::output);
  return input != nullptr && output != nullptr && input == operands.data() && input->dtype == DataType::f32 &&
         output->dtype == DataType::f32;
}

bool batch_parts_evenly(const Operation& operation, std::int64_t pieces) {
  Operation::Parameters parameters = operation.parameters();
  return *batch_of(parameters) % pieces == 0;
}

Operation piece_of(const Operation& operation, std::int64_t pieces) {
  Operation::Parameters parameters = operation.parameters();
  *batch_of(parameters) /= pieces;
  return {parameters};
}

Chain pipeline(const Operation& operation, std::int64_t pieces, std::int64_t streams) {
  const Operation piece = piece_of(operation, pieces);
  const std::vector<Operand> operands = piece.operands();
  const auto copy = [&](OperandRole role, CopyKind kind) {
    return Operation(Copy{.bytes = first_operand(operands, role)->bytes().value(), .kind = kind});
  };
  return {.steps = {copy(OperandRole::input, CopyKind::h2d), piece, copy(OperandRole::output, CopyKind::d2h)},
          .lanes = pieces,
          .streams = streams};
}

std::vector<Arm> overlap_arms(const StudyContext& context) {
  require_streams(context);
  std::vector<Arm> arms = {chain_arm(kInOrder, Instrument::events,
                                     [](const Operation& operation) { return pipeline(operation, 1, 1); })};
  const auto add = [&](std::int64_t pieces, std::int64_t streams) {
    const bool fits = std::ranges::all_of(context.operations, [pieces](const Operation& operation) {
      return batch_parts_evenly(operation, pieces);
    });
    if (!fits) return;
    arms.push_back(
        chain_arm(fmt::format("{} pieces, {} streams", pieces, streams), Instrument::events,
                  [=](const Operation& operation) { return pipeline(operation, pieces, streams); }));
  };
  add(2, 2);
  add(4, 2);
  add(4, 3);
  add(8, 2);
  add(8, 3);
  arms.push_back(chain_arm(kWorkAlone, Instrument::events,
                           [](const Operation& operation) { return Chain{.steps = {operation}}; }));
  return arms;
}

// On an H200 its product takes about as long as each of the two copies.
std::string overlap_subject(const DeviceDescription&) { return "linear:n=16Ki,in=1024,out=1024"; }

Remedy overlap_remedy(const std::string& arm) {
  const std::string pieces = arm.substr(0, arm.find(' '));
  const std::size_t comma = arm.find(", ");
  const std::string streams = comma == std::string::npos ? "1" : arm.substr(comma + 2, 1);
  return {{fmt::format("streams = [torch.cuda.Stream() for _ in range({})]", streams),
           fmt::format("for i, piece in enumerate(batch.chunk({})):  # of pinned memory", pieces),
           "    with torch.cuda.stream(streams[i % len(streams)]):",
           "        output[i].copy_(model(piece.to(\"cuda\", non_blocking=True)), non_blocking=True)"},
          "Both sides of the copies are pinned here; from pageable memory nothing overlaps."};
}

// What the copies take one after the other is all but the work; what a pipeline saves of that is hidden.
std::string hidden_sentence(const ComparisonRecord& record, const Comparison& best, const Comparison& alone) {
  const double copies = 1.0 - alone.time.ratio;
  const double hidden = (1.0 - best.time.ratio) / copies;
  const double low = (1.0 - best.time.high) / (1.0 - alone.time.low);
  const double high = (1.0 - best.time.low) / (1.0 - alone.time.high);
  return fmt::format(
      "The copies take {:.0f} % of the time one after the other; {} hides {:.0f} % of them ({:.0f} to {:.0f} %).",
      100.0 * copies, record.alternatives[best.alternative], 100.0 * hidden, 100.0 * low, 100.0 * high);
}

bool is_pipeline(const ComparisonRecord& record, const Comparison& comparison) {
  return comparison.failure.empty() && record.alternatives[comparison.alternative] != kWorkAlone;
}

std::vector<std::string> overlap_answer(const ComparisonRecord& record) {
  // Without copies is less work: it is there to tell what they take.
  ComparisonRecord pipelines = record;
  std::erase_if(pipelines.comparisons,
                [&](const Comparison& comparison) { return !is_pipeline(record, comparison); });
  std::vector<std::string> sentences = answer_by_fastest(pipelines, overlap_remedy);
  const Comparison* alone = comparison_with(record, kWorkAlone);
  const Comparison* best = nullptr;
  for (const Comparison& comparison : record.comparisons) {
    if (!is_pipeline(record, comparison) || alone == nullptr) continue;
    if (comparison.first.subject != alone->first.subject || is_wrong(comparison)) continue;
    if (comparison.verdict != EffectVerdict::faster) continue;
    if (best == nullptr || comparison.time.ratio < best->time.ratio) best = &comparison;
  }
  if (best != nullptr && !is_wrong(*alone) && alone->time.high < 1.0) {
    sentences.insert(sentences.begin() + 1, hidden_sentence(record, *best, *alone));
  }
  return sentences;
}

}  // namespace

Study overlap() {
  return {
      .id = "overlap",
      .question = "How much of the copies to and from the device can be hidden behind work?",
      .concerns = "operations of f32 with an even batch, whose first input is copied in and first output out",
      .is_remedy = false,
      .subject = overlap_subject,
      .can_be_asked_of = can_be_cut,
      .arms = overlap_arms,
      .remedy = overlap_remedy,
      .answer = overlap_answer};
}

}  // namespace jitterscope::study::studies
