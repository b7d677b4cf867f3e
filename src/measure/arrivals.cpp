#include "measure/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// Rounds are launched in blocks: between two waits the host runs ahead, as in a program. The first round of a
// block waits for the hosts and is left out.
constexpr std::int64_t kRoundsInBlock = 25;
// A rank that waits longer is not late but stands still.
constexpr Nanoseconds kLongestDelay = milliseconds(5);
constexpr std::int64_t kEagerBlocks = 30, kEagerCalls = 20;

std::unique_ptr<PreparedOperation> prepare_spin(Device& device, Nanoseconds duration) {
  return device.prepare(Operation(Spin{.amount = std::llround(duration.value())}), InputData{});
}

class Arrivals {
 public:
  Arrivals(Session& session, Ranks& ranks, const ArrivalOptions& options)
      : session_(session),
        ranks_(ranks),
        options_(options),
        work_(prepare_spin(session.device(), options.work)) {}

  CollectiveArrivals measure(const Operation& operation) {
    const std::unique_ptr<PreparedOperation> collective =
        session_.device().prepare(operation, InputData{.kind = DataKind::ones});
    CollectiveArrivals arrivals{.operation = operation.text(), .eager = {}, .rounds = {}};
    add_rounds(*collective, nullptr, kRoundsInBlock, nullptr);  // libraries set up in their first calls
    arrivals.eager = eager_times(*collective);
    ArrivalRounds undelayed;
    add_rounds(*collective, nullptr, options_.rounds, &undelayed);
    const std::vector<Nanoseconds> delays = delays_for(undelayed);
    arrivals.rounds.push_back(std::move(undelayed));
    std::vector<std::unique_ptr<PreparedOperation>> spins;
    for (const Nanoseconds delay : delays) spins.push_back(prepare_spin(session_.device(), delay));
    for (const auto& [rank, delay] : delays_in_random_order()) {
      ArrivalRounds delayed{.delayed_rank = rank, .delay = delays[delay]};
      add_rounds(*collective, rank == ranks_.rank() ? spins[delay].get() : nullptr, options_.delayed_rounds,
                 &delayed);
      arrivals.rounds.push_back(std::move(delayed));
    }
    return arrivals;
  }

 private:
  struct RoundMarks {
    Mark begin, arrival, end;
  };

  std::vector<std::pair<std::int64_t, std::size_t>> delays_in_random_order() const {
    std::vector<std::pair<std::int64_t, std::size_t>> all;
    for (std::int64_t rank = 0; rank < ranks_.count(); ++rank) {
      for (std::size_t delay = 0; delay < options_.delays.size(); ++delay) all.emplace_back(rank, delay);
    }
    Random random(options_.seed);
    shuffle(all, random);
    return all;
  }

  // All ranks tell how much their own times vary, and take the same.
  std::vector<Nanoseconds> delays_for(const ArrivalRounds& undelayed) {
    std::vector<double> own;
    for (const Nanoseconds time : undelayed.own_times) own.push_back(time.value());
    const std::vector<double> ends = statistics::quantiles(own, std::vector{0.02, 0.98});
    double longest = 0.0;
    for (const std::string& text : ranks_.exchange(fmt::format("{:.0f}", ends[1] - ends[0])))
      longest = std::max(longest, std::strtod(text.c_str(), nullptr));
    std::vector<Nanoseconds> delays = options_.delays;
    const auto last = std::ranges::max_element(delays);
    if (last != delays.end())
      *last = std::max(*last, Nanoseconds(2.0 * std::min(longest, kLongestDelay.value())));
    return delays;
  }

  void add_rounds(Workload& collective, Workload* spin, std::int64_t count, ArrivalRounds* rounds) {
    Queue& queue = session_.queue();
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t in_block = std::min(kRoundsInBlock, count - done);
      std::vector<RoundMarks> marks;
      for (std::int64_t round = 0; round <= in_block; ++round) {
        RoundMarks of_round{.begin = queue.mark(), .arrival = {}, .end = {}};
        queue.launch(*work_);
        if (spin != nullptr) queue.launch(*spin);
        of_round.arrival = queue.mark();
        queue.launch(collective);
        of_round.end = queue.mark();
        marks.push_back(of_round);
      }
      queue.wait();
      done += in_block;
      if (rounds == nullptr) continue;
      for (std::size_t round = 1; round < marks.size(); ++round) {
        rounds->gaps.push_back(queue.elapsed(marks[round - 1].end, marks[round].begin));
        rounds->works.push_back(queue.elapsed(marks[round].begin, marks[round].arrival));
        rounds->own_times.push_back(queue.elapsed(marks[round].arrival, marks[round].end));
      }
    }
  }

  std::vector<Nanoseconds> eager_times(Workload& collective) {
    Queue& queue = session_.queue();
    std::vector<Nanoseconds> times;
    for (std::int64_t block = 0; block < kEagerBlocks; ++block) {
      queue.launch(collective);  // the ranks' hosts come together here
      const Mark begin = queue.mark();
      for (std::int64_t call = 0; call < kEagerCalls; ++call) queue.launch(collective);
      const Mark end = queue.mark();
      queue.wait();
      times.push_back(queue.elapsed(begin, end) / static_cast<double>(kEagerCalls));
    }
    return times;
  }

  Session& session_;
  Ranks& ranks_;
  const ArrivalOptions& options_;
  std::unique_ptr<PreparedOperation> work_;
};

}  // namespace

std::vector<CollectiveArrivals> measure_arrivals(Session& session, Ranks& ranks,
                                                 const ArrivalOptions& options) {
  Arrivals arrivals(session, ranks, options);
  std::vector<CollectiveArrivals> all;
  for (const Operation& operation : options.operations) all.push_back(arrivals.measure(operation));
  return all;
}

}  // namespace jitterscope
