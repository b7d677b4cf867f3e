// Eviction whose proof failed: times called cold may have hit the cache.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {

std::vector<Finding> find_cold_not_proven(const FindingContext& context) {
  if (!context.cache_proof || context.cache_proof->proven) return {};
  const CacheProof& proof = *context.cache_proof;
  Finding finding;
  finding.id = "cold_not_proven";
  finding.headline = "no proof that eviction evicts: cold is a lower bound";
  finding.sentence = fmt::format(
      "Cold is not proven: a probe reads in {} after eviction, in {} when never touched and in {} when "
      "cached.",
      time_text(proof.evicted_read, 0.001), time_text(proof.untouched_read, 0.001),
      time_text(proof.cached_read, 0.001));
  finding.remedy =
      "Take the cold and dirty times as lower bounds; repeat on a device that nobody else uses, as another "
      "process disturbs the proof.";
  finding.evidence = {evidence("evicted_read", proof.evicted_read),
                      evidence("untouched_read", proof.untouched_read),
                      evidence("cached_read", proof.cached_read)};
  return {finding};
}

}  // namespace jitterscope
