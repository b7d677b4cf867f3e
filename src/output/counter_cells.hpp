// Hardware counters of a launch as cells of a table and parts of sentences.
#pragma once

#include <string>

#include "jitterscope/counters.hpp"

namespace jitterscope {

/// "1.2 MiB"; empty where there is no value.
std::string counted_bytes_text(const CounterReading& reading, CounterQuantity quantity);
/// "93 %"; empty where there is no value.
std::string counted_share_text(const CounterReading& reading, CounterQuantity quantity);
/// "102 %": all that memory moved over the least that it must, below 100 % where the cache keeps some; empty
/// where that was not counted or nothing must move.
std::string moved_share_text(const CounterReading& reading, Bytes least);
/// "long_scoreboard 41 %, barrier 12 %": what warps wait for most; empty where that was not counted.
std::string stalls_text(const CounterReading& reading, std::size_t most = 3);

}  // namespace jitterscope
