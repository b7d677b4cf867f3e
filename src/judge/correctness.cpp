#include "judge/correctness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "judge/in_parts.hpp"
#include "measure/verify.hpp"

namespace jitterscope::judging {

std::size_t OutputDescription::bytes() const {
  auto count = static_cast<std::size_t>(element_size(dtype).value());
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

std::size_t bytes_of(std::span<const OutputDescription> outputs) {
  std::size_t sum = 0;
  for (const OutputDescription& output : outputs) sum += output.bytes();
  return sum;
}

std::string to_string(const OutputDescription& output) {
  return fmt::format("{}[{}]", to_string(output.dtype), fmt::join(output.shape, ","));
}

std::string to_string(const Wrong& wrong) {
  if (wrong.measure == "not finite") {
    return fmt::format("output {}, element {}: {:.6g} where {:.6g} is right", wrong.output, wrong.element,
                       wrong.given, wrong.expected);
  }
  return fmt::format(
      "output {}, element {}: {:.6g} where {:.6g} is right; the error {} is {:.2g}, and {:.2g} is allowed",
      wrong.output, wrong.element, wrong.given, wrong.expected, wrong.measure, wrong.error, wrong.budget);
}

Numbers numbers_of(std::span<const OutputDescription> outputs, std::span<const std::uint8_t> bytes) {
  if (bytes.size() != bytes_of(outputs)) {
    throw UsageError(fmt::format("outputs of {} bytes were given as {}", bytes_of(outputs), bytes.size()));
  }
  Numbers numbers;
  for (const OutputDescription& output : outputs) {
    numbers.push_back(judging::numbers_of(output.dtype, bytes.first(output.bytes())));
    bytes = bytes.subspan(output.bytes());
  }
  return numbers;
}

namespace {

constexpr std::size_t kBlocks = 16;

bool is_same_special(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// Sums over the finite elements of a stretch of an output.
struct Errors {
  double of_candidate = 0.0, of_reference = 0.0, truth = 0.0;  ///< sums of squares
  double largest = 0.0, largest_of_reference = 0.0;
  std::size_t worst = 0, count = 0;

  void add(std::size_t i, double candidate, double reference, double right) {
    const double error = std::abs(candidate - right), own = std::abs(reference - right);
    of_candidate += error * error;
    of_reference += own * own;
    truth += right * right;
    if (error >= largest) {
      largest = error;
      worst = i;
    }
    largest_of_reference = std::max(largest_of_reference, own);
    ++count;
  }
  void add(const Errors& behind) {
    of_candidate += behind.of_candidate;
    of_reference += behind.of_reference;
    truth += behind.truth;
    if (behind.count > 0 && behind.largest >= largest) {
      largest = behind.largest;
      worst = behind.worst;
    }
    largest_of_reference = std::max(largest_of_reference, behind.largest_of_reference);
    count += behind.count;
  }
  double root(double sum) const { return count == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(count)); }
};

// Keeps the measure that is exceeded by the largest factor.
class Worst {
 public:
  explicit Worst(std::size_t output) : output_(output) {}

  void look(double error, double budget, std::size_t element, const char* measure) {
    if (!(error > budget)) return;
    const double factor = budget > 0.0 ? error / budget : std::numeric_limits<double>::infinity();
    if (found_ && factor <= factor_) return;
    factor_ = factor;
    found_ =
        Wrong{.output = output_, .element = element, .error = error, .budget = budget, .measure = measure};
  }
  std::optional<Wrong> found_in(const std::vector<double>& candidate,
                                const std::vector<double>& truth) const {
    std::optional<Wrong> wrong = found_;
    if (wrong) {
      wrong->given = candidate[wrong->element];
      wrong->expected = truth[wrong->element];
    }
    return wrong;
  }

 private:
  std::size_t output_;
  double factor_ = 0.0;
  std::optional<Wrong> found_;
};

std::optional<Wrong> find_wrong(std::size_t output, DataType dtype, std::int64_t rows,
                                const std::vector<double>& candidate, const std::vector<double>& reference,
                                const std::vector<double>& truth, NotFinite not_finite) {
  const std::size_t size = candidate.size();
  const std::size_t blocks = std::clamp<std::size_t>(static_cast<std::size_t>(rows), 1, kBlocks);
  std::vector<Errors> parts(blocks);
  std::vector<std::optional<Wrong>> not_alike(blocks);
  const auto begin_of = [&](std::size_t block) { return (block * size + blocks - 1) / blocks; };
  const auto look_at_block = [&](std::size_t block) {
    for (std::size_t i = begin_of(block); i < begin_of(block + 1); ++i) {
      if (std::isfinite(candidate[i]) && std::isfinite(reference[i]) && std::isfinite(truth[i])) {
        parts[block].add(i, candidate[i], reference[i], truth[i]);
      } else if (not_finite == NotFinite::must_agree && !is_same_special(candidate[i], reference[i]) &&
                 !is_same_special(candidate[i], truth[i])) {
        not_alike[block] = Wrong{.output = output,
                                 .element = i,
                                 .given = candidate[i],
                                 .expected = reference[i],
                                 .measure = "not finite"};
        return;
      }
    }
  };
  constexpr std::size_t kWorthAThread = std::size_t{1} << 16;
  in_parts(blocks, 1 + kWorthAThread * blocks / std::max<std::size_t>(1, size),
           [&](std::size_t begin, std::size_t end) {
             for (std::size_t block = begin; block < end; ++block) look_at_block(block);
           });
  Errors all;
  for (std::size_t block = 0; block < blocks; ++block) {
    if (not_alike[block]) return not_alike[block];
    all.add(parts[block]);
  }
  const double tolerance = verification_tolerance(dtype), scale = all.root(all.truth);
  Worst worst(output);
  const auto relative = [](double error, double to) {
    return error == 0.0 ? 0.0 : error / (to > 0.0 ? to : 1.0);
  };
  const auto look = [&](const Errors& errors, double to, const char* measure) {
    worst.look(relative(errors.root(errors.of_candidate), to),
               std::max(tolerance, 2.0 * relative(errors.root(errors.of_reference), to)), errors.worst,
               measure);
  };
  look(all, scale, "in all");
  for (const Errors& part : parts) {
    look(part, std::max(part.root(part.truth), 1e-3 * scale), "in a block of rows");
  }
  // The largest of many errors is some times their mean square, which the tolerance bounds.
  constexpr double kLargest = 8.0;
  worst.look(relative(all.largest, scale),
             std::max(kLargest * tolerance, 2.0 * relative(all.largest_of_reference, scale)), all.worst,
             "in one element");
  return worst.found_in(candidate, truth);
}

}  // namespace

std::optional<Wrong> find_wrong(std::span<const OutputDescription> outputs, const Numbers& candidate,
                                const Numbers& reference, const Numbers& truth, NotFinite not_finite) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t rows = outputs[i].shape.empty() ? 1 : outputs[i].shape.front();
    std::optional<Wrong> wrong =
        find_wrong(i, outputs[i].dtype, rows, candidate[i], reference[i], truth[i], not_finite);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

bool moved(std::span<const OutputDescription> outputs, const Numbers& before, const Numbers& after) {
  return find_wrong(outputs, after, before, before, NotFinite::must_agree).has_value();
}

}  // namespace jitterscope::judging
