#include "physics/cluster.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "physics/parameters.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::physics {
namespace {

constexpr std::int64_t kMostRanks = 65536;

class TableReader {
 public:
  TableReader(const toml::table& table, std::string name, const std::string& file)
      : table_(table), name_(std::move(name)), file_(file) {}

  /// Reads a number times `unit`; a member keeps its value if the key is absent.
  template <class Member>
  void number(std::string_view key, Member& member, double lowest, double highest, double unit = 1.0) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const double value = node->is_number() ? node->value<double>().value_or(NAN) : NAN;
    if (!(value >= lowest && value <= highest)) {
      fail(*node, fmt::format("{} {}: expected a number from {} to {}", name_, key, lowest, highest));
    }
    member = Member(value * unit);
  }
  void whole(std::string_view key, std::int64_t& member, std::int64_t lowest, std::int64_t highest) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const auto value = node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
    if (!value || *value < lowest || *value > highest) {
      fail(*node, fmt::format("{} {}: expected a whole number from {} to {}", name_, key, lowest, highest));
    }
    member = *value;
  }
  void cause(Straggler::Cause& member) {
    known_.emplace_back("cause");
    const toml::node* node = table_.get("cause");
    if (node == nullptr) return;
    const auto word = node->value<std::string>();
    using enum Straggler::Cause;
    for (const auto& [text, value] :
         {std::pair("host", host), std::pair("gpu", gpu), std::pair("wrong_values", wrong_values)}) {
      if (word != text) continue;
      member = value;
      return;
    }
    fail(*node, name_ + " cause: expected \"host\", \"gpu\" or \"wrong_values\"");
  }
  void refuse_others() const {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(known_, key.str()) != known_.end()) continue;
      fail(node, fmt::format("{} has no key '{}'{}", name_, key.str(), suggestion(key.str(), known_)));
    }
  }
  void require(std::string_view key) const {
    if (table_.get(key) == nullptr) fail(table_, fmt::format("{} lacks {}", name_, key));
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& problem) const {
    throw UsageError(fmt::format("{}:{}: {}", file_, node.source().begin.line, problem));
  }

 private:
  const toml::table& table_;
  std::string name_;
  const std::string& file_;
  std::vector<std::string> known_;
};

constexpr double kOneMicrosecond = 1e3, kOneSecond = 1e9, kOneGigabyte = 1e9, kOneMillionth = 1e-6;

/// Calls `read` for each table of a list, with a reader of its keys.
template <class Read>
void read_tables(const toml::table& document, const std::string& key, const std::string& file,
                 const Read& read) {
  const toml::node* list = document.get(key);
  if (list == nullptr) return;
  const std::string name = fmt::format("[[{}]]", key);
  const toml::array* tables = list->as_array();
  if (tables == nullptr) {
    throw UsageError(fmt::format("{}:{}: '{}' is no list of tables, as {} begins one", file,
                                 list->source().begin.line, key, name));
  }
  for (const toml::node& node : *tables) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      throw UsageError(fmt::format("{}:{}: {} expects tables", file, node.source().begin.line, name));
    }
    TableReader reader(*table, name, file);
    read(reader);
    reader.refuse_others();
  }
}

// Groups of this level within one of the next.
double groups_joined(const Cluster& cluster, std::size_t level) {
  const std::int64_t below = level == 0 ? 1 : cluster.links[level - 1].ranks;
  const std::int64_t all = std::min(cluster.links[level].ranks, cluster.ranks);
  return std::ceil(static_cast<double>(all) / static_cast<double>(below));
}

}  // namespace

bool Cluster::has(Straggler::Cause cause, std::int64_t rank, Nanoseconds time) const {
  return std::ranges::any_of(stragglers, [&](const Straggler& one) {
    return one.cause == cause && one.rank == rank && time >= one.from && time < one.until;
  });
}

Nanoseconds Cluster::delay(Straggler::Cause cause, std::int64_t rank, Nanoseconds time) const {
  Nanoseconds sum;
  for (const Straggler& one : stragglers) {
    if (one.cause == cause && one.rank == rank && time >= one.from && time < one.until) sum += one.size;
  }
  return sum;
}

Nanoseconds transfer_time(const Cluster& cluster, double bytes) {
  Nanoseconds latency;
  double bandwidth = cluster.links.front().bandwidth;
  for (std::size_t level = 0; level < cluster.links.size(); ++level) {
    if (level > 0 && cluster.links[level - 1].ranks >= cluster.ranks) break;
    latency += cluster.links[level].latency * std::ceil(std::log2(groups_joined(cluster, level)));
    bandwidth = std::min(bandwidth, cluster.links[level].bandwidth);
  }
  return latency + seconds(bytes / bandwidth);
}

Nanoseconds transfer_time(const Cluster& cluster, std::int64_t from, std::int64_t to, double bytes) {
  Nanoseconds latency;
  double bandwidth = cluster.links.front().bandwidth;
  for (const Link& link : cluster.links) {
    latency += link.latency;
    bandwidth = std::min(bandwidth, link.bandwidth);
    if (from / link.ranks == to / link.ranks) break;
  }
  return latency + seconds(bytes / bandwidth);
}

Parameters of_rank(const Parameters& all, const Cluster& cluster, std::int64_t rank) {
  Random random(cluster.seed ^ Random(static_cast<std::uint64_t>(rank) + 1).next());
  const auto factor = [&](double spread) { return std::max(0.1, 1.0 + spread * random.normal()); };
  Parameters own = all;
  own.identity.device_number += static_cast<std::uint64_t>(rank);
  const Governor& governor = all.governor;
  const double steps =
      std::round(governor.maximum_clock.value() * factor(cluster.clock_spread) / governor.step.value());
  own.governor.maximum_clock = std::max(governor.idle_clock, governor.step * steps);
  own.power.cap = all.power.cap * factor(cluster.cap_spread);
  const double heat = factor(cluster.heat_spread), memory = factor(cluster.memory_spread);
  own.thermal.resistance_fast *= heat;
  own.thermal.resistance_slow *= heat;
  own.memory.dram_bandwidth *= memory;
  own.memory.miss_bandwidth *= memory;
  own.memory.write_back_bandwidth *= memory;
  return own;
}

bool describes_cluster(const toml::table& document) {
  return std::ranges::any_of(kClusterTables,
                             [&](std::string_view table) { return document.contains(table); });
}

Cluster read_cluster(const toml::table& document, const std::string& file,
                     const std::optional<Cluster>& base) {
  const toml::node* node = document.get("cluster");
  if (node == nullptr && !base) {
    const toml::node* first = document.get(document.contains("link") ? "link" : "straggler");
    throw UsageError(fmt::format(
        "{}:{}: links and stragglers are those of a cluster; add a table [cluster] with ranks, or "
        "name a base that has one, such as base = \"cluster-2xh200\"",
        file, first->source().begin.line));
  }
  if (node != nullptr && !node->is_table()) throw UsageError(file + ": 'cluster' is no table [cluster]");
  const toml::table none;
  const toml::table& table = node != nullptr ? *node->as_table() : none;
  Cluster cluster = base.value_or(Cluster());
  TableReader reader(table, "[cluster]", file);
  auto seed = static_cast<std::int64_t>(cluster.seed);
  if (!base) reader.require("ranks");
  reader.whole("ranks", cluster.ranks, 1, kMostRanks);
  reader.whole("seed", seed, 0, 1'000'000'000);
  cluster.seed = static_cast<std::uint64_t>(seed);
  reader.number("clock_spread", cluster.clock_spread, 0, 0.1);
  reader.number("cap_spread", cluster.cap_spread, 0, 0.1);
  reader.number("heat_spread", cluster.heat_spread, 0, 0.2);
  reader.number("memory_spread", cluster.memory_spread, 0, 0.1);
  reader.number("link_noise", cluster.link_noise, 0, 0.2);
  reader.number("overlap_tax", cluster.overlap_tax, 1, 4);
  reader.number("clock_offset_s", cluster.clock_offset, -1e6, 1e6, kOneSecond);
  reader.number("clock_drift_ppm", cluster.clock_drift, -1000, 1000, kOneMillionth);
  reader.refuse_others();
  if (document.contains("link")) cluster.links.clear();
  read_tables(document, "link", file, [&](TableReader& keys) {
    Link link;
    for (const char* key : {"ranks", "latency_us", "bandwidth_gb_per_s"}) keys.require(key);
    keys.whole("ranks", link.ranks, 2, kMostRanks);
    keys.number("latency_us", link.latency, 0, 1e6, kOneMicrosecond);
    keys.number("bandwidth_gb_per_s", link.bandwidth, 1e-6, 1e6, kOneGigabyte);
    cluster.links.push_back(link);
  });
  for (const Straggler& straggler : cluster.stragglers) {
    if (straggler.rank < cluster.ranks) continue;
    throw UsageError(
        fmt::format("{}: the base has a [[straggler]] of rank {}, and this cluster {}; give it more ranks",
                    file, straggler.rank, counted(cluster.ranks, "rank")));
  }
  read_tables(document, "straggler", file, [&](TableReader& keys) {
    Straggler straggler;
    for (const char* key : {"rank", "cause"}) keys.require(key);
    keys.whole("rank", straggler.rank, 0, cluster.ranks - 1);
    keys.cause(straggler.cause);
    if (straggler.cause != Straggler::Cause::wrong_values) keys.require("size_us");
    keys.number("size_us", straggler.size, 0, 1e9, kOneMicrosecond);
    keys.number("from_s", straggler.from, 0, 1e9, kOneSecond);
    keys.number("until_s", straggler.until, straggler.from.value() / kOneSecond, 1e9, kOneSecond);
    cluster.stragglers.push_back(straggler);
  });
  const auto joins_more = [](const Link& one, const Link& next) { return one.ranks >= next.ranks; };
  if (std::ranges::adjacent_find(cluster.links, joins_more) != cluster.links.end()) {
    throw UsageError(file +
                     ": each [[link]] joins more ranks than the one before it; put them in that order");
  }
  if (cluster.links.empty() || cluster.links.back().ranks < cluster.ranks) {
    throw UsageError(fmt::format("{}: no [[link]] joins all {} ranks; add one with ranks = {}", file,
                                 cluster.ranks, cluster.ranks));
  }
  return cluster;
}

}  // namespace jitterscope::physics
