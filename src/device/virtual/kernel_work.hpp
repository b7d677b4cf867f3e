// Computes an operation's demand on a virtual GPU from its shape alone.
#pragma once

#include <optional>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "physics/machine.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::virtual_gpu {

/// `buffers` are in the order of the operands.
physics::KernelWork kernel_work(const physics::Parameters& parameters, const Operation& operation,
                                const std::vector<physics::Buffer>& buffers, DataKind data);

/// Cycles of the matrix (tensor) units at their full rate; zero if the operation does not use them.
Cycles tensor_cycles(const physics::Parameters& parameters, const Operation& operation);

// Time of a matrix product on a simulated GPU: in tiles, one or several to a processor, and in pieces of the
// sum if tiles alone would leave processors idle, as in cuBLAS and cuDNN.
// docs/notebook/2026-11-27-products.md says what each number was fitted to.

/// A product as a kernel sees it; convolutions and attention are made of products.
struct ProductShape {
  DataType dtype = DataType::f32;
  double m = 1, n = 1, k = 1, batch = 1;
  double row_of_a = 128, row_of_b = 128;  ///< bytes from one row in memory to the next
  bool sums_along_b = false;              ///< B is stored n×k, so that a sum's elements are neighbours
  bool has_bias = false;
  bool is_plain = true;     ///< a product alone, for which libraries have narrow tiles and row kernels too
  bool may_be_cut = true;   ///< into pieces of the sum
  double efficiency = 1;    ///< relative to a plain product
  Nanoseconds beside = {};  ///< other time of the launch
};

struct ProductWork {
  Nanoseconds fixed;      ///< independent of clock and memory
  Cycles cycles;          ///< processor cycles, if all operands are in the cache
  Nanoseconds stalls;     ///< if all reads miss the cache: latency that a short pipeline does not hide
  double busy = 1;        ///< share of the cycles in which processors multiply at their rate
  double processors = 1;  ///< filled by its tiles of 128 x 128 elements
};

/// nullopt if the operation multiplies no matrices.
std::optional<ProductShape> product_shape(const physics::Parameters& parameters, const Operation& operation);
ProductWork product_work(const physics::Parameters& parameters, const ProductShape& shape);

/// The parameters of a type; f16 and bf16 share one set.
const physics::Product& product_of(const physics::Parameters& parameters, DataType dtype);
/// FLOPs of all processors in one cycle.
double flops_per_cycle(const physics::Compute& compute, DataType dtype);

}  // namespace jitterscope::virtual_gpu
