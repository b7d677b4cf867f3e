#include "timeline/captured_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/quantity_text.hpp"
#include "import/library_log.hpp"
#include "import/model_builder.hpp"
#include "jitterscope/error.hpp"
#include "timeline/analysis.hpp"
#include "timeline/steps.hpp"

namespace jitterscope::timeline {
namespace {

constexpr std::size_t kNone = CapturedCalls::kNone;

std::string_view text_of(const Process& process, std::uint32_t id) {
  return id < process.texts.size() ? std::string_view(process.texts[id]) : std::string_view();
}

// A row's call as an operation, or nullopt and the reason why no operation says it.
struct SaidCall {
  std::optional<Operation> operation;
  std::string reason;
};

// Equal calls are read once.
class CallReader {
 public:
  explicit CallReader(const Process& process) : process_(process) {}

  const SaidCall& read(std::size_t row) {
    const capture::Operations& rows = process_.operations;
    const auto [known, is_new] = said_.try_emplace({rows.operation[row], rows.engine[row]});
    if (!is_new) return known->second;
    const std::string_view words = text_of(process_, rows.operation[row]),
                           engine = text_of(process_, rows.engine[row]);
    try {
      known->second.operation = text_of(process_, rows.provider[row]) == "cuDNN"
                                    ? library_log::convolution_of_words(words, engine)
                                    : library_log::product_of_words(words, engine);
    } catch (const UsageError& why) {
      known->second.reason = why.what();
    }
    return known->second;
  }

 private:
  const Process& process_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SaidCall> said_;
};

bool is_kernel(const Process& process, const DeviceWork& work, std::size_t i) {
  return process.names[work.what[i]].kind == WorkKind::kernel;
}

// The windows in which calls were recorded; a source without windows has none.
class CallWindows {
 public:
  explicit CallWindows(const Process& process) {
    for (const RecordedWindow& window : process.windows) {
      if (window.operations) spans_.push_back(window.span);
    }
  }
  bool is_empty() const { return spans_.empty(); }
  bool holds(Time begin, Time end) const {
    return std::any_of(spans_.begin(), spans_.end(),
                       [&](const Span& span) { return span.begin <= begin && end <= span.end; });
  }

 private:
  std::vector<Span> spans_;
};

void measure(CapturedCall& call, const DeviceWork& work) {
  Time covered_to = work.begin[call.work.front()];
  for (const std::size_t i : call.work) {
    call.time += work.end[i] - work.begin[i];
    call.gaps += std::max<Time>(0, work.begin[i] - covered_to);
    covered_to = std::max(covered_to, work.end[i]);
  }
}

}  // namespace

KernelOrigin origin_of(const WorkName& name) {
  const std::string whole = full_name(name);
  const auto has = [&](std::string_view part) { return whole.find(part) != std::string::npos; };
  if (whole.starts_with("nccl")) return KernelOrigin::nccl;
  if (whole.starts_with("triton_")) return KernelOrigin::triton;
  if (has("at::")) return KernelOrigin::pytorch;
  for (const std::string_view part :
       {"cudnn", "cublas", "cutlass", "xmma", "nvjet", "gemv", "gemm", "nchwToNhwc", "nhwcToNchw"}) {
    if (has(part)) return KernelOrigin::library;
  }
  return KernelOrigin::other;
}

std::string_view to_string(KernelOrigin origin) {
  switch (origin) {
    case KernelOrigin::pytorch: return "pytorch";
    case KernelOrigin::triton: return "triton";
    case KernelOrigin::nccl: return "nccl";
    case KernelOrigin::library: return "library";
    case KernelOrigin::other: break;
  }
  return "other";
}

std::string_view words_for(KernelOrigin origin) {
  switch (origin) {
    case KernelOrigin::pytorch: return "PyTorch's own kernels";
    case KernelOrigin::triton: return "Triton kernels";
    case KernelOrigin::nccl: return "NCCL";
    case KernelOrigin::library: return "kernels of libraries, by calls that were not recorded";
    case KernelOrigin::other: break;
  }
  return "other kernels";
}

CapturedCalls captured_calls(const Process& process, const DeviceWork& work) {
  const capture::Operations& rows = process.operations;
  CapturedCalls result;
  result.call_of_work.assign(work.size(), kNone);
  std::unordered_map<std::uint64_t, std::size_t> row_of_id;
  for (std::size_t row = 0; row < rows.id.size(); ++row) row_of_id.emplace(rows.id[row], row);
  const auto row_of = [&](std::uint64_t id) {
    const auto found = row_of_id.find(id);
    return found == row_of_id.end() ? kNone : found->second;
  };

  std::unordered_map<std::uint32_t, std::size_t> row_of_launch;
  std::vector<std::uint32_t> last_listed(rows.id.size(), 0), listed(rows.id.size(), 0);
  for (std::size_t i = 0; i < process.operation_launches.operation.size(); ++i) {
    const std::size_t row = row_of(process.operation_launches.operation[i]);
    if (row == kNone) continue;
    const std::uint32_t correlation = process.operation_launches.correlation[i];
    row_of_launch.emplace(correlation, row);
    last_listed[row] = std::max(last_listed[row], correlation);
    ++listed[row];
  }
  // The kernels of a call that are not listed lie behind the last listed one.
  std::map<std::uint32_t, std::size_t> long_rows;
  for (std::size_t row = 0; row < rows.id.size(); ++row) {
    if (listed[row] > 0 && rows.launches[row] > listed[row]) long_rows.emplace(last_listed[row], row);
  }
  const auto row_of_work = [&](std::uint32_t correlation) {
    if (const auto found = row_of_launch.find(correlation); found != row_of_launch.end())
      return found->second;
    auto behind = long_rows.lower_bound(correlation);
    if (correlation == 0 || behind == long_rows.begin()) return kNone;
    --behind;
    return correlation <= rows.last_correlation[behind->second] ? behind->second : kNone;
  };

  std::unordered_map<std::size_t, std::size_t> call_of_row;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const std::size_t row = row_of_work(work.correlation[i]);
    // A graph's launch is no launch of the call that it was captured of.
    if (row == kNone || process.names[work.what[i]].kind == WorkKind::graph) continue;
    const auto [known, is_new] = call_of_row.try_emplace(row, result.calls.size());
    if (is_new) result.calls.push_back({row, {}, 0, 0, {}});
    result.calls[known->second].work.push_back(i);
    result.call_of_work[i] = known->second;
  }
  result.without_work = rows.id.size() - result.calls.size();
  for (CapturedCall& call : result.calls) measure(call, work);
  for (std::size_t i = 0; i < process.operands.operation.size(); ++i) {
    const auto call = call_of_row.find(row_of(process.operands.operation[i]));
    if (call != call_of_row.end()) result.calls[call->second].operands.push_back(i);
  }
  return result;
}

std::optional<CallCoverage> call_coverage(const Process& process, const DeviceWork& work) {
  const CallWindows windows(process);
  if (windows.is_empty()) return std::nullopt;
  const CapturedCalls captured = captured_calls(process, work);
  CallReader reader(process);
  CallCoverage coverage;
  coverage.calls = process.operations.id.size();
  std::vector<std::optional<KernelOrigin>> origins(process.names.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (!is_kernel(process, work, i) || !windows.holds(work.begin[i], work.begin[i])) continue;
    const double seconds = static_cast<double>(work.end[i] - work.begin[i]) * 1e-9;
    coverage.seconds += seconds;
    if (const std::size_t call = captured.call_of_work[i]; call != kNone) {
      coverage.explained += seconds;
      if (reader.read(captured.calls[call].row).operation) coverage.replayable += seconds;
      continue;
    }
    std::optional<KernelOrigin>& origin = origins[work.what[i]];
    if (!origin) origin = origin_of(process.names[work.what[i]]);
    coverage.others[static_cast<std::size_t>(*origin)] += seconds;
  }
  if (coverage.seconds <= 0.0) return coverage;
  coverage.explained /= coverage.seconds;
  coverage.replayable /= coverage.seconds;
  for (double& share : coverage.others) share /= coverage.seconds;
  return coverage;
}

namespace {

// Our name of an operand, by its library's: column-major products have A and B in each other's place.
std::string_view own_name(const Operation& operation, std::string_view theirs) {
  const bool is_linear = std::holds_alternative<Linear>(operation.parameters());
  if (!is_linear && !std::holds_alternative<Matmul>(operation.parameters())) return theirs;
  if (theirs == "a") return is_linear ? "w" : "b";
  if (theirs == "b") return is_linear ? "x" : "a";
  if (theirs == "d") return is_linear ? "y" : "c";
  return theirs == "bias" ? theirs : std::string_view();
}

// Who had the memory of addresses first, and who wrote it last.
class MemoryOfCalls {
 public:
  /// Memory that an operand of an earlier call has, from its first byte to its last.
  struct Place {
    std::uint64_t begin = 0, end = 0;
    std::size_t call = 0, operand = 0;  ///< that had it first
    std::uint64_t origin = 0;           ///< where that operand begins
    bool is_written = false;            ///< by a call, the last one at `written_at`
    std::size_t written_at = 0;         ///< index behind that call's last work
  };

  /// The place that holds all of these bytes, or null.
  const Place* find(std::uint64_t begin, std::uint64_t bytes) const {
    auto next = places_.upper_bound(begin);
    if (next == places_.begin()) return nullptr;
    --next;
    return begin + bytes <= next->second.end ? &next->second : nullptr;
  }
  /// True if any of these bytes lies in memory that a call wrote.
  bool overlaps_written(std::uint64_t begin, std::uint64_t bytes) const {
    auto next = places_.upper_bound(begin);
    if (next != places_.begin()) --next;
    for (; next != places_.end() && next->first < begin + bytes; ++next) {
      if (next->second.is_written && next->second.end > begin) return true;
    }
    return false;
  }
  /// Replaces what overlaps with it; parts before and behind stay.
  void put(const Place& place) {
    auto next = places_.upper_bound(place.begin);
    if (next != places_.begin()) --next;
    while (next != places_.end() && next->first < place.end) {
      const Place old = next->second;
      if (old.end <= place.begin) {
        ++next;
        continue;
      }
      next = places_.erase(next);
      if (old.begin < place.begin) {
        Place before = old;
        before.end = place.begin;
        places_.emplace(before.begin, before);
      }
      if (old.end > place.end) {
        Place behind = old;
        behind.begin = place.end;
        places_.emplace(behind.begin, behind);
      }
    }
    places_.insert_or_assign(place.begin, place);
  }

 private:
  std::map<std::uint64_t, Place> places_;  // none overlap
};

class CaptureModel : public LayerCollector {
 public:
  CaptureModel(const Timeline& timeline, const Process& process, const DeviceWork& work)
      : process_(process), work_(work), reader_(process), captured_(captured_calls(process, work)) {
    model_.name = std::filesystem::path(timeline.source).filename().string();
    model_.format = "capture";
    for (const ProcessDevice& device : process.device_names) {
      if (device.device == work.device) model_.recorded_device = device.name;
    }
    others_before_.assign(work.size() + 1, 0);
    for (std::size_t i = 0; i < work.size(); ++i)
      others_before_[i + 1] = others_before_[i] + (may_write(i) ? 1 : 0);
  }

  Model make() {
    const Steps steps = find_steps(process_, work_);
    const std::vector<const Step*> whole = recorded_steps(steps);
    const bool has_steps = !whole.empty();
    std::size_t first = 0, last = work_.size();
    if (has_steps) {
      first = whole[whole.size() / 2]->first;
      last = whole[whole.size() / 2]->last;
    }
    step_begin_ = first;
    for (const CapturedCall& call : captured_.calls) {
      if (call.work.front() >= first && call.work.front() < last) add_call(call);
    }
    add_times(whole);
    add_others(first, last);
    describe(whole, steps);
    if (model_.layers.empty()) throw UsageError(nothing_found());
    return std::move(model_);
  }

 private:
  // Copies to the host write none of the GPU's memory.
  bool may_write(std::size_t i) const {
    if (captured_.call_of_work[i] != kNone) return false;
    const WorkName& name = process_.names[work_.what[i]];
    return name.to != capture::MemoryKind::pageable && name.to != capture::MemoryKind::pinned;
  }

  // Steps of the most frequent kind that lie in windows with calls, the shortest first.
  std::vector<const Step*> recorded_steps(const Steps& steps) const {
    const CallWindows windows(process_);
    std::vector<const Step*> whole;
    for (const Step& step : steps.steps) {
      if (step.kind == 0 && windows.holds(step.begin, step.end)) whole.push_back(&step);
    }
    std::stable_sort(whole.begin(), whole.end(),
                     [](const Step* a, const Step* b) { return a->end - a->begin < b->end - b->begin; });
    return whole;
  }

  void add_call(const CapturedCall& captured) {
    const capture::Operations& rows = process_.operations;
    const SaidCall& said = reader_.read(captured.row);
    const std::string_view words = text_of(process_, rows.operation[captured.row]);
    const std::string name(words.substr(0, words.find(' ')));
    if (!said.operation) {
      // Its outputs are known, but not which calls wrote them.
      for (const std::size_t row : captured.operands) forget(row);
      add_untimed(name, said.reason, Nanoseconds(static_cast<double>(captured.time)));
      return;
    }
    const std::size_t index = layer_of(*said.operation, name);
    Layer& layer = model_.layers[index];
    layer.names.push_back(fmt::format("call {}", model_.calls.size() + 1));
    if (layer.recorded_kernels.empty()) {
      for (const std::size_t i : captured.work)
        layer.recorded_kernels.push_back(full_name(process_.names[work_.what[i]]));
      add_plan(layer, captured.row);
    }
    Call call{index, layer.names.back(), {}};
    connect(call, captured, *said.operation);
    model_.calls.push_back(std::move(call));
    if (text_of(process_, rows.provider[captured.row]) == "cuDNN")
      model_.recorded_cudnn = text_of(process_, rows.version[captured.row]);
  }

  void add_plan(Layer& layer, std::size_t row) const {
    const std::string_view engine = text_of(process_, process_.operations.engine[row]);
    if (engine.empty()) return;
    const std::uint64_t bytes = process_.operations.workspace_bytes[row];
    layer.recorded_plans.push_back(
        {std::string(engine),
         Bytes(static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::uint64_t{1} << 62)))});
  }

  void forget(std::size_t row) {
    const std::uint64_t begin = process_.operands.address[row], bytes = process_.operands.bytes[row];
    if (begin == 0 || bytes == 0 || begin + bytes < begin) return;
    if (static_cast<capture::OperandUse>(process_.operands.use[row]) == capture::OperandUse::input) return;
    memory_.put({begin, begin + bytes, kNone, 0, begin, false, 0});
  }

  // Inputs first: a call may write where it has read.
  void connect(Call& call, const CapturedCall& captured, const Operation& operation) {
    const std::vector<Operand> operands = operation.operands();
    for (const OperandRole role : {OperandRole::input, OperandRole::output}) {
      for (const std::size_t row : captured.operands) {
        const std::string_view name = own_name(operation, text_of(process_, process_.operands.name[row]));
        const auto found = std::ranges::find(operands, name, &Operand::name);
        if (found == operands.end() || found->role != role) continue;
        const auto place = static_cast<std::size_t>(found - operands.begin());
        const std::uint64_t begin = process_.operands.address[row];
        const std::int64_t bytes = found->bytes().value();
        if (begin == 0 || bytes <= 0 || begin + static_cast<std::uint64_t>(bytes) < begin) {
          if (role == OperandRole::input) ++call.unwritten;  // where it lies is not known
          continue;
        }
        if (role == OperandRole::input) {
          read(call, captured, place, name, begin, static_cast<std::uint64_t>(bytes));
        } else {
          write(call, captured, place, begin, static_cast<std::uint64_t>(bytes));
        }
      }
    }
  }

  std::size_t here() const { return model_.calls.size(); }

  bool others_ran(std::size_t from, std::size_t to) const {
    return to > from && others_before_[to] > others_before_[from];
  }

  void share(Call& call, std::size_t operand, const MemoryOfCalls::Place& place, std::uint64_t begin) const {
    call.inputs.push_back(
        {operand, place.call, place.operand, Bytes(static_cast<std::int64_t>(begin - place.origin))});
  }

  void read(Call& call, const CapturedCall& captured, std::size_t operand, std::string_view name,
            std::uint64_t begin, std::uint64_t bytes) {
    const MemoryOfCalls::Place* place = memory_.find(begin, bytes);
    // Weights stay as they are within a step.
    const bool is_weight = name == "w" || name == "bias";
    const std::size_t first = captured.work.front();
    if (place == nullptr) {
      if (memory_.overlaps_written(begin, bytes)) {
        ++call.unwritten;  // a part of it is another call's output
      } else {
        memory_.put({begin, begin + bytes, here(), operand, begin, false, first});
        if (!is_weight && others_ran(step_begin_, first)) ++call.unwritten;
      }
      return;
    }
    const bool may_be_overwritten = (place->is_written || !is_weight) && others_ran(place->written_at, first);
    if (place->call == kNone || may_be_overwritten) {
      ++call.unwritten;
      memory_.put({begin, begin + bytes, here(), operand, begin, false, first});
      return;
    }
    share(call, operand, *place, begin);
  }

  void write(Call& call, const CapturedCall& captured, std::size_t operand, std::uint64_t begin,
             std::uint64_t bytes) {
    MemoryOfCalls::Place made{begin, begin + bytes, here(), operand, begin, true, captured.work.back() + 1};
    // In memory that a call before had: what this one writes is in the same.
    const MemoryOfCalls::Place* place = memory_.find(begin, bytes);
    if (place != nullptr && place->call != kNone && place->call != here()) {
      share(call, operand, *place, begin);
      made.call = place->call;
      made.operand = place->operand;
      made.origin = place->origin;
    }
    memory_.put(made);
  }

  // Times of the layers in all recorded steps.
  void add_times(const std::vector<const Step*>& whole) {
    std::vector<bool> counts(work_.size(), whole.empty());
    for (const Step* step : whole) {
      for (std::size_t i = step->first; i < step->last; ++i) counts[i] = true;
    }
    std::map<std::string, std::size_t> layers;
    for (std::size_t i = 0; i < model_.layers.size(); ++i) layers[model_.layers[i].operation.text()] = i;
    Time gaps = 0, sum = 0;
    for (const CapturedCall& call : captured_.calls) {
      if (!counts[call.work.front()]) continue;
      const SaidCall& said = reader_.read(call.row);
      if (!said.operation) continue;
      const auto layer = layers.find(said.operation->text());
      if (layer == layers.end()) continue;
      add_call_time(layer->second, Nanoseconds(static_cast<double>(call.time)));
      gaps += call.gaps;
      sum += call.time;
    }
    if (gaps * 1000 > sum) {
      model_.notes.push_back(
          fmt::format("A call's time is the sum of its kernels; the gaps between them take {:.1f} % more.",
                      100.0 * static_cast<double>(gaps) / static_cast<double>(sum)));
    }
  }

  void add_others(std::size_t first, std::size_t last) {
    Time all = 0;
    std::array<Time, kKernelOrigins> times{};
    std::array<std::int64_t, kKernelOrigins> counts{};
    for (std::size_t i = first; i < last; ++i) {
      if (!is_kernel(process_, work_, i)) continue;
      const Time time = work_.end[i] - work_.begin[i];
      all += time;
      if (captured_.call_of_work[i] != kNone) continue;
      const auto origin = static_cast<std::size_t>(origin_of(process_.names[work_.what[i]]));
      times[origin] += time;
      ++counts[origin];
    }
    for (std::size_t origin = 0; origin < kKernelOrigins; ++origin) {
      if (counts[origin] == 0) continue;
      UntimedOperator other{std::string(words_for(static_cast<KernelOrigin>(origin))), counts[origin],
                            "no call of a library that was recorded explains them",
                            Nanoseconds(static_cast<double>(times[origin]))};
      model_.untimed.push_back(std::move(other));
    }
    model_.recorded_gpu_time = Nanoseconds(static_cast<double>(all));
  }

  void describe(const std::vector<const Step*>& whole, const Steps& steps) {
    model_.description = fmt::format("{} of {}, from a capture", counted(std::ssize(model_.calls), "call"),
                                     counted(std::ssize(model_.layers), "operation"));
    if (whole.empty()) {
      model_.notes.push_back(fmt::format(
          "All recorded calls are taken as one step, since {}.",
          steps.were_found() ? "no step lies in a window in which calls were recorded" : steps.reason));
    } else {
      model_.notes.push_back(
          fmt::format("The calls are those of the median of {} steps; times are of all.", whole.size()));
    }
    const auto unknown =
        std::accumulate(model_.calls.begin(), model_.calls.end(), std::int64_t{0},
                        [](std::int64_t sum, const Call& call) { return sum + call.unwritten; });
    if (unknown > 0) {
      model_.notes.push_back(
          fmt::format("The content of {} is not known: kernels that no call explains may have written it.",
                      counted(unknown, "operand")));
    }
    if (captured_.without_work > 0) {
      model_.notes.push_back(fmt::format(
          "Without kernels in the record: {}, captured into a graph, whose kernels do not name it, "
          "or run on another GPU.",
          counted(static_cast<std::int64_t>(captured_.without_work), "call")));
    }
  }

  std::string nothing_found() const {
    if (process_.operations.id.empty()) {
      return fmt::format(
          "'{}' holds no calls of libraries: record it with `jitterscope capture --calls`{}", model_.name,
          CallWindows(process_).is_empty() ? "" : "; this program made none while it was recorded");
    }
    std::string sentence = fmt::format("'{}' holds no call that can be run again", model_.name);
    if (!model_.untimed.empty())
      sentence += fmt::format(" ({}: {})", model_.untimed.front().name, model_.untimed.front().reason);
    return sentence;
  }

  const Process& process_;
  const DeviceWork& work_;
  CallReader reader_;
  CapturedCalls captured_;
  std::vector<std::size_t> others_before_;  // of each work: how many before it may write what no call says
  MemoryOfCalls memory_;
  std::size_t step_begin_ = 0;
};

}  // namespace

Model captured_model(const Timeline& timeline) {
  const Process* longest = nullptr;
  const DeviceWork* work = nullptr;
  Time most = 0;
  for (const Process& process : timeline.processes) {
    for (const DeviceWork& each : process.devices) {
      Time sum = 0;
      for (std::size_t i = 0; i < each.size(); ++i) sum += each.end[i] - each.begin[i];
      if (sum <= most) continue;
      most = sum;
      longest = &process;
      work = &each;
    }
  }
  if (longest == nullptr)
    throw UsageError(fmt::format("'{}' holds no work of a GPU, so no call either", timeline.source));
  return CaptureModel(timeline, *longest, *work).make();
}

}  // namespace jitterscope::timeline
