#include "selftest/fresh_process.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/subprocess.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::selftest {
namespace {

using nlohmann::json;

// Its last words, without who says them: progress stands before the message.
std::string reason_of(const SubprocessOutcome& outcome) {
  constexpr std::string_view kSpeaker = "jitterscope: ";
  std::string text = outcome.errors;
  if (const auto place = text.rfind(kSpeaker); place != std::string::npos) {
    text.erase(0, place + kSpeaker.size());
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty()) return text;
  if (outcome.exit_code < 0) return "it was ended by a signal";
  return "it ended with exit code " + std::to_string(outcome.exit_code);
}

Nanoseconds time_of(const json& estimate, const char* key) { return seconds(estimate.at(key).get<double>()); }

TimeEstimate read_estimate(const std::string& text) {
  const json result = json::parse(text).at("results").at(0);
  if (result.contains("failure"))
    throw FailedError("a second process failed: " + result.at("failure").get<std::string>());
  const json& estimate = result.at("measurements").at(0).at("time");
  return {time_of(estimate, "median_seconds"), time_of(estimate, "low_seconds"),
          time_of(estimate, "high_seconds"), estimate.at("rounds").get<std::int64_t>()};
}

}  // namespace

MeasureInFreshProcess fresh_process(std::string executable, std::string device,
                                    std::function<bool()> interrupted) {
  return [executable = std::move(executable), device = std::move(device),
          interrupted = std::move(interrupted)](const Operation& operation, std::uint64_t seed) {
    const SubprocessOutcome outcome = run_subprocess(
        {executable, "run", operation.text(), "--device", device, "--load", "burst", "--cache", "warm",
         "--time-limit", "3", "--no-ceilings", "--seed", std::to_string(seed), "--json", "-"},
        {.interrupted = interrupted});
    // With other codes than these there is no time, or the document names the failure.
    const bool measured = outcome.exit_code == static_cast<int>(ExitCode::done) ||
                          outcome.exit_code == static_cast<int>(ExitCode::imprecise);
    try {
      if (measured || !outcome.output.empty()) return read_estimate(outcome.output);
    } catch (const json::exception&) {
      if (measured) throw FailedError("a second process wrote what cannot be read: " + reason_of(outcome));
    }
    throw FailedError("a second process failed: " + reason_of(outcome));
  };
}

}  // namespace jitterscope::selftest
