// A program that was recorded, what really happened in it, and what the recorder has left of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "capture/format/arrow_stream.hpp"
#include "capture/format/settings.hpp"
#include "support/stand_in_cupti.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::recorder {

/// A table and how its file ended.
template <class Table>
struct ReadTable : Table {
  capture::StreamEnd end;
};

struct RecordedProcess {
  std::string folder;  ///< its name
  nlohmann::json file;
  ReadTable<capture::Launches> launches;
  ReadTable<capture::Kernels> kernels;
  ReadTable<capture::GraphLaunches> graphs;
  ReadTable<capture::Copies> copies;
  ReadTable<capture::Calls> calls;
  ReadTable<capture::Operations> operations;
  ReadTable<capture::OperationLaunches> operation_launches;
  ReadTable<capture::Operands> operands;
  ReadTable<capture::Overheads> overheads;
  ReadTable<capture::Memory> memory;
  ReadTable<capture::Ranges> ranges;
  ReadTable<capture::Texts> texts;
  ReadTable<capture::Windows> windows;
  ReadTable<capture::LaunchCounts> launch_counts;
  ReadTable<capture::Losses> losses;
  ReadTable<capture::Devices> devices;

  /// Names of launches and their audits: of each the last row.
  std::map<std::uint32_t, std::pair<std::string, capture::NameAudit>> names() const;
  std::string text(std::uint32_t id) const;
  std::uint64_t lost(capture::LossKind kind) const;
  /// What was recorded at a time.
  capture::Detail detail_at(std::int64_t time) const;
};

struct RecordedRun {
  SubprocessOutcome outcome;
  std::vector<RecordedProcess> processes;  ///< in the order in which they began
  std::vector<stand_in::Work> works;
  timeline::Timeline timeline;  ///< as `capture show` reads it, where calls were recorded
  std::size_t marked = 0;       ///< how many of `works` there were at the program's mark

  const RecordedProcess& only() const;
};

/// False under the address sanitizer: GCC 12's holds no lock of its allocator over a fork, so that a child
/// may wait for ever for one that another thread, the recorder's writer, had. The C library's malloc does.
#ifdef JITTERSCOPE_TESTS_UNDER_ADDRESS_SANITIZER
constexpr bool kForksAreSafe = false;
#else
constexpr bool kForksAreSafe = true;
#endif

/// Settings with short times, so that a test need not wait.
capture::Settings quick_settings();

/// Runs the program with these commands (tests/support/recorded_program.cpp).
RecordedRun record(const std::vector<std::string>& commands,
                   const capture::Settings& settings = quick_settings(),
                   const std::vector<std::string>& environment = {});

/// Expects that the program ended by itself, that all streams are complete, and all of what happened to be
/// recorded as it was, or counted as lost.
void expect_whole(const RecordedRun& run);
/// The same of what stands in the files: each kernel is one that happened, once, with its name and times.
/// Returns how many there are.
std::size_t expect_true(const RecordedRun& run);
std::size_t count(const RecordedRun& run, stand_in::Fate fate);

}  // namespace jitterscope::recorder
