#include "commands/collectives/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, LatenessProof>& proof) {
  fields("rank", proof.rank);
  fields("delay_seconds", proof.delay);
  fields("expected_seconds", proof.expected);
  fields("seen", proof.seen);
  fields("holds", proof.holds);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CollectiveWaiting>& waiting) {
  fields("median_seconds", waiting.median);
  fields("p95_seconds", waiting.p95);
  fields("last_shares", waiting.last_shares);
  fields("chance", waiting.chance);
  fields("rounds", waiting.rounds);
  fields("late_rank", waiting.late_rank);
  fields("late_by_seconds", waiting.late_by);
  fields("late_by_launches_seconds", waiting.late_by_launches);
  fields("late_by_work_seconds", waiting.late_by_work);
  fields.where(waiting.is_host_behind, "is_host_behind", waiting.is_host_behind);
  fields("proofs", waiting.proofs);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CollectiveLaunches>& launches) {
  fields("rank_seconds", launches.costs);
  fields("slow_host", launches.slow_host);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CollectiveTime>& time) {
  fields("operation", time.operation);
  fields("time", time.time);
  fields("group_seconds", time.groups);
  fields("wrong_elements", time.wrong_elements);
  fields("sustained", time.sustained);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CollectiveRow>& row) {
  fields("collective", row.collective);
  fields("bytes", row.bytes);
  fields("elements", row.elements);
  fields("dtype", row.dtype);
  fields("reduction", row.reduction);
  fields("root", row.root);
  fields("bus_factor", row.bus_factor);
  fields("times", row.result.times);
  fields("eager_adds", row.result.eager_adds);
  fields("launches", row.result.launches);
  fields("waiting", row.result.waiting);
  fields("failure", row.failure);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CollectiveRank>& rank) {
  fields("host", rank.host);
  fields("device", rank.device);
  fields.where(!rank.links.empty(), "links", rank.links);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, CollectivesRecord>& record) {
  fields("ranks", record.ranks);
  fields("library", record.library);
  fields("settings", record.settings);
  fields("groups", record.groups);
  fields("notes", record.notes);
  fields("rows", record.rows);
}

std::string write_record(const CollectivesRecord& record) { return write_envelope("collectives", record); }

void read_fields(const Json& document, const std::string& name, CollectivesRecord& record) {
  record = read_envelope<CollectivesRecord>(document, name);
  for (const CollectiveRank& rank : record.ranks) {
    for (const LinkRates& link : rank.links) {
      if (link.peer < 0 || link.peer >= std::ssize(record.ranks))
        throw UsageError(name + ": links name ranks that the record does not have; the file is damaged");
    }
  }
  for (const CollectiveRow& row : record.rows) {
    if (const auto& launches = row.result.launches;
        launches && launches->slow_host &&
        (*launches->slow_host < 0 || *launches->slow_host >= std::ssize(launches->costs)))
      throw UsageError(name + ": launches name a rank that they do not have; the file is damaged");
    const std::optional<CollectiveWaiting>& waiting = row.result.waiting;
    if (!waiting) continue;
    const auto is_rank = [&](std::int64_t rank) {
      return rank >= 0 && static_cast<std::size_t>(rank) < waiting->last_shares.size();
    };
    if (waiting->last_shares.empty() || (waiting->late_rank && !is_rank(*waiting->late_rank)) ||
        !std::ranges::all_of(waiting->proofs, is_rank, &LatenessProof::rank))
      throw UsageError(name + ": rows name ranks that the record does not have; the file is damaged");
  }
}

bool has_wrong_elements(const CollectivesRecord& record) {
  return std::ranges::any_of(record.rows, [](const CollectiveRow& row) {
    return std::ranges::any_of(
        row.result.times, [](const CollectiveTime& time) { return time.wrong_elements.value_or(0) > 0; });
  });
}

double widest_precision(const CollectivesRecord& record) {
  double widest = 0.0;
  for (const CollectiveRow& row : record.rows)
    for (const CollectiveTime& time : row.result.times) widest = std::max(widest, time.time.precision());
  return widest;
}

double algorithm_bandwidth(const CollectiveRow& row, Nanoseconds time) {
  return static_cast<double>(row.bytes.value()) / (time.value() * 1e-9);
}

double bus_bandwidth(const CollectiveRow& row, Nanoseconds time) {
  return row.bus_factor * algorithm_bandwidth(row, time);
}

std::vector<RowsOfCollective> collectives_of(const CollectivesRecord& record) {
  std::vector<RowsOfCollective> all;
  for (const CollectiveRow& row : record.rows) {
    const auto same = std::ranges::find_if(all, [&](const RowsOfCollective& each) {
      return each.collective == row.collective && each.dtype == row.dtype &&
             each.reduction == row.reduction && each.root == row.root;
    });
    RowsOfCollective& of =
        same != all.end()
            ? *same
            : all.emplace_back(RowsOfCollective{row.collective, row.dtype, row.reduction, row.root, {}});
    of.rows.push_back(&row);
  }
  for (RowsOfCollective& each : all)
    std::ranges::stable_sort(each.rows, {}, [](const CollectiveRow* row) { return row->bytes.value(); });
  return all;
}

std::string collective_name(const RowsOfCollective& rows) {
  std::string name = rows.collective + ", " + rows.dtype;
  if (rows.reduction != "none") name += ", " + rows.reduction;
  if (rows.root >= 0) name += fmt::format(", root {}", rows.root);
  return one_line(name);
}

namespace {

// GB/s with three digits, as nccl-tests prints them.
std::string gigabytes(double per_second) {
  const double value = per_second * 1e-9;
  return value < 10    ? fmt::format("{:.2f}", value)
         : value < 100 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.0f}", value);
}

std::string half_width(const TimeEstimate& time) {
  return std::isfinite(time.precision()) ? fmt::format("± {}", percent_text(time.precision())) : "one group";
}

// Waits vary too much for more than two digits.
std::string wait_text(Nanoseconds time) { return time_text(time, 0.05); }

// "rank 1 71 %"
std::string last_text(const CollectiveWaiting& waiting) {
  const std::size_t most = most_often_last(waiting);
  return fmt::format("rank {} {:.0f} %", most, 100.0 * waiting.last_shares[most]);
}

// "by chance 50 ± 39 %", or "by chance 0 to 85 %": no share is beyond 0 and 100 %.
std::string chance_text(const CollectiveWaiting& waiting) {
  const double even = 1.0 / static_cast<double>(waiting.last_shares.size());
  const double low = even - waiting.chance, high = even + waiting.chance;
  if (low >= 0.0 && high <= 1.0)
    return fmt::format("by chance {:.0f} ± {:.0f} %", 100.0 * even, 100.0 * waiting.chance);
  return fmt::format("by chance {:.0f} to {:.0f} %", 100.0 * std::max(low, 0.0), 100.0 * std::min(high, 1.0));
}

// Only of such a rank may be said that it is last, and by how much.
bool tells_who_is_last(const CollectiveWaiting& waiting) {
  return lateness_is_proven(waiting) && is_last_beyond_chance(waiting);
}

std::string hosts_text(const CollectivesRecord& record) {
  std::map<std::string, std::int64_t> hosts, names;
  for (const CollectiveRank& rank : record.ranks) {
    ++hosts[rank.host];
    ++names[one_line(rank.device.name)];
  }
  std::vector<std::string> devices;
  for (const auto& [name, count] : names) devices.push_back(fmt::format("{} × {}", count, name));
  return fmt::format("**{}** on {} ({})", counted(std::ssize(record.ranks), "rank"),
                     counted(std::ssize(hosts), "host"), joined(devices));
}

// The rates of the links between ranks, as measured.
class Links {
 public:
  explicit Links(const CollectivesRecord& record) : ranks_(record.ranks) {
    for (const CollectiveRank& rank : ranks_) {
      for (const LinkRates& link : rank.links) all_.push_back(&link);
    }
  }

  bool are_measured() const { return !all_.empty(); }
  /// The rate one way, bytes/s, that a collective can reach: the widest links that join all ranks, however
  /// the data goes.
  double reachable() const {
    std::vector<std::pair<double, std::pair<std::size_t, std::size_t>>> pairs;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const LinkRates& link : ranks_[rank].links)
        pairs.push_back(
            {std::max(link.by_copy_engine, link.by_kernel), {rank, static_cast<std::size_t>(link.peer)}});
    }
    std::ranges::sort(pairs, std::greater());
    std::vector<std::size_t> island(ranks_.size());
    std::iota(island.begin(), island.end(), std::size_t{0});
    std::size_t islands = island.size();
    for (const auto& [rate, ends] : pairs) {
      const std::size_t from = island[ends.first], to = island[ends.second];
      if (from == to) continue;
      std::ranges::replace(island, from, to);
      if (--islands == 1) return rate;
    }
    return 0.0;  // not all are joined by what was measured
  }
  std::string text() const {
    std::string text =
        fmt::format("Links, measured: copy engine {} GB/s one way, {} both; by kernel {} one way, {} both",
                    range(&LinkRates::by_copy_engine), range(&LinkRates::by_copy_engine_both_ways),
                    range(&LinkRates::by_kernel), range(&LinkRates::by_kernel_both_ways));
    const std::set<std::string> ways = names_of_ways();
    if (!ways.empty()) text += fmt::format(" ({})", fmt::join(ways, "; "));
    return text + ".";
  }
  Text matrix(std::size_t width) const {
    const bool are_ways_alike = names_of_ways().size() < 2;
    std::vector<TableColumn> columns = {{"rank", Align::right, {}}};
    for (std::size_t peer = 0; peer < ranks_.size(); ++peer)
      columns.push_back({fmt::format("from {}", peer), Align::right, {}});
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      columns[0].cells.push_back(fmt::format("{}", rank));
      for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
        const auto& links = ranks_[rank].links;
        const auto link = std::ranges::find(links, static_cast<std::int64_t>(peer), &LinkRates::peer);
        std::string cell(kAbsent);
        if (link != links.end()) cell = gigabytes(link->by_copy_engine);
        if (link != links.end() && !are_ways_alike && !link->way.empty()) cell += " " + one_line(link->way);
        columns[peer + 1].cells.push_back(std::move(cell));
      }
    }
    return fitted_table(columns, width);
  }

 private:
  // "372", or "360 to 372" where pairs differ by more than the digits that are shown.
  std::string range(double LinkRates::*rate) const {
    const auto value = [&](const LinkRates* link) { return link->*rate; };
    const auto [least, most] = std::ranges::minmax(all_, {}, value);
    const std::string low = gigabytes(least->*rate), high = gigabytes(most->*rate);
    return low == high ? low : low + " to " + high;
  }
  std::set<std::string> names_of_ways() const {
    std::set<std::string> ways;
    for (const LinkRates* link : all_) {
      if (!link->way.empty()) ways.insert(one_line(link->way));
    }
    return ways;
  }

  const std::vector<CollectiveRank>& ranks_;
  std::vector<const LinkRates*> all_;
};

const CollectiveTime* time_in(const CollectiveRow& row, std::size_t placement) {
  return placement < row.result.times.size() ? &row.result.times[placement] : nullptr;
}

// `reachable`: bytes/s; 0 if no link was measured.
Text transfers_table(const RowsOfCollective& rows, double reachable, std::size_t width) {
  TableColumn size{"size", Align::right, {}}, elements{"elements", Align::right, {}, 6};
  TableColumn time{"time", Align::right, {}}, error{"95 %", Align::right, {}},
      algorithm{"algbw", Align::right, {}, 5}, bus{"busbw", Align::right, {}},
      of_link{"of link", Align::right, {}, 2}, wrong{"#wrong", Align::right, {}, 2};
  TableColumn time_in_place{"in place", Align::right, {}, 3}, bus_in_place{"busbw", Align::right, {}, 4},
      wrong_in_place{"#wrong", Align::right, {}, 4}, sustained{"sustained", Align::right, {}, 1};
  for (const CollectiveRow* row : rows.rows) {
    size.cells.push_back(bytes_text(row->bytes));
    elements.cells.push_back(fmt::format("{}", row->elements));
    const CollectiveTime *first = time_in(*row, 0), *second = time_in(*row, 1);
    const auto add = [&](TableColumn& column, const CollectiveTime* of, const auto& text) {
      column.cells.push_back(of == nullptr ? std::string(kAbsent) : text(*of));
    };
    const auto time_of = [](const CollectiveTime& each) {
      return time_text(each.time.median, each.time.precision());
    };
    const auto bus_of = [&](const CollectiveTime& each) {
      return gigabytes(bus_bandwidth(*row, each.time.median));
    };
    const auto wrong_of = [](const CollectiveTime& each) {
      return each.wrong_elements ? fmt::format("{}", *each.wrong_elements) : std::string(kAbsent);
    };
    add(time, first, time_of);
    add(error, first, [](const CollectiveTime& each) { return half_width(each.time); });
    add(algorithm, first,
        [&](const CollectiveTime& each) { return gigabytes(algorithm_bandwidth(*row, each.time.median)); });
    add(bus, first, bus_of);
    add(of_link, first, [&](const CollectiveTime& each) {
      return reachable > 0.0 ? percent_text(bus_bandwidth(*row, each.time.median) / reachable)
                             : std::string(kAbsent);
    });
    add(wrong, first, wrong_of);
    add(time_in_place, second, time_of);
    add(bus_in_place, second, bus_of);
    add(wrong_in_place, second, wrong_of);
    add(sustained, first, [](const CollectiveTime& each) {
      return each.sustained ? change_text(each.sustained->ratio - 1.0) : std::string(kAbsent);
    });
  }
  return fitted_table({size, elements, time, error, algorithm, bus, of_link, wrong, time_in_place,
                       bus_in_place, wrong_in_place, sustained},
                      width);
}

Text waiting_table(const RowsOfCollective& rows, std::size_t width) {
  TableColumn size{"size", Align::right, {}}, eager{"eager adds", Align::right, {}},
      wait{"others wait", Align::right, {}}, p95{"p95", Align::right, {}},
      last{"last comes", Align::left, {}}, late{"behind by", Align::right, {}},
      launches{"by launches", Align::right, {}, 2}, work{"by work", Align::right, {}, 2};
  for (const CollectiveRow* row : rows.rows) {
    const CollectiveResult& result = row->result;
    size.cells.push_back(bytes_text(row->bytes));
    eager.cells.push_back(result.eager_adds ? wait_text(result.eager_adds->median) : std::string(kAbsent));
    const CollectiveWaiting* waiting = result.waiting ? &*result.waiting : nullptr;
    const auto add = [&](TableColumn& column, const auto& text) {
      column.cells.push_back(waiting == nullptr ? std::string(kAbsent) : text(*waiting));
    };
    // Below zero is what own times vary by.
    add(wait, [](const CollectiveWaiting& each) { return wait_text(std::max(each.median, Nanoseconds(0))); });
    add(p95, [](const CollectiveWaiting& each) { return wait_text(each.p95); });
    add(last, [](const CollectiveWaiting& each) {
      if (tells_who_is_last(each)) return last_text(each);
      return std::string(lateness_is_proven(each) ? "by chance" : "not proven");
    });
    const auto add_lateness = [&](TableColumn& column, Nanoseconds CollectiveWaiting::*by) {
      add(column, [by](const CollectiveWaiting& each) {
        return tells_who_is_last(each) ? wait_text(each.*by) : std::string(kAbsent);
      });
    };
    add_lateness(late, &CollectiveWaiting::late_by);
    add_lateness(launches, &CollectiveWaiting::late_by_launches);
    add_lateness(work, &CollectiveWaiting::late_by_work);
  }
  return fitted_table({size, eager, wait, p95, last, late, launches, work}, width);
}

// Sentences about one collective, the gravest first.
class Findings {
 public:
  explicit Findings(const RowsOfCollective& rows) : rows_(rows), name_(rows.collective) {}

  std::vector<std::string> all() {
    wrong_elements();
    slow_host();
    unproven_lateness();
    late_rank();
    launch_bound();
    dips();
    slower_when_sustained();
    return std::move(sentences_);
  }

 private:
  void wrong_elements() {
    for (const CollectiveRow* row : rows_.rows) {
      for (const CollectiveTime& time : row->result.times) {
        if (time.wrong_elements.value_or(0) == 0) continue;
        sentences_.push_back(
            fmt::format("**wrong**: {} elements of {} are not what they must be; its times say nothing",
                        *time.wrong_elements, one_line(time.operation)));
        return;
      }
    }
  }

  // Names the size at which the slow host's launch outlasts the transfer by most.
  void slow_host() {
    const CollectiveRow* worst = nullptr;
    Nanoseconds most;
    for (const CollectiveRow* row : rows_.rows) {
      const auto& launches = row->result.launches;
      if (row->result.times.empty() || !launches || !launches->slow_host) continue;
      const Nanoseconds longer = cost_of_slow_host(*row) - row->result.times.front().time.median;
      if (worst == nullptr || longer > most) worst = row, most = longer;
    }
    if (worst == nullptr) return;
    const CollectiveLaunches& launches = *worst->result.launches;
    std::string text =
        fmt::format("**slow_host**: rank {}'s host takes {} to launch {} of {}, the others' {}",
                    *launches.slow_host, wait_text(cost_of_slow_host(*worst)), name_,
                    bytes_text(worst->bytes), wait_text(usual_launch(launches)));
    if (most > Nanoseconds(0)) {
      text += ": where each call is launched, all ranks wait for it";
      if (const auto& adds = worst->result.eager_adds; adds && adds->low > Nanoseconds(0))
        text += fmt::format(", {} a call", wait_text(adds->median));
    } else {
      text +=
          fmt::format("; a transfer of {} hides that", wait_text(worst->result.times.front().time.median));
    }
    sentences_.push_back(text + "; see what else that host's cores do, or record calls in a graph");
  }

  static Nanoseconds cost_of_slow_host(const CollectiveRow& row) {
    const CollectiveLaunches& launches = *row.result.launches;
    return launches.costs[static_cast<std::size_t>(*launches.slow_host)];
  }

  void unproven_lateness() {
    for (const CollectiveRow* row : rows_.rows) {
      if (!row->result.waiting || lateness_is_proven(*row->result.waiting)) continue;
      const auto& proofs = row->result.waiting->proofs;
      const auto wrong = std::ranges::find(proofs, false, &LatenessProof::holds);
      if (wrong == proofs.end()) {
        sentences_.push_back(
            fmt::format("**lateness_unproven**: no rank was delayed on purpose for {} of {}, so that "
                        "nothing is said of who is late",
                        name_, bytes_text(row->bytes)));
      } else {
        sentences_.push_back(fmt::format(
            "**lateness_unproven**: rank {} came {} later on purpose, and the others of {} of {} waited {} longer in "
            "place of {}{}; nothing is said of who is late",
            wrong->rank, wait_text(wrong->delay), name_, bytes_text(row->bytes),
            wait_text(wrong->seen.median), wait_text(wrong->expected),
            row->result.waiting->is_host_behind ? ", as the slow host is behind anyway, which hides it"
                                                : ""));
      }
      return;
    }
  }

  void late_rank() {
    const CollectiveRow* worst = nullptr;
    for (const CollectiveRow* row : rows_.rows) {
      const auto& waiting = row->result.waiting;
      if (!waiting || !waiting->late_rank || !lateness_is_proven(*waiting)) continue;
      if (worst == nullptr || waiting->late_by > worst->result.waiting->late_by) worst = row;
    }
    if (worst == nullptr) return;
    const CollectiveWaiting& waiting = *worst->result.waiting;
    const Nanoseconds rest = waiting.late_by - waiting.late_by_launches - waiting.late_by_work;
    sentences_.push_back(fmt::format(
        "**late_rank**: rank {} comes last in {:.0f} % of the rounds of {} of {} ({}), {} behind "
        "the others: {} by its host's launches, {} by the work before, {} for other reasons",
        *waiting.late_rank, 100.0 * waiting.last_shares[static_cast<std::size_t>(*waiting.late_rank)], name_,
        bytes_text(worst->bytes), chance_text(waiting), wait_text(waiting.late_by),
        wait_text(waiting.late_by_launches), wait_text(waiting.late_by_work), wait_text(rest)));
  }

  // A call takes a host's launch where that outlasts the transfer. What a late GPU adds to a call, or one
  // slow host, is no cost of launches.
  void launch_bound() {
    const CollectiveRow* largest = nullptr;
    for (const CollectiveRow* row : rows_.rows) {
      const CollectiveResult& result = row->result;
      if (result.times.empty() || !result.eager_adds || !result.launches) continue;
      const Nanoseconds transfer = result.times.front().time.median;
      if (usual_launch(*result.launches) > transfer * 2.0 && result.eager_adds->low > transfer) largest = row;
    }
    if (largest == nullptr) return;
    sentences_.push_back(fmt::format(
        "**launch_bound**: up to {} the time of {} that is launched call by call is mostly its launches, {} for {} of "
        "transfer: record it in a graph",
        bytes_text(largest->bytes), name_, wait_text(usual_launch(*largest->result.launches)),
        time_text(largest->result.times.front().time.median)));
  }

  // A larger size that has less bandwidth beyond both intervals: the library changed its algorithm or
  // protocol there, or something else limits it.
  void dips() {
    constexpr double kDip = 0.05;
    for (std::size_t i = 1; i < rows_.rows.size(); ++i) {
      const CollectiveRow &smaller = *rows_.rows[i - 1], &larger = *rows_.rows[i];
      if (smaller.result.times.empty() || larger.result.times.empty()) continue;
      const TimeEstimate &before = smaller.result.times.front().time,
                         &after = larger.result.times.front().time;
      const double best_after = bus_bandwidth(larger, after.low),
                   least_before = bus_bandwidth(smaller, before.high);
      if (!(best_after < (1.0 - kDip) * least_before)) continue;
      sentences_.push_back(fmt::format(
          "**bandwidth_dip**: {} has {} GB/s at {} and {} at {}: the library chooses another algorithm or protocol "
          "between them, or the path is another; NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=TUNING says which",
          name_, gigabytes(bus_bandwidth(smaller, before.median)), bytes_text(smaller.bytes),
          gigabytes(bus_bandwidth(larger, after.median)), bytes_text(larger.bytes)));
    }
  }

  void slower_when_sustained() {
    constexpr double kWorthSaying = 0.02;
    for (const CollectiveRow* row : std::vector(rows_.rows.rbegin(), rows_.rows.rend())) {
      if (row->result.times.empty()) continue;
      const std::optional<RatioEstimate>& sustained = row->result.times.front().sustained;
      if (!sustained || sustained->low < 1.0 + kWorthSaying) continue;
      sentences_.push_back(fmt::format("**sustained**: under load {} of {} takes {}", name_,
                                       bytes_text(row->bytes), change_with_interval(*sustained)));
      return;
    }
  }

  const RowsOfCollective& rows_;
  std::string name_;
  std::vector<std::string> sentences_;
};

std::string conditions_text(const CollectivesRecord& record) {
  return fmt::format(
      "Transfers: in recordings, bursts, no rank waiting for another; {} of fresh processes. Intervals "
      "hold what the mean of such groups is (95 %).",
      counted(record.groups, "group"));
}

// True if every row tells who comes last, and none is late.
bool none_is_late(const CollectivesRecord& record) {
  bool any = false;
  for (const CollectiveRow& row : record.rows) {
    if (!row.result.waiting) continue;
    if (row.result.waiting->late_rank || !lateness_is_proven(*row.result.waiting)) return false;
    any = true;
  }
  return any && record.groups > 1;
}

// Names the share that comes nearest to being more than chance, as nobody else does.
std::string none_is_late_text(const CollectivesRecord& record) {
  std::string text = "No rank comes last more often than by chance, by 0.5 µs or more";
  if (std::ranges::any_of(record.rows, [](const CollectiveRow& row) {
        return row.result.launches && row.result.launches->slow_host;
      })) {
    return text + ": the work of 100 µs before each collective hides the slow host.";
  }
  const CollectiveRow* nearest = nullptr;
  const auto share = [](const CollectiveRow& row) {
    return row.result.waiting->last_shares[most_often_last(*row.result.waiting)];
  };
  for (const CollectiveRow& row : record.rows) {
    if (!row.result.waiting || tells_who_is_last(*row.result.waiting)) continue;
    if (nearest == nullptr || share(row) > share(*nearest)) nearest = &row;
  }
  if (nearest != nullptr) {
    text += fmt::format(": {} is the largest share, of {} of {} ({})", last_text(*nearest->result.waiting),
                        one_line(nearest->collective), bytes_text(nearest->bytes),
                        chance_text(*nearest->result.waiting));
  }
  return text + ".";
}

bool has_waits(const RowsOfCollective& rows) {
  return std::ranges::any_of(
      rows.rows, [](const CollectiveRow* row) { return row->result.waiting || row->result.eager_adds; });
}

}  // namespace

Text record_text(const CollectivesRecord& record, const ShownPage& shown) {
  if (record.ranks.empty())
    return without_results(record.interrupted, "ranks", "group of ranks", record.notes, shown.width);
  std::string head = hosts_text(record);
  if (!record.library.empty()) head += ", " + one_line(record.library);
  std::vector<std::string> settings;
  for (const Property& setting : record.settings)
    settings.push_back(one_line(setting.key + "=" + setting.value));
  if (!settings.empty()) head += fmt::format(" ({})", joined(settings));
  Text text = wrapped(head + ".", shown.width) + wrapped(conditions_text(record), shown.width);
  const Links links(record);
  if (links.are_measured()) text += wrapped(links.text(), shown.width);
  const std::vector<RowsOfCollective> collectives = collectives_of(record);
  std::vector<std::string> findings;
  for (const RowsOfCollective& rows : collectives) {
    for (std::string& finding : Findings(rows).all()) findings.push_back(std::move(finding));
  }
  if (!findings.empty()) text += "\n";
  for (std::size_t i = 0; i < findings.size(); ++i) text += numbered_item(i + 1, findings[i], shown.width, 3);
  if (none_is_late(record)) text += "\n" + wrapped(none_is_late_text(record), shown.width);
  constexpr std::size_t kFewRanks = 8;  // more make a table that nobody reads; --json has all pairs
  const bool has_matrix = record.ranks.size() > 2 && record.ranks.size() <= kFewRanks;
  if (links.are_measured() && (shown.details || has_matrix)) {
    text += "\n" +
            wrapped("**Links**: GB/s that the copy engine of each row's rank reads, one way", shown.width) +
            "\n" + links.matrix(shown.width);
  }
  bool any_waits = false, any_last = false;
  for (const RowsOfCollective& rows : collectives) {
    text += "\n" + wrapped(fmt::format("**{}**: transfers, GB/s", collective_name(rows)), shown.width) + "\n";
    text += transfers_table(rows, links.reachable(), shown.width);
    if (!has_waits(rows)) continue;
    any_waits = true;
    any_last = any_last || std::ranges::any_of(rows.rows, [](const CollectiveRow* row) {
                 return row->result.waiting && tells_who_is_last(*row->result.waiting);
               });
    text +=
        "\n" + wrapped(fmt::format("{}, launched call by call", collective_name(rows)), shown.width) + "\n";
    text += waiting_table(rows, shown.width);
  }
  if (any_waits) {
    text += "\n" +
            wrapped(fmt::format(
                        "Others wait: from their own arrival until the last rank comes, by each rank's own "
                        "clock.{}",
                        any_last ? " Behind by: of the rank that comes last more often than by chance; "
                                   "negative: it comes first."
                                 : ""),
                    shown.width);
  }
  for (const CollectiveRow& row : record.rows) {
    if (!row.failure.empty())
      text +=
          "\n" +
          list_item(one_line(fmt::format("{} of {}: {}", row.collective, bytes_text(row.bytes), row.failure)),
                    shown.width);
  }
  for (const std::string& note : record.notes) text += "\n" + list_item(one_line(note), shown.width);
  if (record.interrupted) text += "\nInterrupted: these are the results so far.\n";
  return text;
}

Headline headline_of(const CollectivesRecord& record) {
  Headline headline{.subject = "collectives",
                    .marks = {counted(std::ssize(record.ranks), "rank"),
                              counted(record.groups, "group") + " of fresh processes"}};
  if (!record.library.empty()) headline.marks.push_back(one_line(record.library));
  const CollectiveRow* best = nullptr;
  for (const CollectiveRow& row : record.rows) {
    if (row.result.times.empty()) continue;
    const auto bus = [](const CollectiveRow& of) {
      return bus_bandwidth(of, of.result.times.front().time.median);
    };
    if (best == nullptr || bus(row) > bus(*best)) best = &row;
  }
  if (best == nullptr) return headline;
  const TimeEstimate& time = best->result.times.front().time;
  headline.subject =
      fmt::format("bus bandwidth of {} of {}", one_line(best->collective), bytes_text(best->bytes));
  headline.number = gigabytes(bus_bandwidth(*best, time.median)) + " GB/s";
  if (std::isfinite(time.precision())) headline.error = half_width(time);
  return headline;
}

}  // namespace jitterscope
