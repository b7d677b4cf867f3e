// Times in files are seconds; in memory they are nanoseconds.
#pragma once

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Division rounds once, so that 127900 ns is written as 0.0001279; multiplying by 1e-9 would not.
inline double in_seconds(Nanoseconds time) { return time.value() / 1e9; }

/// A time of which in_seconds gives this number again, where there is one: 0.0001279 is 127900 ns.
Nanoseconds from_seconds(double seconds);

/// With six digits, as what follows from other numbers is written: a time has a little more in memory than in
/// a file, and what is computed from it would otherwise change in its last digits when it is read and
/// written.
double six_digits(double value);

}  // namespace jitterscope
