#include "measure/output_memory.hpp"

#include <algorithm>
#include <tuple>

namespace jitterscope {
namespace {

// kSmallSize and kMinBlockSize of PyTorch's allocator.
constexpr std::int64_t kLargestSmall = std::int64_t{1} << 20, kGranularity = 512;

std::int64_t rounded(std::int64_t size) { return (size + kGranularity - 1) / kGranularity * kGranularity; }

}  // namespace

OutputMemory::OutputMemory(const Model& model) : last_used_(model.calls.size()) {
  std::map<Place, std::size_t> last;
  for (std::size_t call = 0; call < model.calls.size(); ++call) {
    for (const OperandSource& input : model.calls[call].inputs)
      last[{input.call, input.source_operand}] = call;
  }
  for (const auto& [place, call] : last) last_used_[call].push_back(place);
}

void OutputMemory::place(std::size_t call, const Operation& operation, std::vector<SharedOperand>& shared) {
  const std::vector<Operand> operands = operation.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::int64_t size = operands[i].bytes().value();
    const bool is_placed =
        std::ranges::any_of(shared, [&](const SharedOperand& each) { return each.operand == i; });
    if (operands[i].role != OperandRole::output || is_placed || size <= kLargestSmall) continue;
    Block block;
    if (take(size, block)) {
      shared.push_back({i, block.owner, block.operand, Bytes(block.begin)});
      used_[{call, i}] = block;
      borrowed_.emplace_back(call, i);
    } else {
      alone_[{call, i}] = size;
    }
  }
}

void OutputMemory::finish(std::size_t call, const PreparedOperation* prepared) {
  for (const auto& [place, size] : alone_) {
    if (prepared != nullptr) used_[place] = {prepared, place.second, count_++, 0, size};
  }
  if (prepared == nullptr) std::ranges::for_each(borrowed_, [&](const Place& place) { release(place); });
  alone_.clear();
  borrowed_.clear();
  for (const Place& place : last_used_[call]) release(place);
}

bool OutputMemory::take(std::int64_t size, Block& taken) {
  const auto key = [](const Block& block) { return std::tuple(block.size, block.number, block.begin); };
  auto best = free_.end();
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    if (block->size >= size && (best == free_.end() || key(*block) < key(*best))) best = block;
  }
  if (best == free_.end()) return false;
  taken = *best;
  const std::int64_t left = best->size - rounded(size);
  if (left > kLargestSmall) {
    taken.size = rounded(size);
    best->begin += taken.size;
    best->size = left;
  } else {
    free_.erase(best);
  }
  return true;
}

void OutputMemory::release(const Place& place) {
  const auto found = used_.find(place);
  if (found == used_.end()) return;  // an input, or a small one
  Block block = found->second;
  used_.erase(found);
  std::erase_if(free_, [&](const Block& other) {
    if (other.number != block.number) return false;
    const bool is_before = other.begin + other.size == block.begin;
    if (!is_before && block.begin + block.size != other.begin) return false;
    block.begin = std::min(block.begin, other.begin);
    block.size += other.size;
    return true;
  });
  free_.push_back(block);
}

}  // namespace jitterscope
