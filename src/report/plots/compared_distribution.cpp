// The rounds of the sides of comparisons, one above the other over one axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "output/comparison_cells.hpp"
#include "output/estimate_text.hpp"
#include "report/plots/density.hpp"
#include "report/plots/record_plots.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::report {
namespace {

constexpr std::size_t kMostViews = 9;    // more are scrolled past
constexpr std::size_t kLeastRounds = 6;  // fewer have no interval either

std::vector<double> sorted_values(const std::vector<Nanoseconds>& times) {
  std::vector<double> values;
  for (const Nanoseconds time : times) values.push_back(time.value());
  std::ranges::sort(values);
  return values;
}

std::vector<double> sorted_times(const ComparedSide& side) { return sorted_values(side.rounds); }

// Files before had rounds alone.
const std::vector<Nanoseconds>& densest(const ComparedSide& side) {
  return side.launches.empty() ? side.rounds : side.launches;
}

// Neither empty bins between so few values nor, where they are steps of a timer, between the steps.
double narrowest_bin(const std::vector<double>& sorted) {
  const double spread = sorted.back() - sorted.front();
  double step = spread;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] > sorted[i - 1]) step = std::min(step, sorted[i] - sorted[i - 1]);
  }
  return std::max(step, spread / (2.0 * std::sqrt(static_cast<double>(sorted.size()))));
}

DrawnTimes drawn_side(const ComparedSide& side, const std::string& name, const TimeRange& range) {
  const std::vector<double> sorted = sorted_times(side), dense = sorted_values(densest(side));
  DrawnTimes drawn{.title = name,
                   .subtitle = {},
                   .of_what = side.launches.empty() ? "rounds" : "launches",
                   .bins = side.launches.empty() ? "bins" : "launches",
                   .density = density_of(dense, range, narrowest_bin(dense)),
                   .rounds = {},
                   .time = side.time,
                   .modes = {}};
  for (std::size_t i = 0; i < side.rounds.size(); ++i) drawn.rounds.push_back({i + 1, side.rounds[i]});
  const std::vector<statistics::ModeEstimate> modes = statistics::find_modes(sorted);
  if (modes.size() > 1) {
    for (const auto& mode : modes) drawn.modes.push_back({Nanoseconds(mode.location), mode.weight});
  }
  const std::int64_t kept = std::ssize(side.rounds);
  drawn.subtitle = estimate_text(side.time) + "; " + counted(kept, "round");
  if (side.time.rounds > kept) drawn.subtitle += fmt::format(" of {}", side.time.rounds);
  if (drawn.density.outside > 0)
    drawn.subtitle +=
        fmt::format(", {} of {} launches beyond the edges", drawn.density.outside, dense.size());
  if (drawn.modes.size() > 1) drawn.subtitle += fmt::format("; {} modes, dashed", drawn.modes.size());
  return drawn;
}

bool has_distribution(const Comparison& comparison) {
  return comparison.failure.empty() && !is_wrong(comparison) &&
         comparison.first.rounds.size() >= kLeastRounds && comparison.second.rounds.size() >= kLeastRounds;
}

struct NamedSide {
  std::size_t alternative;
  const ComparedSide* side;
};

// Alternatives with what they are compared with, which is drawn once.
struct SidesTogether {
  std::string subject;
  std::vector<NamedSide> sides;  // the first is what the others are compared with
  std::size_t pairs() const { return sides.size() - 1; }
};

std::vector<SidesTogether> sides_to_draw(const std::vector<const Comparison*>& pairs,
                                         const std::vector<std::string>& subjects) {
  std::vector<SidesTogether> all;
  std::size_t views = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Comparison& pair = *pairs[i];
    auto known = std::ranges::find_if(all, [&](const SidesTogether& each) {
      return each.subject == subjects[i] && each.sides.front().side->rounds == pair.first.rounds;
    });
    const std::size_t more = known == all.end() ? 2 : 1;
    if (views + more > kMostViews) continue;
    views += more;
    if (known == all.end()) known = all.insert(all.end(), SidesTogether{subjects[i], {{0, &pair.first}}});
    known->sides.push_back({pair.alternative, &pair.second});
  }
  return all;
}

// With the interval, which would widen one axis beyond the other.
TimeRange range_of_side(const ComparedSide& side) {
  TimeRange range = range_of(sorted_values(densest(side)), side.rounds);
  if (has_interval(side.time)) range.include({side.time.low.value(), side.time.high.value()});
  return range;
}

// In one, a side that takes several times as long would press the other together.
bool share_an_axis(const ComparedSide& one, const ComparedSide& other) {
  constexpr double kAlike = 1.5;
  return std::max(one.time.median, other.time.median) <=
         kAlike * std::min(one.time.median, other.time.median);
}

class ComparedDistributions {
 public:
  explicit ComparedDistributions(const ComparisonRecord& record) : record_(record) {}

  void add(const SidesTogether& together, bool name_subject) {
    const ComparedSide& first = *together.sides.front().side;
    TimeRange shared = range_of_side(first);
    for (const NamedSide& each : together.sides) {
      if (share_an_axis(first, *each.side)) shared.include(range_of_side(*each.side));
    }
    for (const NamedSide& each : together.sides) {
      std::string name = record_.alternatives[each.alternative];
      if (name_subject) name = together.subject + ": " + name;
      if (has_several_conditions(record_)) name += ", " + cache_and_load(each.side->conditions);
      const bool shares = share_an_axis(first, *each.side);
      add_side(*each.side, name, shares ? shared : range_of_side(*each.side),
               unit_for(shares ? first.time.median : each.side->time.median));
    }
  }

  const Json& views() const { return views_; }
  std::vector<TableColumn> table() const {
    std::vector<TableColumn> table = {names_};
    table.insert(table.end(), columns_.begin(), columns_.end());
    table.push_back(counts_);
    return table;
  }

 private:
  void add_side(const ComparedSide& side, const std::string& name, const TimeRange& range,
                const TimeUnit& unit) {
    views_.push_back(distribution_view(drawn_side(side, name, range), unit));
    names_.cells.push_back(name);
    const std::vector<double> probabilities = {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0};
    const std::vector<double> values = statistics::quantiles(sorted_times(side), probabilities);
    for (std::size_t i = 0; i < values.size(); ++i) {
      columns_[i].cells.push_back(time_text(Nanoseconds(values[i]), 1e-3));
    }
    counts_.cells.push_back(std::to_string(side.rounds.size()));
  }

  const ComparisonRecord& record_;
  Json views_ = Json::array();
  TableColumn names_ = text_column("of"), counts_ = number_column("rounds");
  std::vector<TableColumn> columns_ = quantile_columns();
};

}  // namespace

std::optional<Plot> compared_distribution_plot(const ComparisonRecord& record) {
  std::vector<const Comparison*> pairs;
  for (const Comparison& comparison : record.comparisons) {
    if (has_distribution(comparison)) pairs.push_back(&comparison);
  }
  if (pairs.empty()) return std::nullopt;
  const std::vector<std::string> subjects = row_labels(pairs);
  const bool several =
      std::ranges::any_of(subjects, [&](const std::string& each) { return each != subjects.front(); });
  ComparedDistributions drawn(record);
  std::size_t drawn_pairs = 0;
  for (const SidesTogether& together : sides_to_draw(pairs, subjects)) {
    drawn.add(together, several);
    drawn_pairs += together.pairs();
  }
  std::string caption =
      "Orange: rounds of all processes, the medians of launches in a row. Blue: how many launches lie where. Green: "
      "the time that is compared, with its 95 % interval.";
  if (drawn_pairs < pairs.size()) caption += fmt::format(" {} of {} pairs.", drawn_pairs, pairs.size());
  return Plot{.id = "distribution",
              .title = "Distribution of times",
              .caption = std::move(caption),
              .spec = stacked_plots(drawn.views()),
              .table = drawn.table()};
}

}  // namespace jitterscope::report
