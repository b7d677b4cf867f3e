// The samples of an operation: how many one launch takes, more or fewer of them, and an operation with few
// results that stands for one with many.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Returns the parameter that counts the samples: n, rows, a product's m, or its k if both factors are
/// gradients and data of the same samples (a gradient of weights). Null for an optimizer's step, a product
/// without samples, and a chain, whose steps have their own.
std::int64_t* batch_of(Operation::Parameters& parameters);

/// True if launches can take more or fewer samples; of a chain, if all steps can.
bool has_batch(const Operation&);
/// Returns an operation on this many times the samples; it must have a batch.
Operation with_larger_batch(const Operation&, std::int64_t factor);

/// True if its samples can be cut into so many equal pieces.
bool parts_evenly(const Operation&, std::int64_t pieces);
/// Returns the operation on one of the pieces.
Operation piece_of(const Operation&, std::int64_t pieces);

/// Returns the number of samples of `second` over that of `first`, if both do the same with each; nullopt if
/// they differ in more than samples, data type, layout and engine, or have no batch.
std::optional<double> times_the_samples(const Operation& first, const Operation& second);
/// Two runs of one list of operations that differ in their samples alone.
struct SampleChange {
  double times = 1.0;        ///< samples of the second over those of the first; 1 if both take as many
  bool has_samples = false;  ///< whether an operation other than a copy has them
  std::int64_t of_first =
      0;  ///< the fewest samples in the first: more are rows within samples; 0: not counted

  /// False if both take as many samples, as operations that differ in their type alone do.
  bool differs() const;
};
/// Compares pair by pair. A network copies as many times the bytes as it takes samples. nullopt if anything
/// else differs, or not all operations that do have the same multiple.
std::optional<SampleChange> sample_change(
    std::span<const std::pair<const Operation*, const Operation*>> operations);
/// True if its batch is one of samples by itself; the elements of an addition are samples in a network only.
bool counts_samples(const Operation&);

/// Returns the name of the parameter without which a typed operation of this kind has no number of samples;
/// empty if it has none that could be left out.
std::string_view batch_parameter(std::string_view kind);

/// Returns the parameters that number results and can be made smaller alone: the sums behind each result keep
/// their length, but for those over samples.
std::vector<std::int64_t*> dimensions_of_results(Operation::Parameters& parameters);

}  // namespace jitterscope
