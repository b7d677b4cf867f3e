// How each kind computes an element of its outputs. `output` counts them from 0, in the order of operands().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "operation/reference.hpp"

namespace jitterscope::reference {

using Inputs = std::vector<std::vector<double>>;

/// Multiply-adds behind an element, at most.
struct Terms {
  double alone = 1;   ///< computed by itself
  double in_all = 1;  ///< its share where all are computed one after another
};

/// Where elements share nothing.
inline Terms alike(std::int64_t count) { return {static_cast<double>(count), static_cast<double>(count)}; }

// Where an element needs sums that others need too, a reference that keeps them.
double element(const Conv2d&, const Inputs&, std::size_t output, std::int64_t index);
double element(const Matmul&, const Inputs&, std::size_t output, std::int64_t index);
double element(const Linear&, const Inputs&, std::size_t output, std::int64_t index);
double element(const Copy&, const Inputs&, std::size_t output, std::int64_t index);
double element(const Elementwise&, const Inputs&, std::size_t output, std::int64_t index);
double element(const Spin&, const Inputs&, std::size_t output, std::int64_t index);
double element(const Pool2d&, const Inputs&, std::size_t output, std::int64_t index);
double element(const BiasAdd&, const Inputs&, std::size_t output, std::int64_t index);
double element(const OptimizerStep&, const Inputs&, std::size_t output, std::int64_t index);
std::unique_ptr<Reference> make(const BatchNorm&, const Inputs&);
std::unique_ptr<Reference> make(const LayerNorm&, const Inputs&);
std::unique_ptr<Reference> make(const Softmax&, const Inputs&);
std::unique_ptr<Reference> make(const Embedding&, const Inputs&);
std::unique_ptr<Reference> make(const Attention&, const Inputs&);

Terms terms(const Conv2d&, std::size_t output);
Terms terms(const Matmul&, std::size_t output);
Terms terms(const Linear&, std::size_t output);
Terms terms(const Copy&, std::size_t output);
Terms terms(const Elementwise&, std::size_t output);
Terms terms(const Spin&, std::size_t output);
Terms terms(const Pool2d&, std::size_t output);
Terms terms(const BiasAdd&, std::size_t output);
Terms terms(const OptimizerStep&, std::size_t output);
Terms terms(const BatchNorm&, std::size_t output);
Terms terms(const LayerNorm&, std::size_t output);
Terms terms(const Softmax&, std::size_t output);
Terms terms(const Embedding&, std::size_t output);
Terms terms(const Attention&, std::size_t output);

}  // namespace jitterscope::reference
