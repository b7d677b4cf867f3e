#include "experiment/simulated_processes.hpp"

#include <cmath>

#include "base/random.hpp"
#include "finding/finding.hpp"
#include "measure/estimate.hpp"

namespace jitterscope::test {

Measurement timed(const std::vector<double>& microseconds_of_blocks, CacheState cache,
                  std::optional<Hertz> clock, Load load) {
  Measurement measurement;
  measurement.conditions.cache = cache;
  measurement.conditions.load = load;
  if (load == Load::sustained) measurement.steadiness = Steadiness();
  for (std::size_t block = 0; block < microseconds_of_blocks.size(); ++block) {
    if (!(microseconds_of_blocks[block] > 0.0)) continue;
    Round round;
    round.launches = {microseconds(microseconds_of_blocks[block])};
    round.block = load == Load::burst ? static_cast<std::int64_t>(block) : -1;
    round.clock = clock;
    measurement.rounds.push_back(round);
  }
  measurement.duration = milliseconds(400);
  summarise(measurement, 0);
  return measurement;
}

RunEntry entry_of(const std::string& operation, std::vector<Measurement> measurements) {
  RunEntry entry;
  entry.result.subject = Operation::parse(operation);
  entry.result.provider = "cudnn";
  entry.result.algorithm = "eng1";
  entry.result.measurements = std::move(measurements);
  return entry;
}

RunEntry failed_entry(const std::string& operation, const std::string& reason) {
  RunEntry entry = entry_of(operation, {});
  entry.result.failure = reason;
  return entry;
}

void ignore_engine(Result& result) {
  Finding& finding = result.findings.emplace_back();
  finding.id = kEngineIgnoredFinding;
  finding.sentence = "The engine did not run.";
}

RunRecord record_of(std::vector<RunEntry> entries) {
  RunRecord record;
  record.entries = std::move(entries);
  return record;
}

RunRecord process_of(std::uint64_t number, const std::vector<double>& trials, const Spread& spread) {
  constexpr std::size_t kBlocks = 12;
  Random random(1000 + number);
  const auto factor = [&](double deviation) { return std::exp(deviation * random.normal()); };
  const double process = factor(spread.process);
  std::vector<double> blocks(kBlocks);
  for (double& block : blocks) block = process * factor(spread.block);
  std::vector<RunEntry> entries;
  for (std::size_t trial = 0; trial < trials.size(); ++trial) {
    const double ratio = factor(spread.ratio);
    std::vector<double> times;
    for (const double block : blocks) times.push_back(trials[trial] * ratio * block * factor(spread.round));
    entries.push_back(entry_of("add:count=" + std::to_string(1024 * (trial + 1)), {timed(times)}));
  }
  return record_of(std::move(entries));
}

std::vector<RunRecord> processes_of(std::size_t count, const std::vector<double>& trials,
                                    const Spread& spread) {
  std::vector<RunRecord> processes;
  for (std::size_t number = 0; number < count; ++number) {
    processes.push_back(process_of(number, trials, spread));
  }
  return processes;
}

ComparisonRecord blank_comparison(std::size_t alternatives) {
  ComparisonRecord record;
  for (std::size_t alternative = 0; alternative < alternatives; ++alternative)
    record.alternatives.push_back("alternative " + std::to_string(alternative));
  return record;
}

}  // namespace jitterscope::test
