#include "worker/partner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// Between looks at the partners that are not waited for just now: one that has ended ends the wait.
constexpr int kLookMilliseconds = 20;

// A round in progress may end; a record of hundreds of operations, which takes longer to write, nobody needs.
constexpr Nanoseconds kPatienceAfterInterruption = seconds(2);

std::string with_phase(const Partner& partner) {
  const std::string phase = partner.phase();
  return partner.name() + (phase.empty() ? "" : fmt::format(" (last at {})", phase));
}

}  // namespace

std::int64_t LocalPartner::parent() const { return ::getpid(); }

std::vector<std::string> hear_all(const std::vector<std::unique_ptr<Partner>>& partners,
                                  Nanoseconds time_limit, const std::function<bool()>& interrupted) {
  const Nanoseconds begin = host_time_now();
  std::optional<Nanoseconds> interruption;
  std::vector<std::optional<std::string>> heard(partners.size());
  while (true) {
    // The first that is silent is waited for, the others are looked at: lines come at about the same time.
    int patience = kLookMilliseconds;
    std::vector<std::string> silent;
    for (std::size_t i = 0; i < partners.size(); ++i) {
      if (heard[i]) continue;
      try {
        heard[i] = partners[i]->hear(patience);
      } catch (const FailedError& ended) {
        throw FailedError(fmt::format("{}: {}", partners[i]->name(), ended.what()));
      }
      if (heard[i]) continue;
      patience = 0;
      silent.push_back(with_phase(*partners[i]));
    }
    if (silent.empty()) break;
    const Nanoseconds now = host_time_now();
    if (!interruption && interrupted && interrupted()) interruption = now;
    if (interruption && now - *interruption > kPatienceAfterInterruption) throw InterruptedError();
    if (now - begin > time_limit) {
      throw FailedError(fmt::format("no answer for {} from {}", duration_text(time_limit), joined(silent)));
    }
  }
  std::vector<std::string> lines;
  for (std::optional<std::string>& line : heard) lines.push_back(std::move(*line));
  return lines;
}

}  // namespace jitterscope
