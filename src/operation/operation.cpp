#include "operation/operation.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "jitterscope/operation.hpp"
#include "operation/chain.hpp"
#include "operation/cuda_kernel.hpp"
#include "operation/kinds.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/kinds_elementwise.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope {
namespace {

template <class Shape>
concept HasDataType = requires(Shape shape) {
  shape.dtype;
};

}  // namespace

Operation::Operation(Parameters parameters) : parameters_(std::move(parameters)) {
  std::visit(
      []<class Shape>(Shape& shape) {
        const kinds::KindOf<Shape>& kind = kinds::kind_of(shape);
        const std::string_view name = kinds::name(shape);
        if (kind.normalize != nullptr) kind.normalize(shape);
        kinds::Fields fields(name);
        kind.describe(shape, fields);
        if (kind.check != nullptr) kind.check(shape);
        check_operand_bytes(name, kinds::operands(shape));
      },
      parameters_);
}

std::string_view Operation::kind() const {
  return std::visit([](const auto& shape) { return kinds::name(shape); }, parameters_);
}

std::string Operation::text() const {
  return std::visit(
      []<class Shape>(Shape shape) {
        const kinds::KindOf<Shape>& kind = kinds::kind_of(shape);
        if (kind.text != nullptr) return kind.text(shape);
        ParameterWriter writer(kinds::name(shape));
        kinds::Fields fields(writer);
        kind.describe(shape, fields);
        return writer.text();
      },
      parameters_);
}

double Operation::flops() const {
  return std::visit(
      []<class Shape>(const Shape& shape) {
        const kinds::KindOf<Shape>& kind = kinds::kind_of(shape);
        return kind.flops == nullptr ? 0.0 : kind.flops(shape);
      },
      parameters_);
}

Bytes Operation::bytes() const {
  if (const Aten* aten = std::get_if<Aten>(&parameters_)) return kinds::bytes(*aten);
  if (const Chain* chain = std::get_if<Chain>(&parameters_)) return kinds::bytes(*chain);
  Bytes total;
  for (const Bytes bytes : operand_traffic(*this)) total += bytes;
  return total;
}

DataType Operation::dtype() const {
  if (const Chain* chain = std::get_if<Chain>(&parameters_)) return coarsest_type(*chain);
  if (const Convert* convert = std::get_if<Convert>(&parameters_)) {
    return coarser_type(convert->dtype, convert->to_dtype);
  }
  return std::visit(
      [](const auto& shape) {
        if constexpr (HasDataType<std::decay_t<decltype(shape)>>) return shape.dtype;
        return DataType::f32;
      },
      parameters_);
}

std::vector<Operand> Operation::operands() const {
  return std::visit([](const auto& shape) { return kinds::operands(shape); }, parameters_);
}

Operation Operation::with_dtype(DataType type) const {
  Parameters changed = parameters_;
  if (Chain* chain = std::get_if<Chain>(&changed)) {
    for (Operation& step : chain->steps) step = step.with_dtype(type);
    return changed;
  }
  if (Convert* convert = std::get_if<Convert>(&changed)) {
    if (convert->dtype == convert->to_dtype) convert->dtype = convert->to_dtype = type;
    return changed;
  }
  std::visit(
      [type](auto& shape) {
        if constexpr (HasDataType<std::decay_t<decltype(shape)>>) shape.dtype = type;
        if constexpr (std::is_same_v<std::decay_t<decltype(shape)>, BatchNorm>) {
          if (shape.weights != DataType::f32) shape.weights = kinds::converted_weights_type(type);
        }
      },
      changed);
  return changed;
}

namespace {

// The one buffer in place is read and written; in a broadcast the root only reads, the others only write.
Bytes traffic_in_place(const Collective& collective) {
  const std::int64_t own = part_of(collective), all = collective.count;
  const bool is_scattered = collective.kind == CollectiveKind::reduce_scatter;
  const bool moves_once =
      collective.kind == CollectiveKind::broadcast || collective.kind == CollectiveKind::all_gather;
  return Bytes((is_scattered ? all + own
                : moves_once ? all
                             : 2 * all) *
               element_size(collective.dtype).value());
}

// A filter whose stride exceeds its size does not read all positions: a 1x1 filter with stride 2 skips three
// of four.
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
  const auto* collective = std::get_if<Collective>(&operation.parameters());
  if (collective != nullptr && collective->in_place) traffic.front() = traffic_in_place(*collective);
  const auto* conv = std::get_if<Conv2d>(&operation.parameters());
  if (conv != nullptr && conv->direction != Direction::dgrad) traffic[0] = read_of_x(*conv);
  if (const auto* embedding = std::get_if<Embedding>(&operation.parameters())) {
    // Random indices repeat: 8 % of 8192 into 50257 rows. It is not subtracted, as nobody knows which.
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

Matmul as_matmul(const Operation& operation) {
  const auto* linear = std::get_if<Linear>(&operation.parameters());
  if (linear == nullptr) return std::get<Matmul>(operation.parameters());
  return {.m = linear->n,
          .n = linear->out,
          .k = linear->in,
          .transpose_b = true,
          .bias = linear->bias,
          .dtype = linear->dtype,
          .engine = linear->engine};
}

namespace {

template <class Shape>
concept HasEngine = requires(Shape shape) {
  shape.engine;
};

}  // namespace

Operation with_engine(const Operation& operation, const std::string& engine) {
  Operation::Parameters changed = operation.parameters();
  std::visit(
      [&](auto& shape) {
        if constexpr (HasEngine<std::decay_t<decltype(shape)>>) shape.engine = engine;
      },
      changed);
  return changed;
}

std::string engine_of(const Operation& operation) {
  return std::visit(
      [](const auto& shape) -> std::string {
        if constexpr (HasEngine<std::decay_t<decltype(shape)>>) return shape.engine;
        return {};
      },
      operation.parameters());
}

namespace {

std::string_view value_of(std::string_view fields, std::string_view name) {
  while (!fields.empty()) {
    const std::string_view field = fields.substr(0, fields.find(' '));
    if (field.starts_with(name) && field.substr(name.size()).starts_with('=')) {
      return field.substr(name.size() + 1);
    }
    fields.remove_prefix(std::min(field.size() + 1, fields.size()));
  }
  return {};
}

// Returns a value's name without the prefix of its enumeration; empty if it says nothing.
std::string_view chosen(std::string_view value, std::string_view prefix) {
  if (value.starts_with(prefix)) value.remove_prefix(prefix.size());
  for (const std::string_view nothing : {"UNDEFINED", "AUTO", "NONE", "0"}) {
    if (value == nothing) return {};
  }
  return value;
}

// Numbers of cublasLtReductionScheme_t.
std::string_view scheme_number(std::string_view name) {
  if (name == "INPLACE") return "1";
  if (name == "COMPUTE_TYPE") return "2";
  if (name == "OUTPUT_TYPE") return "4";
  return name;
}

}  // namespace

std::string cublaslt_tag(std::string_view algorithm) {
  const std::string_view id = value_of(algorithm, "algoId");
  if (id.empty()) return {};
  std::string tag = fmt::format("algo{}", id);
  const auto chosen_of = [&](std::string_view name, std::string_view prefix = {}) {
    return chosen(value_of(algorithm, name), prefix);
  };
  const auto append = [&](std::string_view word, std::string_view value) {
    if (!value.empty()) tag += fmt::format("_{}={}", word, value);
  };
  const std::string_view splits = chosen_of("numSplitsK");
  append("tile", chosen_of("tile", "MATMUL_TILE_"));
  append("stages", chosen_of("stages", "MATMUL_STAGES_"));
  append("splitk", splits == "1" ? "" : splits);
  append("reduction", scheme_number(chosen_of("reductionScheme", "REDUCTION_SCHEME_")));
  append("swizzle", chosen_of("ctaSwizzling"));
  append("custom", chosen_of("customOption"));
  append("inner", chosen_of("innerShape", "MATMUL_INNER_SHAPE_"));
  append("cluster", chosen_of("clusterShape", "CLUSTER_SHAPE_"));
  return tag;
}

}  // namespace jitterscope
