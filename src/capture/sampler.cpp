#include "capture/sampler.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope::capture {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenSamples(20);
constexpr int kSamplesASecond = 50;
// A recorder's own clock begins a moment before its folder is seen here.
constexpr Nanoseconds kMargin = seconds(2);

std::int64_t now_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Returns the parent's number; 0 if there is no such process.
std::uint32_t parent_of(std::uint32_t pid) {
  const std::string stat = file_text(fmt::format("/proc/{}/stat", pid)).text;
  // "4711 (its name) S 4700 …": the name may hold anything.
  const std::size_t behind_name = stat.rfind(") ");
  if (behind_name == std::string::npos || behind_name + 4 > stat.size()) return 0;
  std::uint32_t parent = 0;
  std::from_chars(stat.data() + behind_name + 4, stat.data() + stat.size(), parent);
  return parent;
}

bool exists(std::uint32_t pid) { return ::access(fmt::format("/proc/{}", pid).c_str(), F_OK) == 0; }

bool descends_from_here(std::uint32_t pid) {
  const auto here = static_cast<std::uint32_t>(::getpid());
  // A process that is begun anew under a seen number could make a circle.
  for (int generation = 0; pid > 1 && generation < 1000; ++generation) {
    if (pid == here) return true;
    pid = parent_of(pid);
  }
  return false;
}

template <class Number>
Number number_or_0(double value) {
  return std::isfinite(value) && value > 0 ? static_cast<Number>(std::llround(value)) : Number{0};
}

std::uint64_t nanoseconds_or_0(const std::optional<Nanoseconds>& time) {
  return time ? number_or_0<std::uint64_t>(time->value()) : 0;
}

}  // namespace

std::vector<fs::path> process_folders(const fs::path& capture) {
  std::vector<fs::path> folders;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(capture, problem)) {
    std::error_code ignored;
    if (entry.is_directory(ignored) && process_of(entry.path()) != 0) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

bool is_capture(const fs::path& folder) {
  return fs::exists(folder / "capture.json") || !process_folders(folder).empty();
}

std::uint32_t process_of(const fs::path& process_folder) {
  const std::string name = process_folder.filename().string();
  std::uint32_t pid = 0;
  if (name.starts_with('p')) std::from_chars(name.data() + 1, name.data() + name.size(), pid);
  return pid;
}

std::uint32_t count_others(std::span<const cuda::GpuProcess> listed, const ProcessView& view) {
  std::size_t others = 0, hidden = 0;
  for (const cuda::GpuProcess& process : listed) {
    if (!view.is_visible(process.pid)) {
      ++hidden;
    } else if (!view.is_ours(process.pid)) {
      ++others;
    }
  }
  const auto is_not_listed = [&](std::uint32_t pid) {
    return std::ranges::find(listed, pid, &cuda::GpuProcess::pid) == listed.end();
  };
  const auto ours_among_hidden =
      static_cast<std::size_t>(std::ranges::count_if(view.captured, is_not_listed));
  return static_cast<std::uint32_t>(others + hidden - std::min(hidden, ours_among_hidden));
}

bool is_recording(const std::map<fs::path, Nanoseconds>& first_seen, Nanoseconds now,
                  const Settings& settings) {
  // When a range begins is the recorder's to know.
  if (settings.duration_ms == 0 || !settings.ranges.empty() || first_seen.empty()) return true;
  const Nanoseconds recorded =
      milliseconds(static_cast<double>(settings.start_after_ms + settings.duration_ms)) + kMargin;
  return std::ranges::any_of(first_seen,
                             [&](const auto& process) { return now - process.second < recorded; });
}

template <class Table>
void Sampler::File<Table>::write() {
  const std::size_t rows = writer.size();
  const int failed = writer.write();
  if (failed == 0) return;
  lost += rows;
  problem = failed;
}

template <class Table>
void Sampler::File<Table>::finish(std::vector<std::string>& sentences) {
  write();
  if (const int failed = writer.finish(); failed != 0) problem = failed;
  if (problem == 0) return;
  sentences.push_back(fmt::format("{}.arrows lacks {}: {}", Table::kName,
                                  lost == 0 ? "its end" : counted(static_cast<std::int64_t>(lost), "row"),
                                  std::strerror(problem)));
}

Sampler::Sampler(fs::path capture, std::vector<cuda::NvmlDevice> gpus, const Settings& settings)
    : capture_(std::move(capture)),
      settings_(settings),
      sensors_{TableWriter<Sensors>(capture_.string())},
      clocks_{TableWriter<Clocks>(capture_.string())} {
  for (cuda::NvmlDevice& gpu : gpus) gpus_.push_back({std::move(gpu)});
  thread_ = std::thread([this] { run(); });
}

Sampler::~Sampler() {
  if (thread_.joinable()) finish();
}

void Sampler::run() {
  auto next = std::chrono::steady_clock::now();
  for (int sample = 0;; ++sample) {
    if (sample % kSamplesASecond == 0) {
      if (sample > 0) write();
      look_at_processes();
      take_clocks();
    }
    if (is_recording_) take_sensors();
    // Samples that could not be taken in time are left out.
    next = std::max(next + kBetweenSamples, std::chrono::steady_clock::now());
    std::unique_lock lock(mutex_);
    if (end_asked_for_.wait_until(lock, next, [this] { return ends_; })) break;
  }
  take_clocks();
  if (is_recording_) take_sensors();
}

std::vector<std::string> Sampler::finish() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  end_asked_for_.notify_all();
  thread_.join();
  std::vector<std::string> sentences;
  sensors_.finish(sentences);
  clocks_.finish(sentences);
  return sentences;
}

void Sampler::write() {
  sensors_.write();
  clocks_.write();
}

void Sampler::take_clocks() {
  // The other clock's reading lies between these two, most likely in the middle.
  const std::int64_t before = now_of(CLOCK_MONOTONIC_RAW);
  clocks_.writer.rows.realtime.push_back(now_of(CLOCK_REALTIME));
  clocks_.writer.rows.monotonic_raw.push_back(before + (now_of(CLOCK_MONOTONIC_RAW) - before) / 2);
}

void Sampler::take_sensors() {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const std::int64_t time = now_of(CLOCK_REALTIME);
    const Nanoseconds begin = host_time_now();
    const SensorReading reading = gpus_[i].device.read_sensors(begin);
    const auto reasons = gpus_[i].device.clock_reason_bits();
    const Nanoseconds end = host_time_now();
    const auto megahertz_of = [](const std::optional<Hertz>& clock) {
      return clock ? number_or_0<std::uint32_t>(clock->value() * 1e-6) : 0;
    };
    Sensors& rows = sensors_.writer.rows;
    rows.time.push_back(time);
    rows.gpu.push_back(static_cast<std::uint8_t>(i));
    rows.clock_mhz.push_back(megahertz_of(reading.sm_clock));
    rows.memory_clock_mhz.push_back(megahertz_of(reading.memory_clock));
    rows.power_mw.push_back(reading.power ? number_or_0<std::uint32_t>(reading.power->value() * 1e3) : 0);
    rows.temperature.push_back(reading.temperature ? number_or_0<std::uint32_t>(reading.temperature->value())
                                                   : 0);
    rows.energy_mj.push_back(reading.energy ? number_or_0<std::uint64_t>(reading.energy->value() * 1e3) : 0);
    rows.throttled_power.push_back(nanoseconds_or_0(reading.throttled_power));
    rows.throttled_thermal.push_back(nanoseconds_or_0(reading.throttled_thermal));
    rows.throttled_brake.push_back(nanoseconds_or_0(reading.throttled_brake));
    rows.reasons.push_back(reasons.value_or(0));
    rows.read_ns.push_back(number_or_0<std::uint32_t>((end - begin).value()));
    rows.other_processes.push_back(gpus_[i].other_processes);
  }
}

void Sampler::look_at_processes() {
  const std::vector<fs::path> folders = process_folders(capture_);
  const Nanoseconds now = host_time_now();
  ProcessView view{exists, descends_from_here, {}};
  for (const fs::path& folder : folders) {
    first_seen_.try_emplace(folder, now);
    if (const std::uint32_t pid = process_of(folder); exists(pid)) view.captured.push_back(pid);
  }
  is_recording_ = is_recording(first_seen_, now, settings_);
  for (Gpu& gpu : gpus_) {
    const auto processes = gpu.device.processes();
    gpu.other_processes = processes ? count_others(*processes, view) : 0;
  }
}

}  // namespace jitterscope::capture
