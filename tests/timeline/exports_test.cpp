// What is exported reads back as it was.
#include "timeline/exports.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "jitterscope/error.hpp"
#include "timeline/analysis.hpp"
#include "timeline/made_timeline.hpp"

namespace jitterscope::timeline {
namespace {

using testing::HasSubstr;

class Exports : public testing::Test {
 protected:
  Exports() { std::filesystem::create_directory(folder_); }
  ~Exports() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const char* name) const { return folder_ / name; }
  std::string text(const char* name) const {
    std::ostringstream stream;
    stream << std::ifstream(path(name)).rdbuf();
    return stream.str();
  }
  static Timeline made() {
    Timeline timeline = test::make_timeline({.steps = 50, .copy_slows = 0.0, .records_calls = true});
    const Span all = timeline.processes[0].devices[0].span();
    timeline.processes[0].ranges.push_back({"a \"step\"", {all.begin, all.begin + 1000}});
    return timeline;
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("jitterscope-exports-" + std::to_string(::getpid()));
};

// The same work, whatever number a name has; times from the first, since a trace of Chrome's has an origin of
// its own.
void expect_same_work(const Timeline& a, const Timeline& b) {
  ASSERT_EQ(a.processes.size(), b.processes.size());
  const DeviceWork &x = a.processes[0].devices.at(0), &y = b.processes[0].devices.at(0);
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(x.begin[i] - x.begin[0], y.begin[i] - y.begin[0]) << i;
    ASSERT_EQ(x.end[i] - x.begin[i], y.end[i] - y.begin[i]) << i;
    ASSERT_EQ(full_name(a.processes[0].names[x.what[i]]), full_name(b.processes[0].names[y.what[i]])) << i;
    ASSERT_EQ(a.processes[0].names[x.what[i]].blocks(), b.processes[0].names[y.what[i]].blocks()) << i;
    ASSERT_EQ(x.stream[i], y.stream[i]);
    ASSERT_EQ(x.correlation[i], y.correlation[i]);
    ASSERT_EQ(x.bytes[i], y.bytes[i]);
  }
  EXPECT_EQ(a.processes[0].calls.start.size(), b.processes[0].calls.start.size());
  EXPECT_EQ(a.processes[0].calls.kind, b.processes[0].calls.kind);
  ASSERT_EQ(b.processes[0].ranges.size(), 1u);
  EXPECT_EQ(b.processes[0].ranges[0].name, "a \"step\"");
  ASSERT_FALSE(b.processes[0].device_names.empty());
  EXPECT_EQ(b.processes[0].device_names[0].name, "NVIDIA H200");
}

TEST_F(Exports, OfADatabaseOfNsightSystemsReadBack) {
  const Timeline timeline = made();
  export_sqlite(timeline, path("a.sqlite"));
  expect_same_work(timeline, read_timeline(path("a.sqlite")));
}

TEST_F(Exports, OfATraceReadBack) {
  const Timeline timeline = made();
  export_chrome(timeline, path("a.json"));
  expect_same_work(timeline, read_timeline(path("a.json")));
}

TEST_F(Exports, OfATraceCutInHalfReadBackAsFarAsItIsWhole) {
  export_chrome(made(), path("a.json"));
  const std::string whole = text("a.json");
  std::ofstream(path("b.json")) << whole.substr(0, whole.size() / 2);
  const Timeline half = read_timeline(path("b.json"));
  EXPECT_GT(half.processes[0].devices.at(0).size(), 100u);
  ASSERT_EQ(half.processes[0].losses.size(), 1u);
  EXPECT_THAT(half.processes[0].losses[0].sentence, HasSubstr("the file ends early"));
}

TEST_F(Exports, OfADatabaseCutAnywhereAreRefused) {
  export_sqlite(made(), path("a.sqlite"));
  const std::string whole = text("a.sqlite");
  for (const double part : {0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999}) {
    std::ofstream(path("b.sqlite"), std::ios::binary)
        << whole.substr(0, static_cast<std::size_t>(part * static_cast<double>(whole.size())));
    try {
      read_timeline(path("b.sqlite"));
      ADD_FAILURE() << part;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("the file ends early, or is damaged")) << part;
    }
  }
}

TEST_F(Exports, OfRowsHaveAHeadingAndARowEach) {
  const Timeline timeline = made();
  export_csv(timeline, path("a.csv"));
  const std::string rows = text("a.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::count(rows.begin(), rows.end(), '\n')),
            1 + timeline.processes[0].work());
  EXPECT_THAT(rows, HasSubstr("pid 1 python3 train.py,0,7,"));
  EXPECT_THAT(rows, HasSubstr(",kernel,kernel_0,132x1x1,256x1x1,0\n"));
}

TEST_F(Exports, ForPerfettoHaveTracksAndNames) {
  export_perfetto(made(), path("a.perfetto"));
  const std::string bytes = text("a.perfetto");
  EXPECT_THAT(bytes, HasSubstr("GPU 0 stream 5"));
  EXPECT_THAT(bytes, HasSubstr("kernel_0"));
  EXPECT_THAT(bytes, HasSubstr("power, W"));
  EXPECT_EQ(bytes[0], '\x0a') << "a packet of a trace";
}

TEST_F(Exports, DoNotOverwrite) {
  std::ofstream(path("a.csv")) << "precious";
  for (const auto& write : {export_csv, export_chrome, export_perfetto, export_sqlite}) {
    EXPECT_THROW(write(made(), path("a.csv")), FailedError);
  }
  EXPECT_EQ(text("a.csv"), "precious");
  EXPECT_THROW(export_csv(made(), "/nonexistent/a.csv"), FailedError);
}

TEST_F(Exports, ReadNothingElse) {
  std::ofstream(path("a.json")) << "{\"hello\": 1}";
  EXPECT_THROW(read_timeline(path("a.json")), UsageError);
  std::ofstream(path("a.sqlite")) << std::string("SQLite format 3\0", 16) << "damaged";
  EXPECT_THROW(read_timeline(path("a.sqlite")), UsageError);
  EXPECT_THROW(read_timeline(path("none")), UsageError);
  EXPECT_THROW(read_timeline(path("")), UsageError);
}

}  // namespace
}  // namespace jitterscope::timeline
