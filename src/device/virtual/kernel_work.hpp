// What an operation asks of a virtual GPU, from its shape alone.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "physics/machine.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::virtual_gpu {

/// `buffers` follow operation.operands().
physics::KernelWork kernel_work(const physics::Parameters& parameters, const Operation& operation,
                                const std::vector<physics::Buffer>& buffers, DataKind data);

/// What its product keeps the units that multiply matrices busy for at their full rate; zero where it has
/// none, or runs it on others.
Cycles tensor_cycles(const physics::Parameters& parameters, const Operation& operation);

// How long a simulated GPU computes on a product of matrices: in tiles, one or several to a processor, and in
// pieces of the sum where tiles alone would leave processors idle, as cuBLAS and cuDNN do.
// docs/notebook/2026-11-27-products.md says what each number was fitted to.

/// A product as a kernel sees it; convolutions and attention are made of some.
struct ProductShape {
  DataType dtype = DataType::f32;
  double m = 1, n = 1, k = 1, batch = 1;
  double row_of_a = 128, row_of_b = 128;  ///< bytes from one row in memory to the next
  bool sums_along_b = false;              ///< B is stored n×k, so that a sum's elements are neighbours
  bool has_bias = false;
  bool is_plain =
      true;  ///< a product alone, for which libraries have more kernels: narrow ones, and for rows
  bool may_be_cut = true;   ///< into pieces of the sum
  double efficiency = 1;    ///< of what a plain product reaches
  Nanoseconds beside = {};  ///< what else its launch takes
};

struct ProductWork {
  Nanoseconds fixed;      ///< follows neither the clock nor memory
  Cycles cycles;          ///< of the processors, while operands are in the cache
  Nanoseconds stalls;     ///< where all reads miss the cache: what a short pipeline does not hide
  double busy = 1;        ///< share of the cycles in which processors multiply at their rate
  double processors = 1;  ///< that its tiles fill, of 128 x 128 elements each
};

/// Nothing of an operation that multiplies no matrices.
std::optional<ProductShape> product_shape(const physics::Parameters& parameters, const Operation& operation);
ProductWork product_work(const physics::Parameters& parameters, const ProductShape& shape);

/// Of a type: f16 and bf16 share one.
const physics::Product& product_of(const physics::Parameters& parameters, DataType dtype);
/// FLOPs that all processors do in a cycle.
double flops_per_cycle(const physics::Compute& compute, DataType dtype);

}  // namespace jitterscope::virtual_gpu
