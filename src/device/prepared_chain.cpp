#include "device/prepared_chain.hpp"

#include <algorithm>

#include "base/names.hpp"

namespace jitterscope {
namespace {

std::string each_once(const std::vector<std::unique_ptr<PreparedOperation>>& steps,
                      std::string (PreparedOperation::*text)() const, const char* between) {
  std::vector<std::string> texts;
  for (const auto& step : steps) {
    std::string own = ((*step).*text)();
    if (!own.empty() && std::ranges::find(texts, own) == texts.end()) texts.push_back(std::move(own));
  }
  return joined(texts, between);
}

}  // namespace

PreparedChain::PreparedChain(const Operation& operation, const InputData& data, const PrepareStep& prepare)
    : operation_(operation), operands_(chain_operands(chain())) {
  if (chain().fused) {
    Chain lane = chain();
    lane.lanes = 1;
    lane_operands_ = chain_operands(lane);
    prepare_lanes(Operation(lane), data, prepare);
  } else {
    prepare_steps(data, prepare);
  }
  // An input that lies in another step's output was filled as if it were its own.
  PreparedChain::poison_outputs();
}

void PreparedChain::prepare_lanes(const Operation& lane, const InputData& data, const PrepareStep& prepare) {
  for (std::size_t number = 0; number < static_cast<std::size_t>(chain().lanes); ++number) {
    InputData own = data;
    own.seed += number;
    own.shared.clear();
    steps_.push_back(prepare(lane, own, number, 0));
  }
}

void PreparedChain::prepare_steps(const InputData& data, const PrepareStep& prepare) {
  const std::size_t count = chain().steps.size();
  std::uint64_t seeds = 0;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(chain().lanes); ++lane) {
    for (std::size_t number = 0; number < count; ++number) {
      InputData own = data;
      own.seed += seeds;
      // A conversion in front of a step draws what that would, so that both together can be compared with the
      // step alone.
      const bool is_in_front =
          number + 1 < count && std::holds_alternative<Convert>(chain().steps[number].parameters());
      if (!is_in_front) ++seeds;
      own.shared.clear();
      if (is_of_many_launches(chain())) own.placement.reset();  // each operand would take a page of 2 MiB
      if (is_linked(chain(), number)) {
        own.shared.push_back({0, steps_.back().get(), first_output(chain().steps[number - 1])});
      }
      steps_.push_back(prepare(chain().steps[number], own, lane, number));
    }
  }
}

// A step may lie in the memory of the one before it.
PreparedChain::~PreparedChain() {
  while (!steps_.empty()) steps_.pop_back();
}

std::string PreparedChain::provider() const { return each_once(steps_, &PreparedOperation::provider, "+"); }

std::string PreparedChain::algorithm() const {
  return each_once(steps_, &PreparedOperation::algorithm, "; ");
}

Bytes PreparedChain::workspace() const {
  Bytes sum;
  for (const auto& step : steps_) sum += step->workspace();
  return sum;
}

bool PreparedChain::is_stand_in() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return step->is_stand_in(); });
}

bool PreparedChain::runs_reference_loops() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return step->runs_reference_loops(); });
}

void PreparedChain::check_launches() {
  for (const auto& step : steps_) step->check_launches();
}

void PreparedChain::run(NativeQueue queue) {
  for (const auto& step : steps_) step->run(queue);
}

// Where it is more than a queue holds, its launches wait for the first ones to be over.
bool PreparedChain::waits_for_queue() const {
  return chain().wait != HostWait::none || is_of_many_launches(chain()) ||
         std::ranges::any_of(steps_, [](const auto& step) { return step->waits_for_queue(); });
}

bool PreparedChain::produce_inputs(NativeQueue queue) {
  return std::ranges::all_of(steps_, [queue](const auto& step) { return step->produce_inputs(queue); });
}

std::vector<MemoryRegion> PreparedChain::memory() const {
  std::vector<MemoryRegion> all;
  for (const auto& step : steps_) {
    const std::vector<MemoryRegion> own = step->memory();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void PreparedChain::poison_outputs() {
  for (const auto& step : steps_) step->poison_outputs();
}

std::vector<double> PreparedChain::read_operand(std::size_t index) {
  const ChainOperand& place = operands_.at(index);
  if (!chain().fused) return step(place.lane, place.step).read_operand(place.operand);
  const auto own = std::ranges::find_if(lane_operands_, [&place](const ChainOperand& each) {
    return each.step == place.step && each.operand == place.operand;
  });
  return steps_[place.lane]->read_operand(static_cast<std::size_t>(own - lane_operands_.begin()));
}

}  // namespace jitterscope
