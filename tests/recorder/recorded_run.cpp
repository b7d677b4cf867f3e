#include "recorder/recorded_run.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/stand_in_cupti.hpp"

namespace jitterscope::recorder {

using capture::LossKind;
using stand_in::Fate;
using stand_in::Truth;
using stand_in::Work;

namespace {

template <class Table>
void read(const std::filesystem::path& folder, ReadTable<Table>& table) {
  const std::filesystem::path path = folder / (std::string(Table::kName) + ".arrows");
  if (!std::filesystem::exists(path)) {
    table.end.is_complete = true;  // nothing was written
    return;
  }
  table.end = capture::read_table(path.string(), static_cast<Table&>(table));
  EXPECT_EQ(table.end.problem, "") << path;
}

RecordedProcess read_process(const std::filesystem::path& folder) {
  RecordedProcess process;
  process.folder = folder.filename().string();
  std::ifstream file(folder / "process.json");
  process.file = nlohmann::json::parse(file);
  read(folder, process.launches);
  read(folder, process.kernels);
  read(folder, process.graphs);
  read(folder, process.copies);
  read(folder, process.calls);
  read(folder, process.operations);
  read(folder, process.operation_launches);
  read(folder, process.operands);
  read(folder, process.overheads);
  read(folder, process.memory);
  read(folder, process.ranges);
  read(folder, process.texts);
  read(folder, process.windows);
  read(folder, process.launch_counts);
  read(folder, process.losses);
  read(folder, process.devices);
  return process;
}

}  // namespace

std::map<std::uint32_t, std::pair<std::string, capture::NameAudit>> RecordedProcess::names() const {
  std::map<std::uint32_t, std::pair<std::string, capture::NameAudit>> names;
  for (std::size_t i = 0; i < launches.id.size(); ++i)
    names[launches.id[i]] = {launches.name[i], static_cast<capture::NameAudit>(launches.audit[i])};
  return names;
}

std::string RecordedProcess::text(std::uint32_t id) const {
  const auto found = std::find(texts.id.begin(), texts.id.end(), id);
  return found == texts.id.end() ? "no text" : texts.text[static_cast<std::size_t>(found - texts.id.begin())];
}

std::uint64_t RecordedProcess::lost(LossKind kind) const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < losses.kind.size(); ++i) {
    if (losses.kind[i] == static_cast<std::uint8_t>(kind)) count += losses.count[i];
    EXPECT_GT(losses.from[i], 0);
    EXPECT_LE(losses.from[i], losses.to[i]) << losses.sentence[i];
  }
  return count;
}

capture::Detail RecordedProcess::detail_at(std::int64_t time) const {
  capture::Detail detail = capture::Detail::off;
  for (std::size_t i = 0; i < windows.from.size() && windows.from[i] <= time; ++i)
    detail = static_cast<capture::Detail>(windows.detail[i]);
  return detail;
}

const RecordedProcess& RecordedRun::only() const {
  EXPECT_EQ(processes.size(), 1u) << outcome.errors;
  static const RecordedProcess kNone;
  return processes.size() == 1 ? processes.front() : kNone;
}

capture::Settings quick_settings() {
  capture::Settings settings;
  settings.detail = capture::DetailChoice::light;
  settings.write_every_ms = 20;
  settings.audit_after_ms = 1'000'000;  // none
  return settings;
}

RecordedRun record(const std::vector<std::string>& commands, const capture::Settings& settings,
                   const std::vector<std::string>& environment) {
  const TemporaryFolder folder;
  const std::string truth_path = (folder.path() / "truth").string();
  const int file = ::open(truth_path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  EXPECT_EQ(::ftruncate(file, sizeof(Truth)), 0);
  const auto* truth =
      static_cast<const Truth*>(::mmap(nullptr, sizeof(Truth), PROT_READ, MAP_SHARED, file, 0));
  ::close(file);
  const std::filesystem::path capture = folder.path() / "capture";
  std::filesystem::create_directory(capture);

  std::vector<std::string> arguments{
      "/usr/bin/env",
      "-u",
      "RANK",
      "-u",
      "LOCAL_RANK",
      "-u",
      "SLURM_PROCID",
      "ASAN_OPTIONS=verify_asan_link_order=0",  // it is behind what is preloaded
      "STAND_IN_TRUTH=" + truth_path,
      std::string("LD_LIBRARY_PATH=") + STAND_INS,
      "STAND_IN_CUDA_DEVICES=1",
      std::string("CUDA_INJECTION64_PATH=") + RECORDER,
      std::string("NVTX_INJECTION64_PATH=") + RECORDER,
      std::string("LD_PRELOAD=") + (settings.calls ? CALLS ":" : "") + RECORDER,
      std::string(capture::kFolderVariable) + "=" + capture.string(),
      std::string(capture::kSettingsVariable) + "=" + to_text(settings)};
  arguments.insert(arguments.end(), environment.begin(), environment.end());
  arguments.push_back(RECORDED_PROGRAM);
  arguments.insert(arguments.end(), commands.begin(), commands.end());
  RecordedRun run;
  // One that hangs fails by itself, with its commands, long before ctest ends the whole program.
  run.outcome = run_subprocess(arguments, {.time_limit = seconds(240)});
  EXPECT_FALSE(run.outcome.timed_out) << testing::PrintToString(commands) << run.outcome.errors;

  std::vector<std::filesystem::path> folders;
  if (std::filesystem::exists(capture)) {
    for (const auto& entry : std::filesystem::directory_iterator(capture)) folders.push_back(entry.path());
  }
  if (settings.calls && !folders.empty()) run.timeline = timeline::read_capture(capture.string());
  for (const std::filesystem::path& process : folders) run.processes.push_back(read_process(process));
  std::sort(run.processes.begin(), run.processes.end(), [](const auto& a, const auto& b) {
    return a.file["begin"].template get<std::int64_t>() < b.file["begin"].template get<std::int64_t>();
  });
  run.works.assign(truth->works, truth->works + truth->count);
  run.marked = truth->marked;
  ::munmap(const_cast<Truth*>(truth), sizeof(Truth));
  return run;
}

std::size_t count(const RecordedRun& run, Fate fate) {
  return static_cast<std::size_t>(
      std::count_if(run.works.begin(), run.works.end(), [&](const Work& work) { return work.fate == fate; }));
}

std::size_t expect_true(const RecordedRun& run) {
  std::map<std::int64_t, const Work*> by_start;
  for (const Work& work : run.works) {
    if (work.start != 0) by_start[work.start] = &work;
  }
  std::size_t kernels = 0;
  for (const RecordedProcess& process : run.processes) {
    const auto names = process.names();
    for (std::size_t i = 0; i < process.kernels.start.size(); ++i) {
      const auto found = by_start.find(process.kernels.start[i]);
      if (found == by_start.end()) {
        ADD_FAILURE() << "kernel " << i << " did not happen, or is there twice";
        continue;
      }
      const Work& work = *found->second;
      const auto launch = names.find(process.kernels.launch[i]);
      if (launch == names.end() || launch->second.first != work.name ||
          process.kernels.duration[i] != work.duration || process.kernels.stream[i] != work.stream ||
          process.kernels.correlation[i] != work.correlation || process.kernels.graph[i] != work.graph ||
          process.kernels.node[i] != work.node) {
        ADD_FAILURE() << "kernel " << i << " is not what happened: " << work.name;
      }
      const auto shape = std::find(process.launches.id.begin(), process.launches.id.end(), launch->first);
      EXPECT_EQ(process.launches.grid_x[static_cast<std::size_t>(shape - process.launches.id.begin())],
                work.grid);
      by_start.erase(found);
      ++kernels;
    }
  }
  return kernels;
}

void expect_whole(const RecordedRun& run) {
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  const std::size_t recorded = expect_true(run);
  std::size_t delivered = 0, without_time = 0;
  for (const Work& work : run.works) {
    if (work.fate != Fate::delivered || (work.graph != 0 && work.node == 0)) continue;  // a graph as a whole
    ++(work.start == 0 ? without_time : delivered);
  }
  EXPECT_EQ(recorded, delivered);
  EXPECT_EQ(count(run, Fate::under_way), 0u);
  std::uint64_t lost_without_time = 0, dropped = 0;
  for (const RecordedProcess& process : run.processes) {
    lost_without_time += process.lost(LossKind::no_time);
    dropped += process.lost(LossKind::dropped);
    EXPECT_TRUE(process.kernels.end.is_complete && process.launches.end.is_complete &&
                process.losses.end.is_complete && process.windows.end.is_complete);
    EXPECT_EQ(process.file["problem"], "");
    ASSERT_FALSE(process.launch_counts.launches.empty());
  }
  EXPECT_EQ(lost_without_time, without_time);
  EXPECT_EQ(dropped, count(run, Fate::dropped));
}

}  // namespace jitterscope::recorder
