#include "device/virtual/cluster_link.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// A rank's message to the others: what it launches first, when it reaches that, and a line `COUNT GAP
// EARLIEST ORDER` for each stretch of equal turns. An order that is that of the line before is left out.
std::string told(Nanoseconds first, const std::vector<CollectiveTurn>& turns) {
  const auto are_alike = [](const CollectiveTurn& one, const CollectiveTurn& other) {
    return one.work->order == other.work->order && one.gap == other.gap && one.earliest == other.earliest;
  };
  std::string text = fmt::format("{}\n{:a}", turns.front().work->order, first.value());
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= turns.size(); ++i) {
    if (i < turns.size() && are_alike(turns[begin], turns[i])) continue;
    const CollectiveTurn& turn = turns[begin];
    const std::string& before = turns[begin == 0 ? 0 : begin - 1].work->order;
    text += fmt::format("\n{} {:a} {:a} {}", i - begin, turn.gap.value(), turn.earliest.value(),
                        turn.work->order == before ? "" : turn.work->order);
    begin = i;
  }
  return text;
}

/// Another rank's turns.
struct Stretch {
  std::size_t count = 0;
  Nanoseconds gap, earliest;
  std::string order;
};
struct Heard {
  Nanoseconds first;
  std::vector<Stretch> stretches;
};

[[noreturn]] void fail_unreadable(std::size_t rank, std::string_view line) {
  throw FailedError(fmt::format("rank {} says '{}', which is no collective of a simulated cluster", rank,
                                line.substr(0, 60)));
}

Nanoseconds time_in(std::string_view word, std::size_t rank) {
  const bool is_negative = word.starts_with('-');
  if (is_negative) word.remove_prefix(1);
  if (word.starts_with("0x")) word.remove_prefix(2);
  double value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::hex);
  if (error != std::errc() || end != word.data() + word.size()) fail_unreadable(rank, word);
  return Nanoseconds(is_negative ? -value : value);
}

std::string_view next_word(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

Heard heard_from(std::string_view text, std::size_t rank) {
  std::string order(next_word(text, '\n'));
  Heard heard{time_in(next_word(text, '\n'), rank), {}};
  while (!text.empty()) {
    std::string_view line = next_word(text, '\n');
    const std::string_view count = next_word(line, ' ');
    Stretch stretch;
    const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), stretch.count);
    if (error != std::errc() || end != count.data() + count.size()) fail_unreadable(rank, count);
    stretch.gap = time_in(next_word(line, ' '), rank);
    stretch.earliest = time_in(next_word(line, ' '), rank);
    if (!line.empty()) order = line;
    stretch.order = order;
    heard.stretches.push_back(std::move(stretch));
  }
  return heard;
}

// Walks through a rank's turns.
class Walk {
 public:
  explicit Walk(const Heard& heard) : heard_(heard) {}

  bool is_over() const { return stretch_ == heard_.stretches.size(); }
  const Stretch& turn() const { return heard_.stretches[stretch_]; }
  Nanoseconds arrival() const {
    return std::max(last_end_ ? *last_end_ + turn().gap : heard_.first, turn().earliest);
  }
  void end_at(Nanoseconds end) { last_end_ = end; }
  Nanoseconds end() const { return last_end_.value_or(heard_.first); }
  void advance() {
    if (++done_ < turn().count) return;
    ++stretch_;
    done_ = 0;
  }

 private:
  const Heard& heard_;
  std::size_t stretch_ = 0, done_ = 0;
  std::optional<Nanoseconds> last_end_ = {};  // of the turns so far in which it took part
};

[[noreturn]] void fail_unlike(std::size_t rank, const std::string& one, std::size_t other_rank,
                              const std::string& other, std::size_t number) {
  throw FailedError(
      fmt::format("the ranks launch unlike collectives: rank {} launches {}, and rank {} {} (number {} since "
                  "they last met); all must launch the same in the same order",
                  rank, one, other_rank, other, number + 1));
}

std::string order_of(const Walk& walk) { return walk.is_over() ? "none" : walk.turn().order; }

std::uint64_t common_seed(Ranks& ranks, std::uint64_t own, std::uint64_t cluster) {
  std::uint64_t seed = cluster;
  for (const std::string& text : ranks.exchange(std::to_string(own))) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    seed = Random(seed ^ value).next();
  }
  return seed;
}

}  // namespace

ClusterLink::ClusterLink(const physics::Cluster& cluster, Ranks& ranks, std::uint64_t seed,
                         std::string_view device)
    : cluster_(cluster), ranks_(ranks), noise_(common_seed(ranks, seed, cluster.seed)) {
  if (cluster.ranks == ranks.count()) return;
  throw UsageError(
      fmt::format("{} has {} ranks, and {} take part; start as many, or change ranks in its file", device,
                  cluster.ranks, ranks.count()));
}

std::vector<CollectiveTimes> ClusterLink::run(Nanoseconds first, const std::vector<CollectiveTurn>& turns) {
  if (is_abandoned_) throw FailedError("the other ranks of the simulated cluster have ended");
  std::vector<Heard> heard;
  try {
    for (const std::string& text : ranks_.exchange(told(first, turns))) {
      heard.push_back(heard_from(text, heard.size()));
    }
  } catch (...) {
    abandon();
    throw;
  }
  std::vector<Walk> walks(heard.begin(), heard.end());
  std::vector<CollectiveTimes> all;
  const auto own = static_cast<std::size_t>(rank());
  for (std::size_t i = 0; !std::ranges::all_of(walks, &Walk::is_over); ++i) {
    // A rank whose turns are over has none to arrive at.
    for (std::size_t other = 1; other < walks.size(); ++other) {
      if (order_of(walks[other]) == order_of(walks[0])) continue;
      abandon();
      fail_unlike(0, order_of(walks[0]), other, order_of(walks[other]), i);
    }
    const CollectiveWork& work = *turns[i].work;
    std::optional<Nanoseconds> last_arrival;
    for (std::size_t rank = 0; rank < walks.size(); ++rank) {
      if (!takes_part(work.collective, static_cast<std::int64_t>(rank))) continue;
      const Nanoseconds arrival = walks[rank].arrival();
      last_arrival = last_arrival ? std::max(*last_arrival, arrival) : arrival;
    }
    const double factor = std::max(0.1, 1.0 + cluster_.link_noise * noise_.normal());
    const Nanoseconds end = *last_arrival + work.transfer * factor;
    const Nanoseconds idle = walks[own].end();
    all.push_back(takes_part(work.collective, rank())
                      ? CollectiveTimes{walks[own].arrival(), *last_arrival, end}
                      : CollectiveTimes{idle, idle, idle});
    for (std::size_t rank = 0; rank < walks.size(); ++rank) {
      if (takes_part(work.collective, static_cast<std::int64_t>(rank))) walks[rank].end_at(end);
      walks[rank].advance();
    }
  }
  return all;
}

}  // namespace jitterscope::virtual_gpu
