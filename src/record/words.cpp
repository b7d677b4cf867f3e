#include "record/words.hpp"

#include <algorithm>

namespace jitterscope {

std::string identifier(std::string_view words) {
  std::string text(words);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

std::string_view data_word(const Conditions& conditions) {
  return conditions.data ? to_string(*conditions.data) : kUnknownData;
}

std::string_view to_string(ExitCode code) {
  switch (code) {
    case ExitCode::done: return "done";
    case ExitCode::check_failed: return "check failed";
    case ExitCode::usage: return "usage";
    case ExitCode::missing: return "missing";
    case ExitCode::imprecise: return "imprecise";
    case ExitCode::failed: return "failed";
    case ExitCode::interrupted: return "interrupted";
  }
  return "";
}

std::string_view to_string(Check::Status status) {
  switch (status) {
    case Check::Status::good: return "ok";
    case Check::Status::limits: return "limits";
    case Check::Status::missing: return "missing";
  }
  return "";
}

std::string_view to_string(Amount::Unit unit) {
  switch (unit) {
    case Amount::Unit::loads: return "loads";
    case Amount::Unit::bytes: return "bytes";
    case Amount::Unit::additions: return "additions";
  }
  return "";
}

std::string_view to_string(EngineListing::Source source) {
  switch (source) {
    case EngineListing::Source::heuristic: return "heuristic";
    case EngineListing::Source::fallback: return "fallback";
    case EngineListing::Source::other: return "other";
  }
  return "";
}

}  // namespace jitterscope
