#include "operation/samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "operation/chain.hpp"

namespace jitterscope {
namespace {

// Rows of a matrix in memory are samples if it holds data: a's rows, unless it is stored transposed. Then its
// columns are, and the product sums over them if b has them as its rows, too. With both transposed neither
// operand has its samples outside.
std::int64_t* batch_of_product(Matmul& product) {
  if (product.batch > 1) return &product.batch;
  if (!product.transpose_a) return &product.m;
  return product.transpose_b ? nullptr : &product.k;
}

Chain* chain_in(Operation::Parameters& parameters) { return std::get_if<Chain>(&parameters); }

template <class Change>
Operation with_changed_batch(const Operation& operation, const Change& change) {
  Operation::Parameters parameters = operation.parameters();
  if (Chain* chain = chain_in(parameters)) {
    for (Operation& step : chain->steps) step = with_changed_batch(step, change);
  } else {
    change(*batch_of(parameters));
  }
  return {std::move(parameters)};
}

// True if each step of a chain, all of which have a batch, still reads what the one before writes where it
// did: a gradient of weights, and what converts it, has no samples that could be fewer.
template <class Change>
bool keeps_links(const Operation& operation, const Change& change) {
  const Operation changed = with_changed_batch(operation, change);
  const auto &before = std::get<Chain>(operation.parameters()),
             &after = std::get<Chain>(changed.parameters());
  for (std::size_t step = 1; step < before.steps.size(); ++step) {
    if (is_linked(before, step) != is_linked(after, step)) return false;
  }
  return true;
}

}  // namespace

std::int64_t* batch_of(Operation::Parameters& parameters) {
  return std::visit(
      [](auto& shape) -> std::int64_t* {
        using Work = std::decay_t<decltype(shape)>;
        if constexpr (std::is_same_v<Work, Matmul>)
          return batch_of_product(shape);
        else if constexpr (std::is_same_v<Work, Convert>)
          return shape.from == shape.to ? &shape.w : &shape.n;
        else if constexpr (requires { shape.n; })
          return &shape.n;
        else if constexpr (std::is_same_v<Work, Attention>)
          return &shape.batch;
        else if constexpr (std::is_same_v<Work, Softmax> || std::is_same_v<Work, LayerNorm>)
          return &shape.rows;
        else if constexpr (std::is_same_v<Work, Elementwise> || std::is_same_v<Work, Embedding>)
          return &shape.count;
        else
          return nullptr;
      },
      parameters);
}

bool has_batch(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  const Chain* chain = chain_in(parameters);
  if (chain == nullptr) return batch_of(parameters) != nullptr;
  return std::ranges::all_of(chain->steps, has_batch) &&
         keeps_links(operation, [](std::int64_t& batch) { batch *= 2; });
}

Operation with_larger_batch(const Operation& operation, std::int64_t factor) {
  return with_changed_batch(operation, [&](std::int64_t& batch) { batch *= factor; });
}

bool parts_evenly(const Operation& operation, std::int64_t pieces) {
  Operation::Parameters parameters = operation.parameters();
  const auto is_even = [&](const Operation& step) { return parts_evenly(step, pieces); };
  if (const Chain* chain = chain_in(parameters)) {
    return std::ranges::all_of(chain->steps, is_even) &&
           keeps_links(operation, [&](std::int64_t& batch) { batch /= pieces; });
  }
  const std::int64_t* batch = batch_of(parameters);
  return batch != nullptr && *batch % pieces == 0;
}

Operation piece_of(const Operation& operation, std::int64_t pieces) {
  return with_changed_batch(operation, [&](std::int64_t& batch) { batch /= pieces; });
}

std::optional<double> times_the_samples(const Operation& first, const Operation& second) {
  Operation::Parameters own = first.parameters(), other = second.parameters();
  if (own.index() != other.index()) return std::nullopt;
  const std::int64_t* from = batch_of(own);
  std::int64_t* to = batch_of(other);
  if (from == nullptr || to == nullptr) return std::nullopt;
  const double times = static_cast<double>(*to) / static_cast<double>(*from);
  *to = *from;
  const Operation equal(std::move(other));
  const auto counts = [](const Operation& operation) {
    std::vector<std::int64_t> found;
    for (const Operand& operand : operation.operands()) found.push_back(operand.count);
    return found;
  };
  if (equal.kind() != first.kind() || equal.flops() != first.flops() || counts(equal) != counts(first)) {
    return std::nullopt;
  }
  return times;
}

namespace {

std::optional<double> times_the_bytes(const Operation& first, const Operation& second) {
  const auto *own = std::get_if<Copy>(&first.parameters()), *other = std::get_if<Copy>(&second.parameters());
  if (own == nullptr || other == nullptr || own->kind != other->kind) return std::nullopt;
  return static_cast<double>(other->bytes) / static_cast<double>(own->bytes);
}

constexpr double kRounding = 1e-9;

}  // namespace

bool SampleChange::differs() const { return std::abs(times - 1.0) > kRounding; }

std::optional<SampleChange> sample_change(
    std::span<const std::pair<const Operation*, const Operation*>> operations) {
  SampleChange change;
  std::optional<double> times;
  for (const auto& [first, second] : operations) {
    if (*first == *second) continue;
    std::optional<double> own = times_the_samples(*first, *second);
    if (own) {
      change.has_samples = true;
      if (counts_samples(*first)) {
        Operation::Parameters parameters = first->parameters();
        const std::int64_t batch = *batch_of(parameters);
        change.of_first = change.of_first == 0 ? batch : std::min(change.of_first, batch);
      }
    } else {
      own = times_the_bytes(*first, *second);
    }
    if (!own || (times && std::abs(*own / *times - 1.0) > kRounding)) return std::nullopt;
    times = own;
  }
  change.times = times.value_or(1.0);
  return change;
}

bool counts_samples(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  const bool counts_elements =
      std::holds_alternative<Elementwise>(parameters) || std::holds_alternative<Convert>(parameters);
  return has_batch(operation) && !counts_elements;
}

std::string_view batch_parameter(std::string_view kind) {
  static const std::pair<std::string_view, std::string_view> kParameters[] = {
      {"conv2d", "n"},     {"linear", "n"},         {"matmul", "m"},        {"attention", "batch"},
      {"batch_norm", "n"}, {"max_pool", "n"},       {"avg_pool", "n"},      {"bias_add", "n"},
      {"softmax", "rows"}, {"log_softmax", "rows"}, {"layer_norm", "rows"}, {"embedding", "count"}};
  for (const auto& [known, parameter] : kParameters) {
    if (known == kind) return parameter;
  }
  return {};
}

std::vector<std::int64_t*> dimensions_of_results(Operation::Parameters& parameters) {
  std::vector<std::int64_t*> found;
  if (auto* conv = std::get_if<Conv2d>(&parameters)) {
    found = {&conv->n};
    if (conv->groups > 1) return found;
    if (conv->direction != Direction::dgrad) found.push_back(&conv->k);
    if (conv->direction != Direction::fprop) found.push_back(&conv->c);
  } else if (auto* product = std::get_if<Matmul>(&parameters)) {
    found = {&product->batch, &product->m, &product->n};
  } else if (auto* linear = std::get_if<Linear>(&parameters)) {
    found = {&linear->n, &linear->out};
  } else if (auto* norm = std::get_if<BatchNorm>(&parameters)) {
    found = {&norm->n, &norm->c, &norm->h, &norm->w};
  } else if (auto* pool = std::get_if<Pool2d>(&parameters)) {
    found = {&pool->n, &pool->c};
  } else if (auto* step = std::get_if<OptimizerStep>(&parameters)) {
    found = {&step->count};
  } else if (std::int64_t* batch = batch_of(parameters)) {
    found = {batch};
  }
  return found;
}

}  // namespace jitterscope
