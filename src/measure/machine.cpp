#include "measure/machine.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"
#include "measure/round_runner.hpp"
#include "measure/round_timer.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  gmtime_r(&now, &broken_down);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  return text.data();
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the value of the first line "KEY<separator>VALUE" of a file, without quotes.
std::string value_in(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", line.find(separator) + 1);
    if (begin == std::string::npos) return {};
    std::string value = line.substr(begin);
    if (value.ends_with('"')) value.pop_back();
    return value;
  }
  return {};
}

std::string container() {
  std::error_code ignored;
  if (std::filesystem::exists("/.dockerenv", ignored)) return "docker";
  if (std::filesystem::exists("/run/.containerenv", ignored)) return "podman";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  const char* name = std::getenv("container");
  return name == nullptr ? std::string() : std::string(name);
}

}  // namespace

std::string hypervisor() {
  const bool is_guest = value_in("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos;
  if (!is_guest) return {};
  const std::string product = first_line("/sys/class/dmi/id/product_name");
  return product.empty() ? "virtual machine" : product;
}

Environment read_environment(std::string command_line) {
  Environment environment;
  environment.tool_version = version();
  environment.command_line = std::move(command_line);
  environment.time = utc_now();
  const auto add = [&](const char* key, std::string value) {
    if (!value.empty()) environment.host.push_back({key, std::move(value)});
  };
  utsname system{};
  if (uname(&system) == 0) {
    add("host_name", system.nodename);
    add("kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  }
  add("operating_system", value_in("/etc/os-release", "PRETTY_NAME", '='));
  add("cpu", value_in("/proc/cpuinfo", "model name", ':'));
  add("cpu_threads", std::to_string(std::thread::hardware_concurrency()));
  add("cpu_governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  add("virtualisation", hypervisor());
  add("container", container());
  const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page_size > 0)
    add("memory_bytes", std::to_string(static_cast<long long>(pages) * page_size));
  return environment;
}

namespace {

constexpr int kBursts = 5;
constexpr Nanoseconds kIdle = milliseconds(20);

Nanoseconds fastest_burst(Session& session, Workload& workload) {
  session.queue().launch(workload);
  session.queue().wait();
  RoundShape shape;
  shape.values = 2;
  shape.conditioning_launches = 1;
  const TimedWork work{session.device(), session.queue(), workload, CacheState::warm};
  RoundRunner runner(work, shape, MeasureOptions(), session.calibration());
  Nanoseconds best = runner.run_held_round(kIdle, Nanoseconds(0)).time();
  for (int i = 1; i < kBursts; ++i)
    best = std::min(best, runner.run_held_round(kIdle, Nanoseconds(0)).time());
  return best;
}

Nanoseconds fastest_burst(Session& session, const Operation& operation) {
  // A CPU takes longer to draw 64 million normal numbers than to copy them.
  const bool any_data = std::holds_alternative<Copy>(operation.parameters()) &&
                        !session.device().describe().capabilities.copies_depend_on_data;
  const auto prepared =
      session.device().prepare(operation, InputData{.kind = any_data ? DataKind::ones : DataKind::normal});
  return fastest_burst(session, *prepared);
}

Operation largest_copy(const DeviceDescription& device) {
  const std::int64_t most = device.large_work.copy.value();
  const std::int64_t bytes = std::min<std::int64_t>(most, device.memory_free.value() / 8) / 4 * 4;
  return Operation(Copy{.bytes = bytes});
}

Operation large_product(const DeviceDescription& device, DataType dtype) {
  const LargeWork& work = device.large_work;
  const std::int64_t size = dtype == work.slow_type ? work.product_in_slow_type : work.product;
  return Operation(Matmul{.m = size, .n = size, .k = size, .dtype = dtype});
}

}  // namespace

Ceilings measure_ceilings(Session& session, std::span<const DataType> types) {
  const DeviceDescription device = session.device().describe();
  Ceilings ceilings;
  const Operation copy = largest_copy(device);
  ceilings.bytes_per_second =
      static_cast<double>(copy.bytes().value()) / to_seconds(fastest_burst(session, copy));
  for (const DataType dtype : types) {
    const Operation product = large_product(device, dtype);
    try {
      const Nanoseconds time = fastest_burst(session, product);
      ceilings.compute.push_back({dtype, product.flops() / to_seconds(time), product.text()});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::missing) throw;
      continue;  // without a ceiling the table shows the rate alone
    }
  }
  return ceilings;
}

namespace {

// What another rank says, of which nothing may be believed.
template <class Number>
Number number_of(const std::string& text, Number least, const char* what) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= least) return number;
  throw FailedError(fmt::format("another rank sent no {}, but '{}'", what, text.substr(0, 40)));
}

// Copies take a whole buffer of each side, and memory is not as free on all.
std::int64_t smallest(const std::vector<std::string>& sizes) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::string& size : sizes)
    least = std::min(least, number_of<std::int64_t>(size, 1, "size of memory"));
  return least;
}

double sum_of_rates(const std::vector<std::string>& rates) {
  double sum = 0.0;
  for (const std::string& rate : rates) sum += number_of(rate, 0.0, "rate of a link");
  return sum;
}

// The time of a copy while another rank copies, too. That begins a few milliseconds before or after this one
// does, so that only the middle half of the copies counts.
Nanoseconds time_beside_another(Session& session, Workload& copy) {
  constexpr int kCopies = 16;
  Queue& queue = session.queue();
  const auto launch = [&](int copies) {
    for (int i = 0; i < copies; ++i) queue.launch(copy);
  };
  launch(kCopies / 2);
  const Mark begin = queue.mark();
  launch(kCopies);
  const Mark end = queue.mark();
  launch(kCopies / 2);
  queue.wait();
  return queue.elapsed(begin, end) / kCopies;
}

}  // namespace

std::vector<LinkRates> measure_links(Session& session, Ranks& ranks) {
  constexpr std::int64_t kMultiple = 32;  // of what a device opens to others
  const std::int64_t most =
      std::get<Copy>(largest_copy(session.device().describe()).parameters()).bytes / kMultiple * kMultiple;
  const std::int64_t bytes = smallest(ranks.exchange(std::to_string(most)));
  std::vector<LinkRates> rates;
  const auto memory = session.device().open_to_peers(ranks, Bytes(bytes));
  for (int turn = 0; turn < ranks.count(); ++turn) {
    for (int peer = 0; turn == ranks.rank() && peer < ranks.count(); ++peer) {
      if (peer == turn) continue;
      const auto rate = [&](PeerCopyBy by) {
        const auto copy = memory->copy_from(peer, by, false);
        return static_cast<double>(bytes) / to_seconds(fastest_burst(session, *copy));
      };
      rates.push_back({.peer = peer,
                       .way = memory->way_to(peer),
                       .by_copy_engine = rate(PeerCopyBy::copy_engine),
                       .by_kernel = rate(PeerCopyBy::kernel)});
    }
    ranks.exchange("links measured");  // the next rank's turn
  }
  // One GPU alone does not fill both ways: its copies to and from another take turns (396 GB/s in sum, and
  // 396 one way, H200s and NV18). So each rank of a pair copies from the other.
  for (int first = 0; first < ranks.count(); ++first) {
    for (int second = first + 1; second < ranks.count(); ++second) {
      for (const PeerCopyBy by : {PeerCopyBy::copy_engine, PeerCopyBy::kernel}) {
        const bool is_one = ranks.rank() == first || ranks.rank() == second;
        const int peer = first + second - ranks.rank();
        double rate = 0.0;
        if (is_one) {
          const auto copy = memory->copy_from(peer, by, true);
          rate = static_cast<double>(bytes / 2) / to_seconds(time_beside_another(session, *copy));
        }
        const double both = sum_of_rates(ranks.exchange(fmt::format("{}", rate)));
        if (!is_one) continue;
        LinkRates& link = *std::ranges::find(rates, static_cast<std::int64_t>(peer), &LinkRates::peer);
        (by == PeerCopyBy::copy_engine ? link.by_copy_engine_both_ways : link.by_kernel_both_ways) = both;
      }
    }
  }
  return rates;
}

namespace {

// Returns the time of one launch after `evictions` evictions. It takes four launches in each of 16 held
// queues: event pairs read up to 1 us more or less in one, in a pattern of four (H200), and seven single
// launches left an error of 15 %.
double time_after_evictions(Session& session, Workload& workload, int evictions) {
  constexpr int kHoldsOfGpu = 16, kLaunchesOfRound = 4;
  // The host's clock has no such pattern, and if other programs share a CPU, each eviction waits 10 ms for
  // its threads.
  const bool has_pattern = session.device().describe().capabilities.marks_on_device;
  const int holds = has_pattern ? kHoldsOfGpu : kHoldsOfGpu / 4;
  std::vector<double> times;
  Queue& queue = session.queue();
  for (int repetition = 0; repetition < holds; ++repetition) {
    std::vector<Mark> marks;
    QueueHold hold(queue);
    hold.begin();
    for (int launch = 0; launch < kLaunchesOfRound; ++launch) {
      for (int i = 0; i < evictions; ++i) queue.set_cache(CacheState::cold, workload);
      marks.push_back(queue.mark());
      queue.launch(workload);
      marks.push_back(queue.mark());
    }
    hold.release();
    queue.wait();
    for (std::size_t i = 0; i < marks.size(); i += 2) {
      const Nanoseconds elapsed = queue.elapsed(marks[i], marks[i + 1]);
      times.push_back((elapsed - session.calibration().events.value).value());
    }
  }
  return statistics::median(times);
}

}  // namespace

CacheProof prove_cold(Session& session) {
  const DeviceDescription device = session.device().describe();
  // The probe lies well inside the cache. This process may have only little of a shared one.
  const std::int64_t most = device.capabilities.owns_last_level_cache ? 8 << 20 : 1 << 20;
  const std::int64_t bytes =
      std::clamp<std::int64_t>(device.last_level_cache.value() / 8 / 4 * 4, 64 << 10, most);
  const auto probe = session.device().prepare(Operation(Copy{.bytes = bytes}), InputData());
  session.queue().launch(*probe);
  constexpr double kMargin = 0.05;
  // If eviction fails, the times are far apart. Noise of a quarter of a microsecond is as large as the margin
  // (4.84 and 5.09 us, cached 3.03, on an H200) but differs the next time, so it tries again. A CPU's cache
  // of 480 MiB takes 0.1 s or more for each of the 80 evictions: only one try is worth a user's wait.
  constexpr int kTries = 3;
  constexpr Nanoseconds kPatience = seconds(1);
  const Nanoseconds start = session.device().host_time();
  CacheProof proof;
  for (int i = 0; i < kTries && !proof.proven; ++i) {
    if (i > 0 && session.device().host_time() - start > kPatience) break;
    proof.cached_read = Nanoseconds(time_after_evictions(session, *probe, 0));
    proof.evicted_read = Nanoseconds(time_after_evictions(session, *probe, 1));
    proof.untouched_read = Nanoseconds(time_after_evictions(session, *probe, 4));
    const double distance = std::abs(proof.evicted_read / proof.untouched_read - 1.0);
    proof.proven = distance < kMargin && proof.evicted_read / proof.cached_read > 1.0 + kMargin;
  }
  return proof;
}

}  // namespace jitterscope
