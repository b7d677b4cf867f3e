// Tiling. Varies how a product of matrices uses shared memory: not at all, by tiles of several sizes, by a
// tile whose reads fall into one bank, and by the same one with a column more. Reports time and the error of
// each result. Can go wrong: caches do part of what tiles do, so that small tiles may gain nothing; products
// of the size of a library's tiles belong to the library.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

constexpr const char* kPlain = "plain";
constexpr const char* kConflicts = "conflicts";
constexpr const char* kPadded = "padded";
constexpr std::int64_t kLargestTile = 32;

// The side of the matrices: the first argument, a number; after it a, b and c.
std::int64_t side_of(const CudaKernel& kernel) {
  constexpr std::size_t kArguments = 4;
  if (kernel.kernel != kPlain || kernel.arguments.size() != kArguments) return 0;
  return is_buffer(kernel.arguments[0]) ? 0 : kernel.arguments[0].integer;
}

bool is_plain_product(const Operation& operation) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  return kernel != nullptr && side_of(*kernel) > 0;
}

Arm tiling_arm(std::string name, std::string function, std::int64_t tile) {
  return {std::move(name), [function = std::move(function), tile](Trial& trial) {
            CudaKernel kernel = std::get<CudaKernel>(trial.operation.parameters());
            const std::int64_t blocks = side_of(kernel) / tile;
            kernel.kernel = function;
            kernel.grid = {blocks, blocks, 1};
            kernel.block = {tile, tile, 1};
            trial.operation = Operation(std::move(kernel));
          }};
}

std::vector<Arm> tiling_arms(const StudyContext& context) {
  for (const Operation& operation : context.operations) {
    const std::int64_t side = side_of(std::get<CudaKernel>(operation.parameters()));
    if (side % kLargestTile == 0) continue;
    throw UsageError(
        fmt::format("matrices of {0} x {0} have no whole tiles; take a multiple of {1}", side, kLargestTile));
  }
  std::vector<Arm> arms = {{kPlain, [](Trial&) {}}};
  for (const std::int64_t tile : {std::int64_t{8}, std::int64_t{16}, kLargestTile}) {
    arms.push_back(tiling_arm(fmt::format("tile={}", tile), fmt::format("tiled<{}>", tile), tile));
  }
  arms.push_back(tiling_arm(kConflicts, "transposed<0>", kLargestTile));
  arms.push_back(tiling_arm(kPadded, "transposed<1>", kLargestTile));
  return arms;
}

std::string tiling_subject(const DeviceDescription&) {
  return "cuda:@tiling:plain,reference=product_reference,n=1024,block=32x8,grid=n/32xn/8,a=f32[n*n],b=f32[n*n],"
         "c=out:f32[n*n]";
}

Remedy tiling_remedy(const std::string& arm) {
  const std::string place = "In the kernel";
  if (arm == kConflicts)
    return {{"a transposed tile in shared memory"}, "Its reads fall into one bank.", place};
  if (arm == kPadded) {
    return {{"__shared__ float tile[32][32 + 1]"}, "A tile takes a column more of shared memory.", place};
  }
  const std::string size = arm.substr(arm.find('=') + 1);
  return {{fmt::format("__shared__ float tile[{0}][{0}], with __syncthreads() after filling and after use",
                       size)},
          "A block then has as many threads as a tile has elements.",
          place};
}

const ArmOutcome* tiling_outcome(const std::vector<ArmOutcome>& outcomes, std::string_view name) {
  const auto found = std::ranges::find(outcomes, name, &ArmOutcome::name);
  return found == outcomes.end() || found->is_wrong ? nullptr : &*found;
}

std::vector<std::string> tiling_answer(const ComparisonRecord& record) {
  if (std::string note = simulation_note(record.device); !note.empty()) return {std::move(note)};
  std::vector<std::string> sentences = answer_by_fastest(record, tiling_remedy);
  const std::vector<ArmOutcome> outcomes = arm_outcomes(record);
  const ArmOutcome* conflicts = tiling_outcome(outcomes, kConflicts);
  const ArmOutcome* padded = tiling_outcome(outcomes, kPadded);
  const bool of_one_product = std::ranges::count(outcomes, std::size_t{1}, &ArmOutcome::alternative) <= 1;
  if (conflicts != nullptr && padded != nullptr && of_one_product) {
    // Each was compared with the first: together their intervals hold the ratio of the two.
    const double ratio = conflicts->time.ratio / padded->time.ratio;
    const double low = conflicts->time.low / padded->time.high;
    if (ratio > 1.0 + record.margin && low > 1.0) {
      sentences.push_back(fmt::format(
          "Bank conflicts make a transposed tile {:.2f} times slower; a column more in it (padded) "
          "avoids them.",
          ratio));
    } else if (conflicts->time.high / padded->time.low <= 1.0 + record.margin) {
      sentences.push_back(
          fmt::format("Bank conflicts cost nothing here: {} takes {:.2f} times as long as {}.", kConflicts,
                      ratio, kPadded));
    } else {
      sentences.push_back(not_decided("whether bank conflicts cost time here"));
    }
  }
  for (std::string& sentence : what_ran(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace

Study tiling() {
  return {.id = "tiling",
          .question = "What do tiles in shared memory give a product of matrices?",
          .concerns = "the kernel `plain` of @tiling, or of a copy of it that you changed",
          .subject = tiling_subject,
          .can_be_asked_of = is_plain_product,
          .arms = tiling_arms,
          .remedy = tiling_remedy,
          .answer = tiling_answer};
}

}  // namespace jitterscope::study::studies
