#include "device/virtual/kernel_work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "jitterscope/error.hpp"
#include "operation/operation.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using physics::KernelWork;
using physics::Parameters;

// A spinning block keeps one warp of its processor busy with clock reads: nearly idle.
constexpr double kSpinActivity = 0.05;

double power_of(const physics::DataPower& power, DataKind data) {
  switch (data) {
    case DataKind::normal: return 1.0;
    case DataKind::uniform: return power.uniform;
    case DataKind::zeros: return power.zeros;
    case DataKind::ones: return power.ones;
    case DataKind::sparse: return power.sparse;
  }
  return 1.0;
}

class Shaper {
 public:
  Shaper(const Parameters& parameters, const Operation& operation, KernelWork& work)
      : parameters_(parameters), operation_(operation), work_(work) {}

  void operator()(const Conv2d&) { product(parameters_.compute.conv2d_activity); }
  void operator()(const Matmul&) { product(1.0); }
  void operator()(const Linear&) { product(1.0); }
  void operator()(const Attention&) { product(1.0); }
  // The rest computes less for each byte than memory takes to bring it.
  template <class Shape>
  void operator()(const Shape&) {
    work_.activity = parameters_.compute.memory_activity;
  }
  // A copy engine feeds the bus. The GPU's own memory is some 80 times faster and does not show.
  void operator()(const Copy& copy) {
    if (copy.kind == CopyKind::d2d) {
      work_.activity = parameters_.compute.memory_activity;
      return;
    }
    const double bandwidth = copy.memory == HostMemory::pageable ? parameters_.memory.host_bandwidth_pageable
                                                                 : parameters_.memory.host_bandwidth_pinned;
    work_.fixed += seconds(static_cast<double>(copy.bytes) / bandwidth);
    work_.accesses.clear();
  }
  void operator()(const Spin& spin) {
    const auto more_blocks = static_cast<double>(
        std::max<std::int64_t>(0, spin.blocks - static_cast<std::int64_t>(parameters_.identity.processors)));
    const auto amount = static_cast<double>(spin.amount);
    work_.fixed += parameters_.compute.block_cost * more_blocks;
    if (spin.unit == Spin::Unit::nanoseconds) work_.fixed += Nanoseconds(amount);
    if (spin.unit == Spin::Unit::cycles) work_.compute = Cycles(amount);
    work_.activity = kSpinActivity;
  }
  // One launch computes all steps; the accesses are already the chain's.
  void operator()(const Chain& chain) {
    if (!chain.fused) throw std::logic_error("a chain's steps are prepared one by one");
    Cycles compute;
    double activity = 0.0;
    for (const Operation& step : chain.steps) {
      work_.compute = Cycles(0);
      std::visit(Shaper(parameters_, step, work_), step.parameters());
      compute += work_.compute;
      activity = std::max(activity, work_.activity);
    }
    work_.compute = compute;
    work_.activity = activity;
  }
  void operator()(const Allocation&) { throw std::logic_error("require_means let an allocation through"); }
  void operator()(const Aten& aten) {
    throw UsageError(aten.name + ": a simulated GPU has no operators of PyTorch; use device cpu or cuda");
  }

 private:
  void product(double activity) {
    const ProductWork own = product_work(parameters_, *product_shape(parameters_, operation_));
    work_.fixed += own.fixed;
    work_.compute = own.cycles;
    work_.stalls += own.stalls;
    work_.overlap = parameters_.compute.product_overlap;
    // Processors that wait for a tile, or have none, draw no power for it.
    work_.activity = activity * product_of(parameters_, operation_.dtype()).activity * own.busy;
  }

  const Parameters& parameters_;
  const Operation& operation_;
  KernelWork& work_;
};

}  // namespace

Cycles tensor_cycles(const Parameters& parameters, const Operation& operation) {
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    Cycles sum;
    for (const Operation& step : chain->steps) sum += tensor_cycles(parameters, step);
    return sum;
  }
  const DataType dtype = operation.dtype();
  const bool has_units = dtype == DataType::tf32 || dtype == DataType::f16 || dtype == DataType::bf16;
  if (!has_units || !product_shape(parameters, operation)) return Cycles(0);
  return Cycles(operation.flops() / flops_per_cycle(parameters.compute, dtype));
}

KernelWork kernel_work(const Parameters& parameters, const Operation& operation,
                       const std::vector<physics::Buffer>& buffers, DataKind data) {
  KernelWork work;
  work.fixed = parameters.compute.kernel_floor;
  const std::vector<Operand> operands = operation.operands();
  const std::vector<Bytes> traffic = operand_traffic(operation);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    work.accesses.push_back({buffers.at(i), traffic[i], operands[i].role == OperandRole::output});
  }
  std::visit(Shaper(parameters, operation, work), operation.parameters());
  work.activity *= power_of(parameters.data, data);
  return work;
}

namespace {

using physics::Product;

struct Tile {
  double rows, columns;
  double elements() const { return rows * columns; }
};

// From the names of the kernels that cuBLAS 13.1 chose on an H200; tiles may also be turned.
constexpr Tile kTilesOfPlainUnits[] = {{32, 32},  {64, 32},   {64, 64},  {128, 32},
                                       {128, 64}, {128, 128}, {256, 64}, {256, 128}};
constexpr Tile kTilesOfTf32[] = {{64, 64}, {128, 64}, {128, 128}, {256, 64}, {256, 128}};
constexpr Tile kTilesOfF16[] = {{64, 8},   {64, 16},   {64, 32},  {64, 64},
                                {128, 64}, {128, 128}, {256, 64}, {256, 128}};
constexpr double kPieces[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
constexpr double kShortestPiece = 64, kShortestPieceOfRow = 1024;
// In f32, if B is stored n×k.
constexpr double kShortestPieceAlongB = 512;
constexpr double kNarrowestOfOthers = 64;  // for convolutions and attention
constexpr double kStep = 16;               // elements of a sum that are loaded at once
constexpr double kCacheLine = 128;
constexpr double kUsualTile = 128.0 * 128.0;
constexpr double kMostTilesAtOnce = 8;
// A row times a matrix gives each block 128 columns, or 32 from 2048 columns on.
constexpr double kManyColumns = 2048, kColumnsOfFew = 128, kColumnsOfMany = 32;
// Up to this many rows and this long a sum, each thread may sum elements of its own, without tiles.
constexpr double kFewRows = 16, kLongestOwnSum = 2048;
constexpr double kBlocksAtOnce = 4;  // such blocks on a processor

bool has_matrix_units(DataType dtype) {
  return dtype == DataType::tf32 || dtype == DataType::f16 || dtype == DataType::bf16;
}

std::span<const Tile> tiles_of(DataType dtype) {
  if (!has_matrix_units(dtype)) return kTilesOfPlainUnits;
  return dtype == DataType::tf32 ? std::span<const Tile>(kTilesOfTf32) : std::span<const Tile>(kTilesOfF16);
}

// Largest power of two that all rows begin at a multiple of, up to a cache line.
double alignment_of(double row_bytes) {
  double alignment = kCacheLine;
  while (alignment > 1 && std::fmod(row_bytes, alignment) != 0.0) alignment /= 2;
  return alignment;
}

/// A way to run the product; times in ns at the highest clock.
struct Way {
  double nanoseconds = std::numeric_limits<double>::infinity(), pieces = 0, stalls = 0, processors = 1;
  double all() const { return nanoseconds + pieces; }
};

class WaySearch {
 public:
  WaySearch(const Parameters& parameters, const ProductShape& shape)
      : parameters_(parameters),
        compute_(parameters.compute),
        product_(product_of(parameters, shape.dtype)),
        shape_(shape),
        size_(static_cast<double>(element_size(shape.dtype).value())) {}

  double flops_per_nanosecond() const {
    const double clock = parameters_.governor.maximum_clock.value() * 1e-9;
    return flops_per_cycle(compute_, shape_.dtype) / processors() * product_.efficiency * shape_.efficiency *
           clock;
  }

  Way best() const {
    const bool is_row = shape_.is_plain && !has_matrix_units(shape_.dtype) && few() == 1;
    if (is_row && shape_.dtype == DataType::f32) return best_of_row();
    Way best;
    const bool has_narrow = shape_.is_plain || !has_matrix_units(shape_.dtype);
    for (const Tile& tile : tiles_of(shape_.dtype)) {
      if (!has_narrow && tile.columns < kNarrowestOfOthers) continue;
      for (const Tile& turned : {tile, Tile{tile.columns, tile.rows}}) take_best(best, best_of(turned));
    }
    const bool may_sum_alone = compute_.own_sum_step > Nanoseconds(0) && shape_.is_plain &&
                               shape_.dtype == DataType::f32 && few() <= kFewRows &&
                               shape_.k <= kLongestOwnSum;
    if (may_sum_alone) take_best(best, own_sums());
    return best;
  }

 private:
  static void take_best(Way& best, const Way& way) {
    if (way.all() < best.all()) best = way;
  }
  double processors() const { return parameters_.identity.processors; }
  double few() const { return std::min(shape_.m, shape_.n); }
  double many() const { return std::max(shape_.m, shape_.n); }
  double on_a_processor(double tiles) const { return std::ceil(tiles / processors()); }
  // The pieces of a sum are read one after the other.
  double adding_up(double pieces) const {
    if (pieces <= 1) return 0;
    const double bytes = shape_.m * shape_.n * shape_.batch * 4 * (pieces + 1);
    const double moved = product_.pieces_bandwidth > 0 ? bytes / product_.pieces_bandwidth * 1e9 : 0;
    return product_.split.value() + pieces * product_.piece.value() + moved;
  }
  double bytes_per_nanosecond() const {
    const double feed = product_.feed * 1e-9;
    const double alignment = std::min(alignment_of(shape_.row_of_a), alignment_of(shape_.row_of_b));
    const double unaligned = compute_.unaligned_feed * 1e-9 * alignment;
    const bool is_slowed = has_matrix_units(shape_.dtype) && alignment < kCacheLine && unaligned > 0;
    return is_slowed ? std::min(feed, unaligned) : feed;
  }

  Way best_of(const Tile& tile) const {
    Way best;
    const bool along_b = shape_.dtype == DataType::f32 && shape_.sums_along_b;
    const double shortest = along_b ? kShortestPieceAlongB : kShortestPiece;
    for (const double pieces : kPieces) {
      if (pieces > 1 && (!shape_.may_be_cut || shape_.k / pieces < shortest)) break;
      take_best(best, way_of(tile, pieces));
    }
    return best;
  }

  Way way_of(const Tile& tile, double pieces) const {
    const double tiles =
        std::ceil(shape_.m / tile.rows) * std::ceil(shape_.n / tile.columns) * shape_.batch * pieces;
    const double each = on_a_processor(tiles);
    const double at_once = std::clamp(std::floor(compute_.tiles_at_once * kUsualTile / 2 / tile.elements()),
                                      1.0, kMostTilesAtOnce);
    const double rounds = std::ceil(each / at_once);
    const double length = std::ceil(std::ceil(shape_.k / pieces) / kStep) * kStep;
    const double computing = 2 * tile.elements() / flops_per_nanosecond();
    const double loading =
        product_.feed > 0 ? (tile.rows + tile.columns) * size_ / bytes_per_nanosecond() : 0;
    const double storing = compute_.store > 0 ? tile.elements() * size_ / compute_.store * 1e9 : 0;
    // Matrix units are fed by copies that run beside them; plain units wait for the time of each step.
    const double busy = each * std::max(computing, loading), step = product_.step.value() * rounds;
    const double element = has_matrix_units(shape_.dtype) ? std::max(busy, step) : busy + step;
    Way way;
    way.nanoseconds = element * length + product_.tile.value() * rounds + storing * each;
    way.pieces = adding_up(pieces);
    way.stalls = std::max(0.0, product_.stall.value() - kHidden * element) * length * rounds;
    way.processors = tiles * tile.elements() / kUsualTile;
    return way;
  }

  // Each block reads its columns of the matrix, and nothing is read twice.
  Way best_of_row() const {
    Way best;
    const double columns = many() < kManyColumns ? kColumnsOfFew : kColumnsOfMany;
    for (const double pieces : kPieces) {
      if (pieces > 1 && shape_.k / pieces < kShortestPieceOfRow) break;
      const double blocks = std::ceil(many() / columns) * shape_.batch * pieces;
      const double bytes = (columns + 1) * size_ * std::ceil(shape_.k / pieces);
      Way way;
      way.nanoseconds = on_a_processor(blocks) * bytes / compute_.row_feed * 1e9 + product_.tile.value();
      way.pieces = adding_up(pieces);
      way.processors = blocks;
      take_best(best, way);
    }
    return best;
  }

  // A sum waits for each element, or for each four if they are neighbours.
  Way own_sums() const {
    const double blocks = std::ceil(many() / 32) * shape_.batch;
    const double element = compute_.own_sum_step.value() / (shape_.sums_along_b ? 4 : 1);
    Way way;
    way.nanoseconds =
        element * shape_.k * std::ceil(on_a_processor(blocks) / kBlocksAtOnce) + product_.tile.value();
    way.stalls = kStallOfOwnSums * product_.stall.value() * shape_.k / (shape_.sums_along_b ? 2 : 1);
    way.processors = blocks / kBlocksAtOnce;
    return way;
  }

  // Share of the time between two loads that hides a miss of the first.
  static constexpr double kHidden = 0.1;
  static constexpr double kStallOfOwnSums = 1.3;

  const Parameters& parameters_;
  const physics::Compute& compute_;
  const Product& product_;
  const ProductShape& shape_;
  double size_;
};

class ShapeReader {
 public:
  ShapeReader(const Parameters& parameters, const Operation& operation)
      : parameters_(parameters),
        operation_(operation),
        size_(static_cast<double>(element_size(operation.dtype()).value())) {}

  std::optional<ProductShape> operator()(const Matmul& product) const {
    ProductShape shape{.dtype = product.dtype};
    shape.m = count(product.m);
    shape.n = count(product.n);
    shape.k = count(product.k);
    shape.batch = count(product.batch);
    shape.row_of_a = size_ * (product.transpose_a ? shape.m : shape.k);
    shape.row_of_b = size_ * (product.transpose_b ? shape.k : shape.n);
    shape.sums_along_b = product.transpose_b;
    shape.has_bias = product.bias;
    return shape;
  }
  std::optional<ProductShape> operator()(const Linear& linear) const {
    ProductShape shape{.dtype = linear.dtype};
    shape.m = count(linear.n);
    shape.n = count(linear.out);
    shape.k = count(linear.in);
    shape.row_of_a = shape.row_of_b = size_ * shape.k;
    shape.sums_along_b = true;
    shape.has_bias = linear.bias;
    return shape;
  }
  // An implicit product: rows are pixels; for the weight gradient the sum goes over them.
  std::optional<ProductShape> operator()(const Conv2d& conv) const {
    ProductShape shape{
        .dtype = conv.dtype, .is_plain = false, .efficiency = parameters_.compute.conv2d_efficiency};
    const double groups = count(conv.groups), filter = count(conv.r * conv.s);
    const double inputs = count(conv.c) / groups, outputs = count(conv.k) / groups;
    shape.batch = groups;
    switch (conv.direction) {
      case Direction::fprop:
        shape.m = count(conv.n * conv.out_h() * conv.out_w());
        shape.n = outputs;
        break;
      case Direction::dgrad:
        shape.m = count(conv.n * conv.h * conv.w);
        shape.n = inputs;
        break;
      case Direction::wgrad:
        shape.m = outputs;
        shape.n = inputs * filter;
        break;
    }
    shape.k = std::max(1.0, operation_.flops() / (2 * shape.m * shape.n * shape.batch));
    // The weight gradient's sum is long, and each piece of it has a tile of the few there are.
    shape.may_be_cut = conv.direction == Direction::wgrad;
    if (conv.layout == Layout::nhwc) shape.row_of_a = size_ * inputs;
    // Its kernels want channels last: both operands and the result are converted.
    if (conv.layout == Layout::nchw && has_matrix_units(conv.dtype)) shape.beside = conversions();
    return shape;
  }
  // Both products in one: each query by the keys that it sees.
  std::optional<ProductShape> operator()(const Attention& attention) const {
    ProductShape shape{
        .dtype = attention.dtype, .is_plain = false, .efficiency = parameters_.compute.attention_efficiency};
    shape.batch = count(attention.batch * attention.heads);
    shape.m = count(attention.queries);
    shape.n = 2 * count(attention.dim);
    shape.k = std::max(1.0, operation_.flops() / (2 * shape.m * shape.n * shape.batch));
    shape.may_be_cut = false;
    shape.beside = parameters_.compute.attention_beside;
    return shape;
  }
  template <class Shape>
  std::optional<ProductShape> operator()(const Shape&) const {
    return std::nullopt;
  }

 private:
  Nanoseconds conversions() const {
    Nanoseconds all;
    for (const Operand& operand : operation_.operands()) {
      all += parameters_.compute.conversion;
      const double bandwidth = parameters_.compute.conversion_bandwidth;
      if (bandwidth > 0) all += seconds(2 * count(operand.bytes().value()) / bandwidth);
    }
    return all;
  }
  static double count(std::int64_t number) { return static_cast<double>(number); }

  const Parameters& parameters_;
  const Operation& operation_;
  double size_;
};

}  // namespace

double flops_per_cycle(const physics::Compute& compute, DataType dtype) {
  switch (dtype) {
    case DataType::f64: return compute.f64;
    case DataType::i32:
    case DataType::i64:
    case DataType::f32: return compute.f32;
    case DataType::tf32: return compute.tf32;
    case DataType::f16: return compute.f16;
    case DataType::bf16: return compute.bf16;
  }
  return compute.f32;
}

const physics::Product& product_of(const Parameters& parameters, DataType dtype) {
  switch (dtype) {
    case DataType::f64: return parameters.product_f64;
    case DataType::tf32: return parameters.product_tf32;
    case DataType::f16:
    case DataType::bf16: return parameters.product_f16;
    case DataType::i32:
    case DataType::i64:
    case DataType::f32: return parameters.product_f32;
  }
  return parameters.product_f32;
}

std::optional<ProductShape> product_shape(const Parameters& parameters, const Operation& operation) {
  auto shape = std::visit(ShapeReader(parameters, operation), operation.parameters());
  // A row or a column does not use the matrix units, and is read in full f32.
  if (shape && shape->is_plain && shape->dtype == DataType::tf32 && std::min(shape->m, shape->n) == 1)
    shape->dtype = DataType::f32;
  return shape;
}

ProductWork product_work(const Parameters& parameters, const ProductShape& shape) {
  const Product& product = product_of(parameters, shape.dtype);
  const WaySearch search(parameters, shape);
  const Way way = search.best();
  ProductWork work;
  work.fixed = product.start + Nanoseconds(way.pieces) + shape.beside;
  if (shape.has_bias) work.fixed += product.bias;
  work.cycles = Cycles(way.nanoseconds * 1e-9 * parameters.governor.maximum_clock.value());
  work.stalls = Nanoseconds(way.stalls);
  const double useful = 2 * shape.m * shape.n * shape.k * shape.batch /
                        (search.flops_per_nanosecond() * parameters.identity.processors);
  work.busy = std::min(1.0, useful / way.nanoseconds);
  work.processors = way.processors;
  return work;
}

}  // namespace jitterscope::virtual_gpu
