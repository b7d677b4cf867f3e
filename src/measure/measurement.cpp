#include "jitterscope/measurement.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "statistics/statistics.hpp"

namespace jitterscope {

std::string to_string(const Value& value) {
  struct Text {
    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(bool yes) const { return yes ? "yes" : "no"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return fmt::format("{:g}", number); }
  };
  return std::visit(Text(), value);
}

std::string to_string(const Subject& subject) {
  const Operation* operation = operation_of(subject);
  return operation != nullptr ? operation->text() : std::get<Callable>(subject).name;
}

const Operation* operation_of(const Subject& subject) { return std::get_if<Operation>(&subject); }

std::string_view to_string(Load load) { return load == Load::burst ? "burst" : "sustained"; }

std::string_view to_string(QueueMode mode) {
  switch (mode) {
    case QueueMode::saturated: return "saturated";
    case QueueMode::eager: return "eager";
    case QueueMode::graph: return "graph";
  }
  return "";
}

std::string_view to_string(Instrument instrument) {
  switch (instrument) {
    case Instrument::events: return "events";
    case Instrument::graph: return "graph";
    case Instrument::cupti: return "cupti";
    case Instrument::host: return "host";
  }
  return "";
}

std::string_view to_string(Steadiness::Verdict verdict) {
  switch (verdict) {
    case Steadiness::Verdict::steady: return "steady";
    case Steadiness::Verdict::warming_up: return "warming up";
    case Steadiness::Verdict::slowing_down: return "slowing down";
    case Steadiness::Verdict::never_steady: return "never steady";
    case Steadiness::Verdict::not_shown: return "not shown to be steady";
  }
  return "";
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::precision: return "precision";
    case StopReason::time_limit: return "time limit";
    case StopReason::interrupted: return "interrupted";
  }
  return "";
}

Nanoseconds Round::time() const {
  std::vector<double> values;
  values.reserve(launches.size());
  for (const Nanoseconds launch : launches) values.push_back(launch.value());
  return Nanoseconds(statistics::median_of_readings(values, grain.value()));
}

double TimeEstimate::precision() const {
  // With fewer than 6 rounds no pair of order statistics holds the median with 95 %.
  constexpr std::int64_t kLeastRounds = 6;
  if (rounds < kLeastRounds || !(low < high || low == high) || median.value() <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  return (high - low) / median / 2.0;
}

namespace {

class Differences {
 public:
  void compare(const char* name, const std::optional<Value>& first, const std::optional<Value>& second) {
    if (first != second) found_.push_back({name, first, second});
  }
  std::vector<ConditionDifference> take() { return std::move(found_); }

 private:
  std::vector<ConditionDifference> found_;
};

template <class Enum>
Value word(Enum value) {
  return std::string(to_string(value));
}

std::optional<Value> data_word(const std::optional<DataKind>& data) {
  return data ? std::optional(word(*data)) : std::nullopt;
}

std::optional<Value> hertz(const std::optional<Hertz>& clock) {
  return clock ? std::optional<Value>(clock->value()) : std::nullopt;
}

std::optional<Value> number(const std::optional<std::int64_t>& placement) {
  return placement ? std::optional<Value>(*placement) : std::nullopt;
}

}  // namespace

std::vector<ConditionDifference> differing_conditions(const Result& first_result, const Measurement& first,
                                                      const Result& second_result,
                                                      const Measurement& second) {
  const Conditions &a = first.conditions, &b = second.conditions;
  Differences all;
  all.compare("cache", word(a.cache), word(b.cache));
  all.compare("load", word(a.load), word(b.load));
  all.compare("data", data_word(a.data), data_word(b.data));
  all.compare("queue", word(a.queue), word(b.queue));
  all.compare("fresh_data", a.fresh_data, b.fresh_data);
  all.compare("locked_clock_hz", hertz(a.locked_clock), hertz(b.locked_clock));
  all.compare("placement", number(a.placement), number(b.placement));
  all.compare("seed", static_cast<std::int64_t>(a.seed), static_cast<std::int64_t>(b.seed));
  all.compare("provider", first_result.provider, second_result.provider);
  all.compare("algorithm", first_result.algorithm, second_result.algorithm);
  return all.take();
}

}  // namespace jitterscope
