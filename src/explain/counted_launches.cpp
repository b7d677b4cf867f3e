#include "explain/counted_launches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope::explain {
namespace {

// Of two launches alike, some KiB differ (H200).
constexpr double kBytesThatCount = 256.0 * 1024.0;
constexpr double kPercentThatCounts = 2.0;  // of hundred

std::string_view verb_of(CounterQuantity quantity) {
  switch (quantity) {
    case CounterQuantity::dram_bytes_read: return "reads {} {} from DRAM";
    case CounterQuantity::dram_bytes_written: return "writes {} {} to DRAM";
    default: return {};
  }
}

std::string words_of(const CountedChange& change) {
  const double by = change.treated - change.plain;
  if (const std::string_view verb = verb_of(change.quantity); !verb.empty()) {
    if (std::abs(by) < kBytesThatCount) return {};
    const Bytes bytes(std::llround(std::abs(by)));
    return fmt::format(fmt::runtime(verb), bytes_text(bytes), by > 0.0 ? "more" : "less") +
           fmt::format(" (plain: {})", bytes_text(Bytes(std::llround(change.plain))));
  }
  if (change.quantity != CounterQuantity::tensor_active || std::abs(by) < kPercentThatCounts) return {};
  return fmt::format("its units that multiply matrices work {:.0f} % of the time (plain: {:.0f} %)",
                     change.treated, change.plain);
}

}  // namespace

LaunchCounting::LaunchCounting(TreatedLoop& bench)
    : bench_(bench), reader_(bench.session().device().count({})) {
  plain_ = bench_.count(*reader_, Treatment());
}

std::vector<CountedChange> LaunchCounting::compare(const Treatment& treatment) {
  const CounterReading treated = bench_.count(*reader_, treatment);
  std::vector<CountedChange> changes;
  for (std::size_t i = 0; i < std::min(plain_.values.size(), treated.values.size()); ++i) {
    const CounterValue &before = plain_.values[i], &with = treated.values[i];
    if (!before.value || !with.value) continue;
    changes.push_back({before.name, before.quantity, before.unit, *before.value, *with.value});
  }
  return changes;
}

std::string counter_words(const std::vector<CountedChange>& changes) {
  std::vector<std::string> words;
  for (const CountedChange& change : changes) words.push_back(words_of(change));
  std::erase(words, std::string());
  return joined(words);
}

}  // namespace jitterscope::explain
