#include "operation/chain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/kinds_elementwise.hpp"
#include "operation/operation.hpp"
#include "operation/words.hpp"

// Limits of chains and what their steps sum up to.

namespace jitterscope {
namespace {

// True for an output that the next step reads, and for that step's input: it is no operand of the chain.
bool is_inner(const Chain& chain, std::size_t step, std::size_t operand,
              const std::vector<Operand>& operands) {
  if (operands[operand].role == OperandRole::input) return operand == 0 && is_linked(chain, step);
  const bool is_first_output = &operands[operand] == first_operand(operands, OperandRole::output);
  return is_first_output && step + 1 < chain.steps.size() && is_linked(chain, step + 1);
}

}  // namespace

const Operand* first_operand(const std::vector<Operand>& operands, OperandRole role) {
  const auto found = std::ranges::find(operands, role, &Operand::role);
  return found == operands.end() ? nullptr : &*found;
}

bool Chain::operator==(const Chain& other) const {
  return steps == other.steps && lanes == other.lanes && streams == other.streams && spread == other.spread &&
         order == other.order && wait == other.wait && wait_after == other.wait_after &&
         high_priority == other.high_priority && load_ns == other.load_ns && fused == other.fused;
}

std::size_t first_output(const Operation& operation) {
  const std::vector<Operand> operands = operation.operands();
  return static_cast<std::size_t>(first_operand(operands, OperandRole::output) - operands.data());
}

bool is_linked(const Chain& chain, std::size_t step) {
  if (step == 0) return false;
  const std::vector<Operand> before = chain.steps[step - 1].operands(), own = chain.steps[step].operands();
  const Operand* written = first_operand(before, OperandRole::output);
  if (written == nullptr || own.empty() || own.front().role != OperandRole::input) return false;
  return written->dtype == own.front().dtype && written->count == own.front().count;
}

std::vector<ChainOperand> chain_operands(const Chain& chain) {
  std::vector<ChainOperand> inputs, outputs;
  for (std::size_t step = 0; step < chain.steps.size(); ++step) {
    const std::vector<Operand> operands = chain.steps[step].operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (is_inner(chain, step, i, operands)) continue;
      (operands[i].role == OperandRole::input ? inputs : outputs).push_back({0, step, i});
    }
  }
  std::vector<ChainOperand> all;
  for (const std::vector<ChainOperand>* role : {&inputs, &outputs}) {
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(chain.lanes); ++lane) {
      for (const ChainOperand& place : *role) all.push_back({lane, place.step, place.operand});
    }
  }
  return all;
}

DataType coarsest_type(const Chain& chain) {
  if (chain.steps.empty()) return DataType::f32;
  DataType coarsest = chain.steps.front().dtype();
  for (const Operation& step : chain.steps) coarsest = coarser_type(coarsest, step.dtype());
  return coarsest;
}

std::int64_t launches_of(const Chain& chain) {
  return chain.lanes * (chain.fused ? 1 : std::ssize(chain.steps));
}

bool needs_streams(const Chain& chain) {
  return chain.streams > 1 || chain.wait != HostWait::none || chain.high_priority || chain.load_ns > 0;
}

std::size_t stream_of(const Chain& chain, std::size_t lane, std::size_t step) {
  const std::size_t turn = chain.spread == ChainSpread::lanes ? lane : lane + step;
  return turn % static_cast<std::size_t>(chain.streams);
}

void require_values(const Chain& chain) {
  if (chain.wait != HostWait::value) return;
  for (const Operation& step : chain.steps) {
    const auto* copy = std::get_if<Copy>(&step.parameters());
    const bool is_read = !step.operands().empty() && (copy == nullptr || copy->kind != CopyKind::d2h);
    if (is_read) continue;
    throw UsageError("chain: wait=value reads what a step wrote in the device's memory, and " + step.text() +
                     " writes nothing there; take another wait, as stream");
  }
}

namespace kinds {
namespace {

constexpr std::int64_t kMostLaunches = 1000;
constexpr std::int64_t kMostStreams = 32;
constexpr std::int64_t kLongestLoad = 100'000'000;  // ns

void describe(Chain& chain, Fields& fields) {
  const Chain usual;
  fields.optional("lanes", "how many times the steps run, each time with operands of their own", chain.lanes,
                  usual.lanes, {1, kMostLaunches});
  fields.optional("streams", "streams that they are spread over; they join at the end of a launch",
                  chain.streams, usual.streams, {1, kMostStreams});
  fields.optional("spread", "what goes to the next stream: a whole lane (lane) or each step of a lane (step)",
                  chain.spread, usual.spread);
  fields.optional(
      "order",
      "how a step waits for the one before it on another stream: events, joins (all streams for all) or "
      "none (it may read what is not yet written)",
      chain.order, usual.order);
  fields.optional("wait",
                  "how the host waits meanwhile: none, stream, event, device, blocking (it sleeps), polling, "
                  "yielding, or value (it reads one value back)",
                  chain.wait, usual.wait);
  fields.optional("wait_after", "whether it waits after each lane or after each step", chain.wait_after,
                  usual.wait_after);
  fields.optional("high_priority", "1: on streams of the highest priority", chain.high_priority,
                  usual.high_priority);
  fields.optional("load_ns",
                  "another stream keeps all processors busy for so long, or until the last step is done",
                  chain.load_ns, usual.load_ns, {0, kLongestLoad});
  fields.optional(
      "fused",
      "1: the steps of each lane as one launch, which keeps what they hand on out of memory; each step "
      "reads the one before it, on one stream, without a wait or a load",
      chain.fused, usual.fused);
}

void check_step(const Operation& step) {
  if (std::holds_alternative<Chain>(step.parameters())) {
    throw UsageError("chain: a step is a chain itself; write its steps one after the other");
  }
  if (std::holds_alternative<Aten>(step.parameters())) {
    throw UsageError("chain: an operator of PyTorch cannot be a step: its streams are PyTorch's own");
  }
}

void check_fused(const Chain& chain) {
  if (chain.steps.size() < 2) {
    throw UsageError(
        "chain: fused=1 makes one launch of several steps, and there is one; give more, or leave it out");
  }
  if (needs_streams(chain)) {
    throw UsageError(
        "chain: with fused=1 the lanes are launches on one stream, one after the other; leave out "
        "streams, wait, "
        "high_priority and load_ns, or fused");
  }
  for (std::size_t step = 1; step < chain.steps.size(); ++step) {
    if (is_linked(chain, step)) continue;
    throw UsageError(fmt::format(
        "chain: with fused=1 each step reads what the one before it wrote, and the first input of step "
        "{} ({}) is not of the size and type of step {}'s first output ({}); change one of them, or "
        "leave out fused",
        step + 1, chain.steps[step].text(), step, chain.steps[step - 1].text()));
  }
}

void check(const Chain& chain) {
  if (chain.steps.empty()) {
    throw UsageError("chain: there are no steps; write each in brackets, as in chain:[relu:count=1Mi]");
  }
  for (const Operation& step : chain.steps) check_step(step);
  const std::int64_t steps = std::ssize(chain.steps);
  if (steps * chain.lanes > kMostLaunches) {
    throw UsageError(
        fmt::format("chain: {} steps in {} lanes are {} launches, and there may be {}; take fewer", steps,
                    chain.lanes, steps * chain.lanes, kMostLaunches));
  }
  if (chain.spread == ChainSpread::lanes && chain.streams > chain.lanes) {
    throw UsageError(
        fmt::format("chain: streams={} is more than there are lanes ({}), and each lane has one stream; give "
                    "as many lanes, or spread=step",
                    chain.streams, chain.lanes));
  }
  if (chain.fused) check_fused(chain);
}

double flops(const Chain& chain) {
  double sum = 0.0;
  for (const Operation& step : chain.steps) sum += step.flops();
  return sum * static_cast<double>(chain.lanes);
}

std::vector<Operand> operands(const Chain& chain) {
  std::vector<Operand> operands;
  for (const ChainOperand& place : chain_operands(chain)) {
    operands.push_back(chain.steps[place.step].operands()[place.operand]);
    operands.back().name = fmt::format("{}.{}.{}", place.lane + 1, place.step + 1, operands.back().name);
  }
  return operands;
}

}  // namespace

Bytes bytes(const Chain& chain) {
  Bytes sum;
  if (chain.fused) {
    for (const Bytes moved : operand_traffic(Operation(chain))) sum += moved;
    return sum;
  }
  for (const Operation& step : chain.steps) sum += step.bytes();
  return sum * chain.lanes;
}

}  // namespace kinds

// The text of chains: chain:[relu:count=1Ki]*16[copy:bytes=4Ki],lanes=4.

namespace {

// Returns the position after the bracket that closes the first one; npos if none does. Kernels contain
// brackets, too.
std::size_t bracket_end(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

bool is_decimal(char letter) { return letter >= '0' && letter <= '9'; }

// Returns the length of a leading `*16`; 0 without one.
std::size_t times_end(std::string_view text) {
  if (!text.starts_with('*')) return 0;
  const auto end = std::find_if_not(text.begin() + 1, text.end(), is_decimal);
  return static_cast<std::size_t>(end - text.begin());
}

[[noreturn]] void fail_steps(std::string_view text) {
  throw UsageError("chain: " + in_quotes(text) +
                   " is not a step: write each in brackets, as in chain:[relu:count=1Mi]*4[copy:bytes=4Mi]");
}

}  // namespace

std::size_t chain_steps_end(std::string_view text) {
  std::size_t end = 0;
  while (text.substr(end).starts_with('[')) {
    const std::size_t bracket = bracket_end(text.substr(end));
    if (bracket == std::string_view::npos) return end;
    end += bracket;
    end += times_end(text.substr(end));
  }
  return end;
}

std::vector<Operation> read_chain_steps(std::string_view text) {
  constexpr std::int64_t kMost = 64;
  std::vector<Operation> steps;
  if (text.empty()) fail_steps(text);
  while (!text.empty()) {
    const std::size_t bracket = text.starts_with('[') ? bracket_end(text) : std::string_view::npos;
    if (bracket == std::string_view::npos) fail_steps(text);
    // Refused before it is read: nested chains would recurse as deep as the text is long.
    const std::string_view inner = trimmed(text.substr(1, bracket - 2));
    if (inner.starts_with(kChainKind)) throw UsageError("chain: a step is a chain itself; write its steps");
    const Operation step = Operation::parse(inner);
    text.remove_prefix(bracket);
    const std::size_t times = times_end(text);
    std::int64_t count = 1;
    if (times > 0) count = read_count(text.substr(1, times - 1)).value_or(0);
    if (count < 1 || count > kMost - std::ssize(steps)) {
      throw UsageError(fmt::format(
          "chain: {} behind a step is impossible: a chain has 1 to {} steps, and more launches by lanes=",
          in_quotes(text.substr(0, times)), kMost));
    }
    steps.insert(steps.end(), static_cast<std::size_t>(count), step);
    text.remove_prefix(times);
  }
  return steps;
}

std::string chain_text(const Chain& chain) {
  std::string steps;
  for (std::size_t i = 0; i < chain.steps.size();) {
    std::size_t next = i + 1;
    while (next < chain.steps.size() && chain.steps[next] == chain.steps[i]) ++next;
    steps += "[" + chain.steps[i].text() + "]";
    if (next - i > 1) steps += fmt::format("*{}", next - i);
    i = next;
  }
  ParameterWriter writer(kChainKind);
  writer.write_subject(steps);
  Chain options = chain;
  kinds::Fields fields(writer);
  kinds::describe(options, fields);
  return writer.text();
}

const kinds::KindOf<Chain>& kinds::kind_of(const Chain&) {
  static const KindOf<Chain> kind = {
      .words = {{"chain",
                 "several operations as one launch: one after the other, in lanes, on one or several streams",
                 "chain:[linear:n=64,in=256,out=256][relu:count=16Ki],lanes=4"}},
      .describe = describe,
      .check = check,
      .text = chain_text,
      .flops = flops,
      .operands = operands};
  return kind;
}

}  // namespace jitterscope
