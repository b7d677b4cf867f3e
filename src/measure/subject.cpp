#include "measure/subject.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/sequence.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/operation.hpp"

namespace jitterscope {
namespace {

std::vector<MemoryRegion> memory_of(const PreparedCalls& calls) {
  std::vector<MemoryRegion> regions;
  for (const auto& call : calls) {
    const std::vector<MemoryRegion> own = call->memory();
    regions.insert(regions.end(), own.begin(), own.end());
  }
  return regions;
}

// Runs the calls of a network in their order, each reading what earlier ones wrote, and a step's exchanges
// beside them. Shared memory cannot be moved.
class StepWorkload final : public Workload {
 public:
  /// `calls` has null for a call that is not launched.
  StepWorkload(const ParallelStep& step, PreparedCalls calls, PreparedCalls exchanges, Device& device)
      : step_(step), launches_(step.calls()), exchanges_(std::move(exchanges)) {
    std::vector<std::size_t> places(calls.size());
    for (std::size_t c = 0; c < calls.size(); ++c) {
      places[c] = calls_.size();
      if (calls[c]) calls_.push_back(std::move(calls[c]));
    }
    for (std::size_t& launch : launches_) launch = places[launch];
    for (std::size_t e = 0; e < exchanges_.size(); ++e) {
      const std::optional<RankData> own = exchanges_[e]->rank_data();
      const auto& collective = std::get<Collective>(step_.exchanges[e].collective.parameters());
      takes_part_.push_back(!own || takes_part(collective, own->rank));
    }
    if (!runs_beside(step_)) return;
    side_ = device.make_side_stream(step_.exchanges.size());
    joins_.resize(launches_.size() + 1);
    for (std::size_t e = 0; e < step_.exchanges.size(); ++e)
      if (takes_part_[e]) joins_[step_.exchanges[e].before].push_back(e);
  }

  void run(NativeQueue queue) override {
    std::size_t next = 0;
    for (std::size_t l = 0; l <= launches_.size(); ++l) {
      for (; next < step_.exchanges.size() && step_.exchanges[next].after == l; ++next) exchange(queue, next);
      if (side_) {
        for (const std::size_t e : joins_[l]) side_->join(queue, e);
      }
      if (l < launches_.size()) calls_[launches_[l]]->run(queue);
    }
  }
  bool waits_for_queue() const override {
    return std::ranges::any_of(calls_, [](const auto& call) { return call->waits_for_queue(); });
  }
  void prepare_recording(NativeQueue queue) override {
    for (const auto& call : calls_) call->prepare_recording(queue);
    for (const auto& each : exchanges_) each->prepare_recording(queue);
  }
  bool produce_inputs(NativeQueue queue) override {
    return !calls_.empty() && calls_.front()->produce_inputs(queue);
  }
  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> regions = memory_of(calls_);
    const std::vector<MemoryRegion> others = memory_of(exchanges_);
    regions.insert(regions.end(), others.begin(), others.end());
    return regions;
  }

 private:
  void exchange(NativeQueue queue, std::size_t number) {
    // An exchange between two others orders nothing on this rank.
    if (!side_ || !takes_part_[number]) return exchanges_[number]->run(queue);
    exchanges_[number]->run(side_->begin(queue, number));
    side_->end(queue, number);
  }

  const ParallelStep step_;
  std::vector<std::size_t> launches_;  // of each its place in calls_
  PreparedCalls calls_, exchanges_;
  std::vector<bool> takes_part_;                 // this rank in each exchange
  std::vector<std::vector<std::size_t>> joins_;  // before each launch, and at the end
  std::unique_ptr<SideStream> side_;             // destroyed first: its work uses the memory of the others
};

std::int64_t count_of(const Model& pass) { return std::ssize(pass.calls); }

Bytes outputs_of(const Operation& operation) {
  Bytes bytes;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output) bytes += operand.bytes();
  }
  return bytes;
}

// Leaves null for a call that is not launched.
PreparedCalls prepare_calls(Device& device, const ParallelStep& step, InputData data) {
  const Model& pass = step.network;
  data.placement.reset();  // memory that calls share is not moved
  std::vector<bool> is_launched(pass.calls.size());
  for (const std::size_t call : step.calls()) is_launched[call] = true;
  PreparedCalls calls;
  for (std::size_t i = 0; i < pass.calls.size(); ++i) {
    if (!is_launched[i]) {
      calls.push_back(nullptr);
      continue;
    }
    try {
      prepare_call(device, pass, i, data, calls);
    } catch (const UsageError& error) {
      throw UsageError(pass.calls[i].name + ": " + error.what());
    }
  }
  return calls;
}

PreparedSubject prepare_step(Device& device, const ParallelStep& step, const InputData& data) {
  PreparedCalls calls = prepare_calls(device, step, data);
  PreparedCalls exchanges;
  for (const StepExchange& exchange : step.exchanges)
    exchanges.push_back(device.prepare(exchange.collective, {.kind = data.kind, .seed = data.seed}));
  PreparedSubject subject;
  subject.provider = "in sequence";
  subject.workload = std::make_unique<StepWorkload>(step, std::move(calls), std::move(exchanges), device);
  return subject;
}

}  // namespace

std::string TrialSubject::text() const {
  if (const Operation* one = operation()) return one->text();
  if (callable() != nullptr) return callable()->name;
  if (step() != nullptr) return step()->name;
  const auto& pass = std::get<Model>(what_);
  return pass.name + ", " + counted(count_of(pass), "call") + " in their order";
}

bool TrialSubject::has_collective() const {
  if (const Operation* one = operation()) return jitterscope::has_collective(*one);
  return step() != nullptr && !step()->exchanges.empty();
}

std::int64_t TrialSubject::calls() const {
  if (step() != nullptr) return static_cast<std::int64_t>(step()->launches() + step()->exchanges.size());
  const auto* pass = std::get_if<Model>(&what_);
  return pass == nullptr ? 1 : count_of(*pass);
}

Bytes TrialSubject::output_bytes() const {
  if (const Operation* one = operation()) return outputs_of(*one);
  if (callable() != nullptr || step() != nullptr) return Bytes(0);
  const auto& pass = std::get<Model>(what_);
  return outputs_of(pass.layers[pass.calls.back().layer].operation);
}

PreparedSubject TrialSubject::prepare(Device& device, const InputData& data,
                                      const std::string& engine) const {
  if (callable() != nullptr) return {.workload = std::make_unique<CallableWorkload>(device, *callable())};
  if (step() != nullptr) {
    check_step(*step());
    return prepare_step(device, *step(), data);
  }
  const Operation* one = operation();
  if (one == nullptr) return prepare_step(device, {.name = text(), .network = std::get<Model>(what_)}, data);
  std::unique_ptr<PreparedOperation> prepared =
      device.prepare(engine.empty() ? *one : with_engine(*one, engine), data);
  PreparedSubject subject{nullptr,
                          prepared->provider(),
                          prepared->algorithm(),
                          prepared->operand_alignment(),
                          prepared->has_row_strides(),
                          prepared->lies_in_pages()};
  subject.workload = std::move(prepared);
  return subject;
}

TrialSubject TrialSubject::among(std::int64_t ranks) const {
  if (const Operation* one = operation()) return among_ranks(*one, ranks);
  if (step() == nullptr) return *this;
  ParallelStep own = *step();
  for (StepExchange& exchange : own.exchanges) exchange.collective = among_ranks(exchange.collective, ranks);
  return TrialSubject(std::move(own));
}

Subject TrialSubject::described() const {
  if (const Operation* one = operation()) return *one;
  return Callable{text()};
}

}  // namespace jitterscope
