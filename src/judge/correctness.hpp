// Whether outputs are right: their error against float64 beside that of the reference.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/keys.hpp"

namespace jitterscope::judging {

struct OutputDescription {
  DataType dtype = DataType::f32;
  std::vector<std::int64_t> shape;

  std::size_t bytes() const;
  bool operator==(const OutputDescription&) const = default;
};
std::size_t bytes_of(std::span<const OutputDescription> outputs);
/// Returns "f32[64,64]".
std::string to_string(const OutputDescription& output);

/// Where and by how much an output is wrong.
struct Wrong {
  std::size_t output = 0, element = 0;
  double given = 0.0, expected = 0.0;
  double error = 0.0, budget = 0.0;  ///< in the measure that was exceeded by the largest factor
  std::string measure = {};          ///< "in all", "in a block of rows", "in one element", "not finite"
};
std::string to_string(const Wrong& wrong);

/// Outputs of one call, as numbers.
using Numbers = std::vector<std::vector<double>>;
Numbers numbers_of(std::span<const OutputDescription> outputs, std::span<const std::uint8_t> bytes);

/// Tells whether what is not finite must agree: of ordinary inputs it must.
enum class NotFinite { must_agree, may_differ };

/// Compares a candidate's outputs with the true ones (float64) beside the reference's own error: at most the
/// larger of twice that and verification_tolerance, in the root of the mean square over all, over each of 16
/// blocks of rows, and as the largest. Errors are relative to the root of the mean square of the truth, in a
/// block to the larger of the block's and a thousandth of that of all. Integers must be equal.
std::optional<Wrong> find_wrong(std::span<const OutputDescription> outputs, const Numbers& candidate,
                                const Numbers& reference, const Numbers& truth, NotFinite not_finite);

/// True if two outputs of a reference differ by more than its rounding.
bool moved(std::span<const OutputDescription> outputs, const Numbers& before, const Numbers& after);

}  // namespace jitterscope::judging
