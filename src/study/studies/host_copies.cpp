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

bool is_host_copy(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  return copy != nullptr && copy->kind != CopyKind::d2d;
}

Remedy pinned_remedy(HostMemory memory) {
  switch (memory) {
    case HostMemory::registered:
    case HostMemory::registered_anew:
      return {
          {"torch.cuda.cudart().cudaHostRegister(batch.data_ptr(), batch.numel() * batch.element_size(), 0)"},
          "Where memory comes from elsewhere and stays; cudaHostUnregister before it is freed."};
    case HostMemory::mapped:
      return {{"cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped)", "kernel<<<grid, block>>>(pointer, …)"},
              "For data that is read once; the kernel's processors wait for the bus.",
              "In CUDA"};
    case HostMemory::pageable:
    case HostMemory::pinned: break;
  }
  return {
      {"loader = DataLoader(dataset, batch_size, pin_memory=True)",
       "batch = batch.to(\"cuda\", non_blocking=True)"},
      "Pinning takes longer than a copy and is not in these times: pin a buffer once and reuse it, not each "
      "batch anew."};
}

// A launch that pins memory is the host's work: recordings, which read the other arms, cannot contain it.
Arm pinned_arm(HostMemory memory) {
  Arm arm = changed_arm<Copy>(
      std::string(to_string(memory)), [memory](Copy& copy) { copy.memory = memory; }, pinned_remedy(memory));
  return memory == HostMemory::registered_anew ? in_queue(std::move(arm), QueueMode::eager) : arm;
}

Arm node_arm(std::int64_t node) {
  const auto change = [node](Copy& copy) {
    copy.memory = HostMemory::pinned;
    copy.node = node;
  };
  return changed_arm<Copy>(fmt::format("pinned on node {}", node), change,
                           {{fmt::format("numactl --membind={} python3 train.py", node)},
                            "All memory of the process then comes from that node.",
                            "In a shell"});
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
    arms.push_back(node_arm(can.memory_nodes[i]));
  return arms;
}

const Copy& copy_of(const Comparison& comparison) {
  return std::get<Copy>(std::get<Operation>(comparison.second.subject).parameters());
}

std::int64_t size_of(const Comparison* comparison) { return copy_of(*comparison).bytes; }

// True for this kind of memory, placed by the system.
bool is_of(const Comparison& comparison, HostMemory memory) {
  return copy_of(comparison).memory == memory && copy_of(comparison).node < 0;
}

// Returns the comparisons of a kind of memory, the smallest size first.
std::vector<const Comparison*> sizes_of(const ComparisonRecord& record, HostMemory memory) {
  std::vector<const Comparison*> sizes;
  for (const Comparison& comparison : record.comparisons) {
    if (is_of(comparison, memory) && has_time(comparison)) sizes.push_back(&comparison);
  }
  std::ranges::stable_sort(sizes, {}, size_of);
  return sizes;
}

// Where a kind of memory is shown to be faster.
struct Gains {
  const Comparison* largest = nullptr;  // the largest size that gains; null if none does
  const Comparison* from = nullptr;     // from this size on all gain; null if the largest tried does not
};

Gains gains_of(const std::vector<const Comparison*>& sizes) {
  Gains gains;
  for (const Comparison* size : sizes) {
    if (!is_faster(*size)) {
      gains.from = nullptr;
      continue;
    }
    gains.largest = size;
    if (gains.from == nullptr) gains.from = size;
  }
  return gains;
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

Sentences other_ways(const ComparisonRecord& record) {
  Sentences sentences;
  for (const HostMemory memory : {HostMemory::registered, HostMemory::registered_anew, HostMemory::mapped}) {
    const std::vector<const Comparison*> sizes = sizes_of(record, memory);
    if (sizes.empty()) continue;
    const auto [largest, from] = gains_of(sizes);
    if (largest == nullptr) {
      add(sentences, fmt::format("{} is not shown to pay at any of these sizes.", way_text(memory)));
    } else if (from == nullptr) {
      add(sentences,
          fmt::format("{} pays up to {}, where it is {}, and is not shown to pay beyond.", way_text(memory),
                      bytes_text(Bytes(size_of(largest))), speed_against(largest->time, "pageable")));
    } else {
      add(sentences, fmt::format("{} pays from {} on, at {} it is {}.", way_text(memory),
                                 bytes_text(Bytes(size_of(from))), bytes_text(Bytes(size_of(largest))),
                                 speed_against(largest->time, "pageable")));
    }
  }
  return sentences;
}

// Returns "Copies of 256 MiB take 5.0 ms from NUMA node 0, 7.1 ms from NUMA node 1."
std::string times_by_node(const ComparisonRecord& record) {
  std::vector<const Comparison*> by_node;
  std::int64_t largest = 0;
  for (const Comparison& comparison : record.comparisons) {
    if (copy_of(comparison).node < 0 || !has_time(comparison)) continue;
    by_node.push_back(&comparison);
    largest = std::max(largest, size_of(&comparison));
  }
  std::vector<std::string> times;
  for (const Comparison* comparison : by_node) {
    if (size_of(comparison) != largest) continue;
    times.push_back(fmt::format("{} with host memory on NUMA node {}",
                                time_text(comparison->second.time.median), copy_of(*comparison).node));
  }
  if (times.size() < 2) return {};
  return fmt::format("Copies of {} take {}.", bytes_text(Bytes(largest)), joined(times));
}

Sentences pinned_answer(const StudyResult& result) {
  const auto [largest, from] = gains_of(sizes_of(result.record, HostMemory::pinned));
  if (largest == nullptr) return answer_by_fastest(result);
  Sentences sentences = {
      fmt::format("**Copies of {} from pinned memory are {}**; it {}.", bytes_text(Bytes(size_of(largest))),
                  speed_against(largest->time, "pageable"),
                  from == nullptr ? "is not shown to pay beyond"
                                  : fmt::format("pays from {} on", bytes_text(Bytes(size_of(from))))),
      remedy_sentence(pinned_remedy(HostMemory::pinned))};
  add(sentences, wrong_results(result));
  return sentences;
}

Sentences ways_and_nodes(const StudyResult& result) {
  Sentences sentences = other_ways(result.record);
  add(sentences, times_by_node(result.record));
  return sentences;
}

}  // namespace

Study pinned() {
  return {.id = "pinned",
          .question = "From which size on does pinned host memory pay?",
          .concerns = "copies between host and device",
          .subject = "copy:bytes=4Ki..256Mi*16,kind=h2d",
          .can_be_asked_of = is_host_copy,
          .arms = pinned_arms,
          .answer = pinned_answer,
          .details = ways_and_nodes};
}

// Overlap study. It varies into how many pieces a copy to the device, the work and the copy back are cut, and
// over how many streams the pieces are spread. It reports the total time, and how much of the copies' time is
// hidden behind other pieces. Limits: pageable memory cannot be copied beside other work, so both sides are
// pinned; small pieces use neither link nor device well.

namespace {

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

Arm pipeline_arm(std::string name, std::int64_t pieces, std::int64_t streams) {
  return chain_arm(
      std::move(name), Instrument::events,
      [=](const Operation& operation) { return pipeline(operation, pieces, streams); },
      {{fmt::format("streams = [torch.cuda.Stream() for _ in range({})]", streams),
        fmt::format("for i, piece in enumerate(batch.chunk({})):  # of pinned memory", pieces),
        "    with torch.cuda.stream(streams[i % len(streams)]):",
        "        output[i].copy_(model(piece.to(\"cuda\", non_blocking=True)), non_blocking=True)"},
       "Both sides of the copies are pinned here; from pageable memory nothing overlaps."});
}

// The arm without copies does less work: it only shows the copies' time.
std::vector<Arm> overlap_arms(const StudyContext& context) {
  require_streams(context);
  struct Cut {
    std::int64_t pieces, streams;
  };
  std::vector<Arm> arms = {pipeline_arm("one after the other", 1, 1)};
  for (const auto& [pieces, streams] : {Cut{2, 2}, Cut{4, 2}, Cut{4, 3}, Cut{8, 2}, Cut{8, 3}}) {
    const bool fits = std::ranges::all_of(context.operations, [pieces = pieces](const Operation& operation) {
      return parts_evenly(operation, pieces);
    });
    if (fits)
      arms.push_back(pipeline_arm(fmt::format("{} pieces, {} streams", pieces, streams), pieces, streams));
  }
  arms.push_back(chain_arm("without copies", Instrument::events,
                           [](const Operation& operation) { return Chain{.steps = {operation}}; }));
  arms.back().is_bound = true;
  return arms;
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

Sentences how_much_is_hidden(const StudyResult& result) {
  const Comparison* alone = comparison_with_bound(result);
  if (alone == nullptr || is_wrong(*alone) || alone->time.high >= 1.0) return {};
  const Comparison* best = fastest_of(result.record.comparisons, [&](const Comparison& each) {
    return has_time(each) && !result.arms[each.alternative].is_bound && is_faster(each) &&
           each.first.subject == alone->first.subject;
  });
  if (best == nullptr) return {};
  return {hidden_sentence(result.record, *best, *alone)};
}

}  // namespace

Study overlap() {
  return {
      .id = "overlap",
      .question = "How much of the copies to and from the device can overlap with work?",
      .concerns = "f32 operations with an even batch; the first input is copied in, the first output out",
      .is_remedy = false,
      .subject = "linear:n=16Ki,in=1024,out=1024",  // an H200 takes about as long for each of the two copies
      .can_be_asked_of = can_be_cut,
      .arms = overlap_arms,
      .reasons = how_much_is_hidden};
}

}  // namespace jitterscope::study::studies
