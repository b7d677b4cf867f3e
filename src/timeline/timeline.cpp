#include "timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <unordered_map>

#include "capture/capture_info.hpp"
#include "capture/format/arrow_stream.hpp"
#include "capture/sampler.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::timeline {
namespace {

namespace fs = std::filesystem;

template <class Value>
void permute(std::vector<Value>& values, const std::vector<std::uint32_t>& order) {
  if (values.empty()) return;
  std::vector<Value> sorted(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
  values.swap(sorted);
}

// Reads the tables of one process's folder.
class ProcessReader {
 public:
  explicit ProcessReader(fs::path folder) : folder_(std::move(folder)) {}

  Process read() {
    read_description();
    if (!process_.problem.empty()) return std::move(process_);
    const auto texts = table<capture::Texts>();
    for (std::size_t i = 0; i < texts.id.size(); ++i) {
      if (texts.id[i] > texts.id.size()) continue;
      process_.texts.resize(std::max<std::size_t>(process_.texts.size(), texts.id[i] + 1));
      process_.texts[texts.id[i]] = texts.text[i];
    }
    read_names();
    read_kernels();
    read_copies();
    read_graphs();
    for (auto& [device, work] : devices_) {
      sort_by_begin(work);
      process_.devices.push_back(std::move(work));
    }
    process_.calls = table<capture::Calls>();
    process_.operations = table<capture::Operations>();
    process_.operation_launches = table<capture::OperationLaunches>();
    process_.operands = table<capture::Operands>();
    process_.overheads = table<capture::Overheads>();
    process_.memory = table<capture::Memory>();
    process_.launch_counts = table<capture::LaunchCounts>();
    read_rest();
    return std::move(process_);
  }

 private:
  template <class Table, class Take>
  void for_each_batch(Take&& take) {
    const fs::path path = folder_ / (std::string(Table::kName) + ".arrows");
    if (!fs::exists(path)) return;
    mended_times_ = 0;
    capture::StreamReader reader(path.string());
    while (reader.next()) take(reader);
    const capture::StreamEnd& end = reader.end();
    if (!end.is_complete) process_.is_complete = false;
    if (!end.problem.empty()) {
      process_.losses.push_back(
          {{}, capture::LossKind::disk, 0, fmt::format("{}.arrows: {}", Table::kName, end.problem)});
    }
    if (mended_times_ > 0) {
      process_.losses.push_back(
          {{},
           capture::LossKind::no_time,
           mended_times_,
           fmt::format("{}.arrows: times that are negative or beyond the year 2042", Table::kName)});
    }
  }
  // Sets times that cannot be to the nearest that can. A table has no other signed columns than times.
  template <class Table>
  void append(const capture::StreamReader& batch, Table& rows) {
    capture::append_batch(batch, rows);
    capture::describe(rows, [&]<class Value>(const char*, std::vector<Value>& column) {
      if constexpr (std::is_same_v<Value, Time>) {
        for (std::size_t i = column.size() - batch.rows(); i < column.size(); ++i) {
          const Time possible = std::clamp<Time>(column[i], 0, kLatest);
          if (possible != column[i]) ++mended_times_;
          column[i] = possible;
        }
      }
    });
  }
  template <class Table>
  Table table() {
    Table rows;
    for_each_batch<Table>([&](const capture::StreamReader& batch) { append(batch, rows); });
    return rows;
  }

  void read_description() {
    try {
      const capture::ProcessInfo info = capture::read_process_info(folder_);
      process_.label = fmt::format("pid {}", info.pid);
      for (const std::string& word : info.command) process_.label += ' ' + word;
      if (info.rank) process_.rank = static_cast<std::uint32_t>(*info.rank);
      process_.problem = info.problem;
    } catch (const UsageError&) {
      process_.label = folder_.filename().string();
      process_.losses.push_back(
          {{},
           capture::LossKind::disk,
           0,
           "its process.json is not whole: the disk was full, or the process was ended as it began"});
    }
  }

  void read_names() {
    const auto launches = table<capture::Launches>();
    for (std::size_t i = 0; i < launches.id.size(); ++i) {
      if (launches.id[i] > launches.id.size())
        continue;  // ids count up from 0: a damaged one would take all memory
      process_.names.resize(std::max<std::size_t>(process_.names.size(), launches.id[i] + 1));
      WorkName& name = process_.names[launches.id[i]];
      name.name = launches.name[i];
      name.grid[0] = launches.grid_x[i];
      name.grid[1] = launches.grid_y[i];
      name.grid[2] = launches.grid_z[i];
      name.block[0] = launches.block_x[i];
      name.block[1] = launches.block_y[i];
      name.block[2] = launches.block_z[i];
      name.audit = static_cast<capture::NameAudit>(std::min<std::uint8_t>(launches.audit[i], 2));
    }
    kernels_ = process_.names.size();
  }

  void read_kernels() {
    // There may be millions: one batch is held at a time.
    for_each_batch<capture::Kernels>([&](const capture::StreamReader& batch) {
      capture::Kernels kernels;
      append(batch, kernels);
      for (std::size_t i = 0; i < kernels.start.size(); ++i) {
        if (kernels.launch[i] >= kernels_) {
          ++unnamed_;
          continue;
        }
        add(kernels.device[i], kernels.start[i], kernels.duration[i], kernels.launch[i], kernels.stream[i],
            kernels.correlation[i], 0);
      }
    });
    if (unnamed_ > 0) {
      process_.losses.push_back(
          {{}, capture::LossKind::disk, unnamed_, "kernels whose names were not written any more"});
    }
  }

  void read_copies() {
    const auto copies = table<capture::Copies>();
    std::map<std::pair<std::uint8_t, std::uint8_t>, std::uint32_t> names;
    for (std::size_t i = 0; i < copies.start.size(); ++i) {
      const auto [known, is_new] = names.try_emplace({copies.from[i], copies.to[i]}, process_.names.size());
      if (is_new) {
        const auto kind_of = [](std::uint8_t kind) {
          return static_cast<capture::MemoryKind>(std::min<std::uint8_t>(kind, 5));
        };
        WorkName name;
        name.from = kind_of(copies.from[i]);
        name.to = kind_of(copies.to[i]);
        name.kind = name.from == capture::MemoryKind::none ? WorkKind::set : WorkKind::copy;
        process_.names.push_back(name);
      }
      add(copies.device[i], copies.start[i], copies.duration[i], known->second, copies.stream[i],
          copies.correlation[i], copies.bytes[i]);
    }
  }

  void read_graphs() {
    const auto graphs = table<capture::GraphLaunches>();
    std::unordered_map<std::uint32_t, std::uint32_t> names;
    for (std::size_t i = 0; i < graphs.start.size(); ++i) {
      const auto [known, is_new] = names.try_emplace(graphs.graph[i], process_.names.size());
      if (is_new) {
        WorkName name;
        name.kind = WorkKind::graph;
        name.name = fmt::format("graph {}", graphs.graph[i]);
        process_.names.push_back(name);
      }
      add(graphs.device[i], graphs.start[i], graphs.duration[i], known->second, graphs.stream[i],
          graphs.correlation[i], 0);
    }
  }

  void add(std::uint32_t device, Time start, Time duration, std::uint32_t what, std::uint32_t stream,
           std::uint32_t correlation, std::uint64_t bytes) {
    if (last_device_ == nullptr || last_device_->device != device) {
      last_device_ = &devices_[device];
      last_device_->device = device;
    }
    DeviceWork& work = *last_device_;
    work.begin.push_back(start);
    work.end.push_back(start + duration);
    work.what.push_back(what);
    work.stream.push_back(stream);
    work.correlation.push_back(correlation);
    if (bytes > 0) work.bytes.resize(work.begin.size());
    if (!work.bytes.empty()) work.bytes.resize(work.begin.size());
    if (bytes > 0) work.bytes.back() = bytes;
  }

  void read_rest() {
    const auto devices = table<capture::Devices>();
    for (std::size_t i = 0; i < devices.device.size(); ++i) {
      process_.device_names.push_back({devices.device[i], devices.uuid[i], devices.name[i]});
    }
    const auto ranges = table<capture::Ranges>();
    for (std::size_t i = 0; i < ranges.start.size(); ++i) {
      if (ranges.text[i] >= process_.texts.size()) continue;
      process_.ranges.push_back(
          {process_.texts[ranges.text[i]], {ranges.start[i], ranges.start[i] + ranges.duration[i]}});
    }
    constexpr std::uint64_t kMostLost = std::uint64_t{1} << 40;  // so that all together have a sum
    const auto losses = table<capture::Losses>();
    for (std::size_t i = 0; i < losses.from.size(); ++i) {
      process_.losses.push_back({{losses.from[i], losses.to[i]},
                                 static_cast<capture::LossKind>(std::min<std::uint8_t>(losses.kind[i], 5)),
                                 std::min(losses.count[i], kMostLost),
                                 losses.sentence[i]});
    }
    read_windows();
  }

  // A window ends where the next begins; the last one with the last thing that is known.
  void read_windows() {
    const auto windows = table<capture::Windows>();
    Time end = process_.launch_counts.time.empty() ? 0 : process_.launch_counts.time.back();
    for (const DeviceWork& work : process_.devices) end = std::max(end, work.span().end);
    for (std::size_t i = 0; i < windows.from.size(); ++i) {
      const Time until = i + 1 < windows.from.size() ? windows.from[i + 1] : std::max(end, windows.from[i]);
      process_.windows.push_back({{windows.from[i], until},
                                  static_cast<capture::Detail>(std::min<std::uint8_t>(windows.detail[i], 2)),
                                  windows.between_ranges[i] != 0,
                                  windows.operations[i] != 0});
    }
  }

  fs::path folder_;
  Process process_;
  std::map<std::uint32_t, DeviceWork> devices_;
  DeviceWork* last_device_ = nullptr;  // one is added to again and again
  std::size_t kernels_ = 0;
  std::uint64_t unnamed_ = 0, mended_times_ = 0;
};

// How a process ended whose files lack their end: known of the program and of those that outlived their
// parents, which have ended under the eyes of `jitterscope capture`. `goes_on`: as another program, by exec.
std::string how_it_ended(std::uint32_t pid, bool goes_on, const std::optional<capture::CaptureInfo>& info) {
  constexpr const char* kMissing = "what it did in its last second is missing";
  if (goes_on) return fmt::format("the process became another program (exec): {}", kMissing);
  if (!info || !info->end)
    return fmt::format("the process has not ended yet, or was ended together with the capture: {}", kMissing);
  const auto ended = std::find_if(info->ended.begin(), info->ended.end(), [&](const EndedProcess& each) {
    return each.pid == static_cast<pid_t>(pid);
  });
  if (ended == info->ended.end()) {
    return fmt::format("the process {}: {}",
                       info->processes_left ? "was ended, or goes on" : "was ended (killed, or by _exit)",
                       kMissing);
  }
  if (ended->signal == 0)
    return fmt::format(
        "the process ended with {} before its last records were written (by _exit, for one): {}",
        ended->exit_code, kMissing);
  return fmt::format("the process was ended by signal {} ({}): {}", ended->signal, ::strsignal(ended->signal),
                     kMissing);
}

}  // namespace

Span DeviceWork::span() const {
  if (begin.empty()) return {};
  return {begin.front(), *std::max_element(end.begin(), end.end())};
}

PlacesByName::PlacesByName(const DeviceWork& work, std::size_t names)
    : first_(names + 1), places_(work.size()) {
  for (const std::uint32_t what : work.what) ++first_[what + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t i = 0; i < work.size(); ++i) places_[next[work.what[i]]++] = static_cast<std::uint32_t>(i);
}

std::size_t Process::work() const {
  return std::accumulate(devices.begin(), devices.end(), std::size_t{0},
                         [](std::size_t sum, const DeviceWork& work) { return sum + work.size(); });
}

void sort_by_begin(DeviceWork& work) {
  if (std::is_sorted(work.begin.begin(), work.begin.end())) return;
  std::vector<std::uint32_t> order(work.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return work.begin[a] < work.begin[b]; });
  permute(work.begin, order);
  permute(work.end, order);
  permute(work.what, order);
  permute(work.stream, order);
  permute(work.correlation, order);
  permute(work.bytes, order);
}

Timeline read_capture(const std::string& folder) {
  Timeline timeline;
  timeline.source = folder;
  const std::vector<fs::path> folders = capture::process_folders(folder);
  if (!folders.empty() || fs::exists(fs::path(folder) / "capture.json")) {
    try {
      timeline.info = capture::read_capture_info(folder);
    } catch (const capture::OtherFormat&) {
      throw;
    } catch (const UsageError& problem) {
      timeline.problems.emplace_back(problem.what());
    }
  } else {
    throw UsageError(fmt::format(
        "'{}' is no capture: it has no capture.json; `jitterscope capture -- COMMAND` makes one", folder));
  }
  if (timeline.info) {
    for (const capture::CapturedGpu& gpu : timeline.info->gpus) timeline.gpus.push_back(gpu.uuid);
  }
  for (std::size_t i = 0; i < folders.size(); ++i) {
    Process& process = timeline.processes.emplace_back(ProcessReader(folders[i]).read());
    if (process.is_complete) continue;
    const std::uint32_t pid = capture::process_of(folders[i]);
    const bool goes_on = i + 1 < folders.size() && capture::process_of(folders[i + 1]) == pid;
    const bool was_full = !process.losses.empty() && process.losses.back().kind == capture::LossKind::disk;
    process.losses.push_back({{},
                              capture::LossKind::not_recorded,
                              0,
                              how_it_ended(pid, goes_on, timeline.info) +
                                  (was_full ? ", and what the disk has not taken since its last loss" : "")});
  }
  const fs::path sensors = fs::path(folder) / "sensors.arrows";
  if (fs::exists(sensors)) {
    const capture::StreamEnd end = capture::read_table(sensors.string(), timeline.sensors);
    if (!end.problem.empty()) timeline.problems.push_back("sensors.arrows: " + end.problem);
  }
  return timeline;
}

}  // namespace jitterscope::timeline
