#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/samples.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Study of pinned memory. It varies how the host side of a copy is allocated: by malloc (pageable),
// page-locked by the driver (pinned), page-locked later, once (registered) or in each launch
// (registered_anew: the host's time includes pinning, copying and releasing), or page-locked and accessed by
// a kernel (mapped); with several NUMA nodes, also the node of pinned memory. It reports time by size, which
// shows from which size on each pays. Limits: pinning itself takes long, and only registered_anew includes
// it; page-locked memory is missing elsewhere; a mapped copy keeps the GPU's processors busy. Copies of a GiB
// take half a minute each and are not in the default subject.

namespace jitterscope::study::studies {
namespace {

using statistics::EffectVerdict;

constexpr std::string_view kOnNode = " on node ";

bool is_host_copy(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  return copy != nullptr && copy->kind != CopyKind::d2d;
}

// A launch that pins memory is the host's work: recordings, which read the other arms, cannot contain it.
Arm pinned_arm(HostMemory memory, std::int64_t node = -1) {
  std::string name(to_string(memory));
  if (node >= 0) name += fmt::format("{}{}", kOnNode, node);
  return {std::move(name), [memory, node](OperationTrial& trial) {
            Copy copy = std::get<Copy>(trial.operation.parameters());
            copy.memory = memory;
            if (node >= 0) copy.node = node;
            trial.operation = Operation(copy);
            if (memory == HostMemory::registered_anew) trial.options.queue = QueueMode::eager;
          }};
}

std::vector<Arm> pinned_arms(const StudyContext& context) {
  const DeviceCapabilities& can = context.description.capabilities;
  if (can.is_host) {
    throw UsageError(context.description.id + ": there is no copy between host and device on a CPU");
  }
  using enum HostMemory;
  std::vector<Arm> arms;
  for (const HostMemory memory : {pageable, pinned, registered, registered_anew, mapped}) {
    if (std::ranges::find(can.host_memories, memory) != can.host_memories.end())
      arms.push_back(pinned_arm(memory));
  }
  const bool has_nodes = can.memory_nodes.size() > 1;
  for (std::size_t i = 0; has_nodes && i < can.memory_nodes.size(); ++i)
    arms.push_back(pinned_arm(pinned, can.memory_nodes[i]));
  return arms;
}

std::string pinned_subject(const DeviceDescription&) { return "copy:bytes=4Ki..256Mi*16,kind=h2d"; }

const Copy& copy_of(const Comparison& comparison) {
  return std::get<Copy>(std::get<Operation>(comparison.second.subject).parameters());
}

std::int64_t size_of(const Comparison* comparison) { return copy_of(*comparison).bytes; }

// True for this kind of memory, placed by the system.
bool is_of(const Comparison& comparison, HostMemory memory) {
  return copy_of(comparison).memory == memory && copy_of(comparison).node < 0;
}

// Returns an arm's comparisons in which it is shown to be faster, the smallest size first.
std::vector<const Comparison*> sizes_that_pay(const ComparisonRecord& record, HostMemory memory) {
  std::vector<const Comparison*> sizes;
  for (const Comparison& comparison : record.comparisons) {
    if (is_of(comparison, memory) && has_time(comparison) && comparison.verdict == EffectVerdict::faster) {
      sizes.push_back(&comparison);
    }
  }
  std::ranges::sort(sizes, {}, size_of);
  return sizes;
}

// Returns the smallest size from which on it is faster at all larger ones; null if it is not at the largest.
const Comparison* pays_from(const ComparisonRecord& record, HostMemory memory) {
  std::vector<const Comparison*> all;
  for (const Comparison& comparison : record.comparisons) {
    if (is_of(comparison, memory) && has_time(comparison)) all.push_back(&comparison);
  }
  std::ranges::sort(all, std::ranges::greater(), size_of);
  const Comparison* smallest = nullptr;
  for (const Comparison* comparison : all) {
    if (comparison->verdict != EffectVerdict::faster) break;
    smallest = comparison;
  }
  return smallest;
}

std::string way_text(HostMemory memory) {
  switch (memory) {
    case HostMemory::registered: return "Memory that is pinned later (registered)";
    case HostMemory::registered_anew: return "Pinning anew for each copy (registered_anew)";
    case HostMemory::mapped: return "A kernel that copies over the bus (mapped)";
    case HostMemory::pinned: return "Pinned memory";
    case HostMemory::pageable: return "Pageable memory";
  }
  return {};
}

Remedy pinned_remedy(const std::string& arm) {
  if (const std::size_t place = arm.find(kOnNode); place != std::string::npos) {
    return {{fmt::format("numactl --membind={} python3 train.py", arm.substr(place + kOnNode.size()))},
            "All memory of the process then comes from that node.",
            "In a shell"};
  }
  if (arm == to_string(HostMemory::registered) || arm == to_string(HostMemory::registered_anew)) {
    return {
        {"torch.cuda.cudart().cudaHostRegister(batch.data_ptr(), batch.numel() * batch.element_size(), 0)"},
        "Where memory comes from elsewhere and stays; cudaHostUnregister before it is freed."};
  }
  if (arm == to_string(HostMemory::mapped)) {
    return {{"cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped)", "kernel<<<grid, block>>>(pointer, …)"},
            "For data that is read once; the kernel's processors wait for the bus.",
            "In CUDA"};
  }
  return {{"loader = DataLoader(dataset, batch_size, pin_memory=True)",
           "batch = batch.to(\"cuda\", non_blocking=True)"},
          "Pinning takes longer than a copy and is not in these times: pin a buffer once and reuse it, not "
          "each batch anew."};
}

std::vector<std::string> other_ways(const ComparisonRecord& record) {
  std::vector<std::string> sentences;
  for (const HostMemory memory : {HostMemory::registered, HostMemory::registered_anew, HostMemory::mapped}) {
    const bool is_there = std::ranges::any_of(record.comparisons, [&](const Comparison& comparison) {
      return is_of(comparison, memory) && has_time(comparison);
    });
    if (!is_there) continue;
    const std::vector<const Comparison*> sizes = sizes_that_pay(record, memory);
    if (const Comparison* from = pays_from(record, memory)) {
      sentences.push_back(fmt::format(
          "{} pays from {} on, at {} it is {}.", way_text(memory), bytes_text(Bytes(size_of(from))),
          bytes_text(Bytes(size_of(sizes.back()))), speed_against(sizes.back()->time, "pageable")));
    } else if (!sizes.empty()) {
      sentences.push_back(fmt::format("{} pays up to {}, where it is {}, and is not shown to pay beyond.",
                                      way_text(memory), bytes_text(Bytes(size_of(sizes.back()))),
                                      speed_against(sizes.back()->time, "pageable")));
    } else {
      sentences.push_back(fmt::format("{} is not shown to pay at any of these sizes.", way_text(memory)));
    }
  }
  return sentences;
}

// Returns "Copies of 256 MiB take 5.0 ms from NUMA node 0, 7.1 ms from NUMA node 1."
std::vector<std::string> times_by_node(const ComparisonRecord& record) {
  const auto is_by_node = [](const Comparison& comparison) {
    return copy_of(comparison).node >= 0 && has_time(comparison);
  };
  std::int64_t largest = 0;
  for (const Comparison& comparison : record.comparisons) {
    if (is_by_node(comparison)) largest = std::max(largest, copy_of(comparison).bytes);
  }
  std::vector<std::string> times;
  for (const Comparison& comparison : record.comparisons) {
    const Copy& copy = copy_of(comparison);
    if (!is_by_node(comparison) || copy.bytes != largest) continue;
    times.push_back(fmt::format("{} with host memory on NUMA node {}",
                                time_text(comparison.second.time.median), copy.node));
  }
  if (times.size() < 2) return {};
  return {fmt::format("Copies of {} take {}.", bytes_text(Bytes(largest)), joined(times))};
}

std::vector<std::string> pinned_answer(const ComparisonRecord& record) {
  const std::vector<const Comparison*> sizes = sizes_that_pay(record, HostMemory::pinned);
  const Comparison* from = pays_from(record, HostMemory::pinned);
  std::vector<std::string> sentences;
  if (sizes.empty()) {
    sentences = answer_by_fastest(record, pinned_remedy);
  } else {
    sentences = {
        fmt::format("**Copies of {} from pinned memory are {}**; it {}.",
                    bytes_text(Bytes(size_of(sizes.back()))), speed_against(sizes.back()->time, "pageable"),
                    from == nullptr ? "is not shown to pay beyond"
                                    : fmt::format("pays from {} on", bytes_text(Bytes(size_of(from))))),
        remedy_sentence(pinned_remedy("pinned"))};
    for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  }
  for (std::string& sentence : other_ways(record)) sentences.push_back(std::move(sentence));
  for (std::string& sentence : times_by_node(record)) sentences.push_back(std::move(sentence));
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

// Overlap study. It varies into how many pieces a copy to the device, the work and the copy back are cut, and
// over how many streams the pieces are spread. It reports the total time, and how much of the copies' time is
// hidden behind other pieces. Limits: pageable memory cannot be copied beside other work, so both sides are
// pinned; small pieces use neither link nor device well.

namespace {

constexpr const char* kInOrder = "one after the other";
constexpr const char* kWorkAlone = "without copies";

// Copies are checked as f32, and a piece is a part of the batch with its own part of the first output: a
// gradient of weights is a sum over the batch.
bool can_be_cut(const Operation& operation) {
  if (!can_be_step(operation) || !parts_evenly(operation, 2)) return false;
  const std::vector<Operand> operands = operation.operands(), half = piece_of(operation, 2).operands();
  const Operand* input = first_operand(operands, OperandRole::input);
  const Operand* output = first_operand(operands, OperandRole::output);
  return input != nullptr && output != nullptr && input == operands.data() && input->dtype == DataType::f32 &&
         output->dtype == DataType::f32 && half.front().count < input->count &&
         first_operand(half, OperandRole::output)->count < output->count;
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
    const bool fits = std::ranges::all_of(
        context.operations, [pieces](const Operation& operation) { return parts_evenly(operation, pieces); });
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

// On an H200 this product takes about as long as each of the two copies.
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

// The copies' time is the total without overlap minus the work; the hidden share is what a pipeline saves of
// it.
std::string hidden_sentence(const ComparisonRecord& record, const Comparison& best, const Comparison& alone) {
  const double copies = 1.0 - alone.time.ratio;
  const double hidden = (1.0 - best.time.ratio) / copies;
  const double low = (1.0 - best.time.high) / (1.0 - alone.time.low);
  const double high = (1.0 - best.time.low) / (1.0 - alone.time.high);
  return fmt::format(
      "The copies take {:.0f} % of the time one after the other; {} hides {:.0f} % of them ({:.0f} to "
      "{:.0f} %).",
      100.0 * copies, record.alternatives[best.alternative], 100.0 * hidden, 100.0 * low, 100.0 * high);
}

bool is_pipeline(const ComparisonRecord& record, const Comparison& comparison) {
  return comparison.failure.empty() && record.alternatives[comparison.alternative] != kWorkAlone;
}

std::vector<std::string> overlap_answer(const ComparisonRecord& record) {
  // The arm without copies does less work: it only shows the copies' time.
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
  return {.id = "overlap",
          .question = "How much of the copies to and from the device can overlap with work?",
          .concerns = "f32 operations with an even batch; the first input is copied in, the first output out",
          .is_remedy = false,
          .subject = overlap_subject,
          .can_be_asked_of = can_be_cut,
          .arms = overlap_arms,
          .remedy = overlap_remedy,
          .answer = overlap_answer};
}

}  // namespace jitterscope::study::studies
