#include "selftest/proof.hpp"

namespace jitterscope::selftest {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return "passed";
    case Verdict::missed: return "missed";
    case Verdict::inconclusive: return "inconclusive";
    case Verdict::skipped: return "skipped";
  }
  return "";
}

std::string_view to_string(ValueKind kind) {
  switch (kind) {
    case ValueKind::seconds: return "seconds";
    case ValueKind::share: return "share";
    case ValueKind::ratio: return "ratio";
    case ValueKind::bytes_per_second: return "bytes per second";
  }
  return "";
}

}  // namespace jitterscope::selftest
