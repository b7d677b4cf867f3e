#include "operation/traffic.hpp"

#include <algorithm>

#include "operation/chain.hpp"
#include "operation/cuda_kernel.hpp"

namespace jitterscope {
namespace {

// Where the filter's steps leave gaps, the positions between them are not read: of a 1x1 filter with stride
// 2, three of four.
Bytes read_of_x(const Conv2d& conv) {
  const std::int64_t rows = std::min(conv.h, conv.out_h() * conv.r);
  const std::int64_t columns = std::min(conv.w, conv.out_w() * conv.s);
  return Bytes(conv.n * conv.c * rows * columns * element_size(conv.dtype).value());
}

}  // namespace

std::vector<Bytes> operand_traffic(const Operation& operation) {
  std::vector<Bytes> traffic;
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const ChainOperand& place : chain_operands(*chain)) {
      traffic.push_back(operand_traffic(chain->steps[place.step]).at(place.operand));
    }
    return traffic;
  }
  for (const Operand& operand : operation.operands()) traffic.push_back(operand.bytes());
  if (const auto* copy = std::get_if<Copy>(&operation.parameters())) {
    if (copy->kind == CopyKind::h2d) traffic.front() = Bytes(0);
    if (copy->kind == CopyKind::d2h) traffic.back() = Bytes(0);
  }
  if (const auto* kernel = std::get_if<CudaKernel>(&operation.parameters())) {
    const std::vector<std::size_t> places = operand_places(*kernel);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool both_ways = kernel->arguments[i].kind == KernelArgument::Kind::inout;
      if (both_ways) traffic[places[i]] = Bytes(2 * traffic[places[i]].value());
    }
  }
  const auto* conv = std::get_if<Conv2d>(&operation.parameters());
  if (conv != nullptr && conv->direction != Direction::dgrad) traffic[0] = read_of_x(*conv);
  if (const auto* embedding = std::get_if<Embedding>(&operation.parameters())) {
    // Random indices repeat: of 8192 into 50257 rows 8 % do, which is not taken off, as nobody knows which.
    const std::int64_t rows = std::min(embedding->count, embedding->rows);
    const Bytes row(embedding->columns * element_size(embedding->dtype).value());
    if (embedding->pass == Pass::forward) traffic[1] = Bytes(rows * row.value());
  }
  return traffic;
}

Bytes operand_memory(const Operation& operation) {
  Bytes sum;
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain != nullptr && !chain->fused) {
    for (std::size_t step = 0; step < chain->steps.size(); ++step) {
      sum += operand_memory(chain->steps[step]);
      if (is_linked(*chain, step)) sum -= chain->steps[step].operands().front().bytes();
    }
    return sum * chain->lanes;
  }
  for (const Operand& operand : operation.operands()) sum += operand.bytes();
  return sum;
}

}  // namespace jitterscope
