#include "output/counter_cells.hpp"

#include <algorithm>
#include <vector>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"

namespace jitterscope {

std::string counted_bytes_text(const CounterReading& reading, CounterQuantity quantity) {
  const auto bytes = counted_value(reading, quantity);
  return bytes ? bytes_text(Bytes(static_cast<std::int64_t>(*bytes))) : "";
}

std::string counted_share_text(const CounterReading& reading, CounterQuantity quantity) {
  const auto percent = counted_value(reading, quantity);
  return percent ? percent_text(*percent / 100.0) : "";
}

std::string moved_share_text(const CounterReading& reading, Bytes least) {
  const auto moved = moved_bytes(reading);
  if (!moved || least <= Bytes(0)) return {};
  return percent_text(static_cast<double>(moved->value()) / static_cast<double>(least.value()));
}

std::string stalls_text(const CounterReading& reading, std::size_t most) {
  std::vector<const CounterValue*> stalls;
  for (const CounterValue& value : reading.values) {
    if (value.quantity == CounterQuantity::stalled && value.value && *value.value > 0)
      stalls.push_back(&value);
  }
  std::ranges::stable_sort(
      stalls, [](const CounterValue* a, const CounterValue* b) { return *a->value > *b->value; });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(most, stalls.size()); ++i) {
    texts.push_back(one_line(stalls[i]->stall_reason) + " " + percent_text(*stalls[i]->value / 100.0));
  }
  return joined(texts);
}

}  // namespace jitterscope
