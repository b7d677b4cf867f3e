#include "cli/measure_flags.hpp"

#include <charconv>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "device/open_device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {
namespace {

const std::vector<CacheState> kCaches = {CacheState::warm, CacheState::cold, CacheState::dirty,
                                         CacheState::produced};
const std::vector<Load> kLoads = {Load::burst, Load::sustained};
const std::vector<QueueMode> kQueues = {QueueMode::saturated, QueueMode::eager, QueueMode::graph};
const std::vector<Instrument> kInstruments = {Instrument::events, Instrument::graph, Instrument::cupti,
                                              Instrument::host};
const std::vector<DataKind> kData = {DataKind::normal, DataKind::uniform, DataKind::zeros, DataKind::ones,
                                     DataKind::sparse};

std::string without_percent_sign(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  return text;
}

void require(bool condition, const std::string& message) {
  if (!condition) throw UsageError(message);
}

}  // namespace

std::function<std::string(std::string)> duration_in(const std::string& flag, Nanoseconds unit) {
  return [flag, unit](const std::string& text) {
    if (const auto duration = read_duration(text, unit)) return fmt::format("{}", *duration / unit);
    throw UsageError(fmt::format(
        "{}: '{}' is not a duration; write a number, alone or followed by ms, s or m, as 2s or 500ms", flag,
        text));
  };
}

std::function<std::string(std::string)> count_of(const std::string& flag) {
  return [flag](const std::string& text) {
    if (const auto count = read_count(text)) return std::to_string(*count);
    throw UsageError(fmt::format("{}: '{}' {}", flag, text, count_problem(text)));
  };
}

void MeasureFlags::add_to(CLI::App& command) {
  command.add_option("--device", device, kDeviceHelp)->capture_default_str();
  const auto show_if = [](CLI::Option* option, bool is_taken) {
    if (!is_taken) option->group("");
  };
  command.add_option("--cache", caches, help.caches)->delimiter(',');
  CLI::Option* load =
      command
          .add_option(
              "--load", loads,
              "load: burst (short rounds with idle between them) or sustained (no pause until time and "
              "clock settle); default: burst")
          ->delimiter(',');
  show_if(load, help.has_load);
  command
      .add_option(
          "--queue", queue,
          "how launches reach the device: saturated (the queue is held until all are in it), eager (as a "
          "program launches) or graph")
      ->capture_default_str();
  command.add_option("--instrument", instrument, "how a time is read: auto, events, graph, cupti or host")
      ->capture_default_str();
  command.add_option("--data", data, "values of the operands: normal, uniform, zeros, ones or sparse")
      ->capture_default_str();
  CLI::Option* own_precision =
      command
          .add_option("--precision", precision_percent,
                      "stop when half of the 95 % interval is at most this percentage of the time, as 0.5 or "
                      "0.5%; exit code 4 if it is given and not reached")
          ->transform(without_percent_sign)
          ->capture_default_str();
  CLI::Option* own_time_limit =
      command
          .add_option("--time-limit", time_limit_seconds,
                      "longest time for the bursts of one operation, as 2, 2s, 500ms or 1m")
          ->transform(duration_in("--time-limit", seconds(1)))
          ->type_name("TIME")
          ->capture_default_str();
  if (*help.precision != '\0') own_precision->default_str(help.precision);
  if (*help.time_limit != '\0') own_time_limit->default_str(help.time_limit);
  precision_option = own_precision;
  time_limit_option = own_time_limit;
  CLI::Option* sustained = command
                               .add_option("--sustained-time-limit", sustained_time_limit_seconds,
                                           "longest time for each sustained measurement, as 10, 10s or 1m")
                               ->transform(duration_in("--sustained-time-limit", seconds(1)))
                               ->type_name("TIME")
                               ->capture_default_str();
  show_if(sustained, help.has_sustained_time_limit);
  command.add_option("--min-rounds", minimum_rounds, "measure at least this many rounds")
      ->capture_default_str();
  command
      .add_option("--idle", idle_milliseconds,
                  "shortest and longest random idle before a round, as 10,70 (ms) or 10ms,0.1s")
      ->transform(duration_in("--idle", milliseconds(1)))
      ->type_name("TIME")
      ->expected(2)
      ->delimiter(',')
      ->default_str("10,70");
  command.add_option("--conditioning", conditioning_launches, "untimed launches at the start of a round")
      ->capture_default_str();
  command.add_option("--launches-per-round", launches_per_round,
                     "timed launches in a round (default: as many as take 5 ms, at most 40)");
  command.add_flag("--no-warm-up", no_warm_up, "do not wait for the steady state of a sustained load");
  command.add_option("--seed", seed, "seed of the random idles and orders, and of a simulated device")
      ->capture_default_str();
  command
      .add_option(
          "--reference-clock", reference_clock_megahertz,
          "also estimate each time at this SM clock, to compare runs at different clocks (default: the "
          "run's own median clock)")
      ->type_name("MHZ");
  CLI::Option* lock = command.add_option(
      "--lock-clocks", lock_clocks,
      "lock the SM clock at MHZ, base or max while measuring (needs root; the clock is always restored)");
  show_if(lock, help.has_lock_clocks);
}

MeasureOptions MeasureFlags::options() const {
  MeasureOptions options;
  if (!caches.empty()) options.caches.clear();
  for (const std::string& word : caches) options.caches.push_back(read_word("--cache", word, kCaches));
  if (!loads.empty()) options.loads.clear();
  for (const std::string& word : loads) options.loads.push_back(read_word("--load", word, kLoads));
  options.queue = read_word("--queue", queue, kQueues);
  if (instrument != "auto") options.instrument = read_word("--instrument", instrument, kInstruments);
  options.data = read_word("--data", data, kData);
  require(precision_percent > 0 && precision_percent < 100,
          "--precision must be a percentage above 0 and below 100");
  require(time_limit_seconds > 0, "--time-limit must be more than 0 seconds");
  require(sustained_time_limit_seconds > 0, "--sustained-time-limit must be more than 0 seconds");
  require(minimum_rounds >= 1, "--min-rounds must be at least 1");
  require(conditioning_launches >= 0 && conditioning_launches <= 100, "--conditioning must be from 0 to 100");
  // More would not fit a GPU's queue (1,024 entries), and the held queue would never be released.
  require(!launches_per_round || (*launches_per_round >= 1 && *launches_per_round <= 200),
          "--launches-per-round must be from 1 to 200");
  require(idle_milliseconds[0] >= 0 && idle_milliseconds[0] <= idle_milliseconds[1],
          "--idle: write the shortest first, as in --idle 10,70");
  options.precision = precision_percent / 100;
  options.time_limit = seconds(time_limit_seconds);
  options.sustained_time_limit = seconds(sustained_time_limit_seconds);
  options.minimum_rounds = minimum_rounds;
  // Larger values are hertz given by mistake; clocks of CPUs and GPUs lie within these limits.
  require(
      !reference_clock_megahertz || (*reference_clock_megahertz >= 1 && *reference_clock_megahertz <= 20'000),
      "--reference-clock must be in MHz, from 1 to 20000, as 1410");
  if (reference_clock_megahertz) options.reference_clock = megahertz(*reference_clock_megahertz);
  options.shortest_idle = milliseconds(idle_milliseconds[0]);
  options.longest_idle = milliseconds(idle_milliseconds[1]);
  options.conditioning_launches = conditioning_launches;
  options.launches_per_round = launches_per_round;
  options.warm_up = !no_warm_up;
  options.seed = seed;
  options.interrupted = is_interrupted;
  return options;
}

MeasureOptions MeasureFlags::options(std::int64_t processes) const {
  // On a host processes differ by more than one of them can know, so eight short ones tell more than two long
  // ones.
  constexpr Nanoseconds kEachOnHost = seconds(0.6);
  MeasureOptions own = options();
  if (processes > 1 && !asks_for_time() && names_host(device)) own.time_limit = kEachOnHost;
  return own;
}

// Evicting all of a CPU's cache before each call takes up to 50 ms, most of the time that there is.
MeasureOptions MeasureFlags::python_options(std::int64_t processes) const {
  MeasureOptions own = options(processes);
  if (caches.empty() && names_host(device)) own.caches = {CacheState::warm};
  return own;
}

std::unique_ptr<ClockLock> MeasureFlags::lock(Device& on, MeasureOptions& options) const {
  if (lock_clocks.empty()) return nullptr;
  std::unique_ptr<ClockLock> lock = on.lock_clocks(lock_clocks);
  options.locked_clock = lock->frequency();
  return lock;
}

void check_count(const char* flag, std::int64_t count, std::int64_t least, std::int64_t most) {
  require(count >= least && count <= most, fmt::format("{} must be from {} to {}", flag, least, most));
}

double read_percentage(const std::string& flag, std::string text) {
  if (text.ends_with('%')) text.pop_back();
  double percent = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool is_number = problem == std::errc() && end == text.data() + text.size();
  if (!is_number || !(percent > 0.0) || percent >= 100.0) {
    throw UsageError(
        fmt::format("{}: '{}' is not a percentage above 0 and below 100, as 1% or 0.5", flag, text));
  }
  return percent / 100.0;
}

}  // namespace jitterscope::cli
