#include "commands/methods/record.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "record/json_text.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

MethodReading reading(const char* id, const char* name, CacheState cache, double time, const char* sentence) {
  return {id, name,    cache, {microseconds(time * 0.99), microseconds(time), microseconds(time * 1.01)},
          "", sentence};
}

MethodsRecord sample_methods() {
  MethodsRecord record;
  record.device.id = "cuda:0";
  record.device.name = "NVIDIA H200";
  MethodComparison& comparison = record.comparison;
  comparison.operation = "matmul:m=512,n=512,k=512,dtype=bf16";
  comparison.provider = "cublaslt";
  comparison.repetitions = 3;
  comparison.shortest_idle = milliseconds(20);
  comparison.longest_idle = milliseconds(80);
  comparison.launches = 20;
  comparison.calibration.events = {microseconds(2.91), microseconds(0.05), Nanoseconds(32)};
  comparison.calibration.graph = {microseconds(0.1), microseconds(0.02), Nanoseconds(32)};
  comparison.calibration.method = "against CUPTI";
  comparison.first_call = milliseconds(4);
  comparison.launch_cost = microseconds(3.1);
  comparison.clock = megahertz(1716);
  comparison.reference = "graph_slope";
  comparison.readings = {
      reading("wall_with_wait", "wall time", CacheState::warm, 8.3, "adds 5.0 µs"),
      reading("cold", "cache flushed clean", CacheState::cold, 4.2, "another condition"),
      reading("graph_slope", "slope", CacheState::warm, 3.3, "the reference"),
  };
  comparison.readings.push_back(
      {"cupti", "CUPTI kernel times", CacheState::warm, {}, "libcupti was not found", ""});
  return record;
}

int validate_methods(const std::string& text) {
  const std::string path = testing::TempDir() + "methods_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << text;
  const int status = std::system(("'" JITTERSCOPE_VALIDATE_JSON "' '" + path + "'").c_str());
  ::unlink(path.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// clang-format off
TEST(MethodsTable, RowsAndSentences) {
  EXPECT_EQ(methods_table(sample_methods(), 120), R"(**matmul:m=512,n=512,k=512,dtype=bf16** by every method on NVIDIA H200 (cuda:0), cublaslt, clock 1716 MHz.
Conditions: 3 repetitions, methods in random order, a random idle of 20–80 ms before each; n = 20 launches; data normal;
caches warm unless a row says otherwise.
Constants: events 2.91 ± 0.05 µs, slope 100 ± 20 ns (against CUPTI). One launch costs the host 3.10 µs.

|   # | method              |     time |   against reference | spread |
| --: | ------------------- | -------: | ------------------: | -----: |
|   1 | wall time           |  8.30 µs | +5.0 µs, 2.52 times |    2 % |
|   2 | cache flushed clean | 4.200 µs |                cold |    2 % |
|   3 | slope               | 3.300 µs |           reference |    2 % |
|   4 | CUPTI kernel times  |        – |                   – |      – |

time: median over the repetitions; spread: largest less smallest, over the median.

1. wall time: adds 5.0 µs.
2. cache flushed clean: another condition.
3. slope: the reference.
4. CUPTI kernel times: absent: libcupti was not found.
)");
}
// clang-format on

TEST(MethodsTable, AFailureAndAnInterruptionAreSaid) {
  MethodsRecord record = sample_methods();
  record.comparison.readings[0].absent = "the launch failed";
  record.comparison.interrupted = true;
  EXPECT_THAT(methods_table(record, 120),
              HasSubstr("1. wall time: adds 5.0 µs; then it failed: the launch failed.\n"));
  EXPECT_THAT(methods_table(record, 120), HasSubstr("Interrupted: "));
}

TEST(MethodsTable, OneRepetitionHasNoSpread) {
  MethodsRecord record = sample_methods();
  for (MethodReading& reading : record.comparison.readings)
    reading.times.resize(std::min<std::size_t>(1, reading.times.size()));
  EXPECT_THAT(methods_table(record, 120), Not(HasSubstr("spread |")));
}

TEST(MethodsJson, IsValidAndHoldsTheTimes) {
  const std::string text = write_record(sample_methods());
  EXPECT_EQ(validate_methods(text), 0);
  const Json document = Json::parse(text);
  const Json& wall = document.at("methods").at(0);
  EXPECT_DOUBLE_EQ(wall.at("median_seconds"), 8.3e-6);
  EXPECT_DOUBLE_EQ(wall.at("distance_seconds"), 5e-6);
  EXPECT_EQ(wall.at("time_seconds").size(), 3u);
  EXPECT_FALSE(document.at("methods").at(1).contains("distance_seconds"));
  EXPECT_EQ(document.at("methods").at(3).at("absent"), "libcupti was not found");
}

TEST(MethodsJson, TheSchemaRefusesWhatIsWrong) {
  Json document = Json::parse(write_record(sample_methods()));
  document["methods"][0].erase("sentence");
  EXPECT_EQ(validate_methods(json_text(document)), 1);
  document = Json::parse(write_record(sample_methods()));
  document["methods"][3]["id"] = "stopwatch";
  EXPECT_EQ(validate_methods(json_text(document)), 1);
}

}  // namespace
}  // namespace jitterscope
