// Records whose difference is known, and the parts of their accounts.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "experiment/simulated_processes.hpp"
#include "explain/account.hpp"

namespace jitterscope::test {

using explain::Account;
using explain::AccountedPart;

// 60 % of the time follows the clock: 100 us at 1,000 MHz.
inline Nanoseconds time_at(Hertz clock) { return microseconds(40.0 + 60.0 * (megahertz(1000) / clock)); }

inline Measurement measured(Nanoseconds time, Hertz clock, CacheState cache = CacheState::warm,
                            bool fitted = true) {
  std::vector<double> times;
  for (int i = 0; i < 12; ++i) times.push_back(time.value() * 1e-3 * (1.0 + 0.0001 * (i % 7 - 3)));
  Measurement measurement = timed(times, cache, clock);
  measurement.repeatability = measurement.time;
  measurement.clock = ClockEstimate{clock, clock, clock};
  if (fitted) {
    TimeAtReferenceClock fit;
    fit.reference = clock;
    fit.time = time;
    fit.clock_share = 1.0 - microseconds(40) / time_at(clock);
    fit.clock_share_error = 0.02;
    measurement.at_reference_clock = fit;
  }
  return measurement;
}

inline RunRecord record_with(std::vector<Measurement> measurements) {
  RunRecord record = record_of({entry_of("add:count=1024", std::move(measurements))});
  record.device.name = "NVIDIA H200";
  return record;
}

inline Account only_account(const RunRecord& first, const RunRecord& second) {
  const std::vector<Account> accounts = explain::account_for(first, second);
  EXPECT_EQ(accounts.size(), 1u);
  return accounts.front();
}

inline const AccountedPart& part(const Account& account, const std::string& name) {
  const auto found = std::ranges::find(account.parts, name, &AccountedPart::name);
  if (found == account.parts.end()) throw std::runtime_error("no part " + name);
  return *found;
}

inline bool has_part(const Account& account, const std::string& name) {
  return std::ranges::find(account.parts, name, &AccountedPart::name) != account.parts.end();
}

}  // namespace jitterscope::test
