#include "commands/doctor/record.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using Status = Check::Status;

DoctorReport with_sections(DoctorReport report) {
  MachineChecks machine;
  machine.devices = {{"cpu", "A CPU", ""}, {"cuda:0", "A GPU", ""}, {"cuda:1", "", "it fell off the bus"}};
  machine.device_checks = {{"cudnn", Status::missing, "said by the libraries", "not here"},
                           {"other processes", Status::limits, "others use this GPU: 12 train", "end them"}};
  machine.host_checks = {{"cpu quota", Status::good, "no control group limits the CPU time", ""}};
  report.sections = doctor_sections(report, machine);
  return report;
}

DoctorReport sample_report() {
  DoctorReport report;
  report.environment.host = {{"host_name", "node7"}, {"kernel", "Linux 6.1.0 x86_64"}};
  report.device.id = "cuda:0";
  report.libraries = {{"onednn", "3.5.0", "/lib/libdnnl.so.3", ""},
                      {"cudnn", "", "", "libcudnn.so.9 was not found"}};
  return report;
}

NoiseFloor sample_floor() {
  NoiseFloor floor;
  floor.calibration.events = {microseconds(2.91), microseconds(0.03), Nanoseconds(32)};
  floor.calibration.graph = {microseconds(0.10), microseconds(0.02), Nanoseconds(32)};
  floor.launch_cost = microseconds(3.1);
  Result result;
  result.subject = Operation::parse("spin:ns=10000");
  result.measurements = {test::sample_measurement(CacheState::warm, Load::burst, microseconds(10), 0.001)};
  floor.results = {result};
  floor.cache_proof = {microseconds(8.2), microseconds(8.3), microseconds(4.1), true};
  floor.duration = seconds(4.7);
  return floor;
}

Check check_about(const NoiseFloor& floor, const std::string& subject) {
  for (const Check& check : noise_floor_checks(floor)) {
    if (check.subject == subject) return check;
  }
  ADD_FAILURE() << "no line about " << subject;
  return {};
}

TEST(DoctorText, OneLineForEachThingWithItsRemedyBelow) {
  EXPECT_EQ(doctor_text(with_sections(sample_report()), 120), R"(Devices
  ok       cpu: A CPU
  ok       cuda:0: A GPU (the one looked at here)
  missing  cuda:1: it fell off the bus

Libraries
  ok       onednn: 3.5.0 in /lib/libdnnl.so.3; for conv2d, matmul and linear on the CPU
  missing  cudnn: libcudnn.so.9 was not found; for conv2d on the GPU
           remedy: install cuDNN 9 (pip install nvidia-cudnn-cu12, or -cu13), or name its folder in
           JITTERSCOPE_LIBRARY_PATH

GPU cuda:0
  limits   other processes: others use this GPU: 12 train
           remedy: end them

Host
  ok       kernel: Linux 6.1.0 x86_64
  ok       cpu quota: no control group limits the CPU time

5 ok; 1 line limits what can be measured here; 2 missing.
To check the tool's numbers here: jitterscope selftest --device cuda:0
)");
}

TEST(DoctorText, PointsToTheSelftestOfADeviceThatIsThere) {
  DoctorReport report = sample_report();
  report.device.id = "cpu";
  EXPECT_THAT(doctor_text(with_sections(report), 120),
              HasSubstr("\nTo check the tool's numbers here: jitterscope selftest --device cpu\n"));
  report.device.id.clear();
  EXPECT_THAT(doctor_text(with_sections(report), 120), testing::Not(HasSubstr("selftest")));
}

TEST(DoctorText, NoiseFloor) {
  DoctorReport report = sample_report();
  report.noise_floor = sample_floor();
  const std::string text = doctor_text(with_sections(report), 120);
  EXPECT_THAT(text, HasSubstr(R"(Noise floor of cuda:0, measured in 4.7 s
  ok       events: a pair of marks adds 2.91 ± 0.03 µs, which is subtracted; times from 6.0 µs on are known to ±0.5 %;
           the timer steps by 32 ns
  ok       graph: the slope between two recordings adds 100 ± 20 ns, which is subtracted
  ok       launch cost: a launch costs the host 3.10 µs: operations shorter than that wait for it, unless they are
           queued ahead or recorded as a graph
)"));
  EXPECT_THAT(
      text,
      HasSubstr("  ok       cold cache: a probe takes 8.20 µs after one eviction, 8.30 µs after four, and "
                "4.10 µs warm: one eviction\n           evicts\n"));
}

TEST(NoiseFloor, AnUncertainConstantLimitsShortTimes) {
  NoiseFloor floor = sample_floor();
  EXPECT_EQ(check_about(floor, "events").status, Status::good);
  floor.calibration.events.uncertainty = microseconds(0.08);
  EXPECT_EQ(check_about(floor, "events").status, Status::limits);
  EXPECT_THAT(check_about(floor, "events").sentence, HasSubstr("from 16.0 µs on"));
  EXPECT_THAT(check_about(floor, "events").remedy, HasSubstr("slopes"));
  floor.calibration.graph = {};  // a CPU: slopes are no better there
  EXPECT_THAT(check_about(floor, "events").remedy, testing::Not(HasSubstr("slopes")));
}

TEST(NoiseFloor, WideIntervalsAndWideRoundsLimit) {
  NoiseFloor floor = sample_floor();
  EXPECT_EQ(check_about(floor, "spin:ns=10000").status, Status::good);
  Measurement& measurement = floor.results[0].measurements[0];
  measurement.time.high = measurement.time.median * 1.02;
  EXPECT_EQ(check_about(floor, "spin:ns=10000").status, Status::limits);

  floor = sample_floor();
  std::vector<Round>& rounds = floor.results[0].measurements[0].rounds;
  for (std::size_t i = 0; i < rounds.size() / 2; ++i) {
    for (Nanoseconds& time : rounds[i].launches) time = time * 1.1;
  }
  EXPECT_EQ(check_about(floor, "spin:ns=10000").status, Status::limits);
  EXPECT_NEAR(round_spread(floor.results[0].measurements[0]).p95.value(), 11'000, 600);
}

TEST(NoiseFloor, WhereTheHostDoesTheWorkNothingCostsZero) {
  NoiseFloor floor = sample_floor();
  floor.calibration.marks_are_of_host = true;
  floor.calibration.graph = {Nanoseconds(0), Nanoseconds(0), Nanoseconds(1)};
  floor.launch_cost = Nanoseconds(0);  // as records of earlier versions have it
  for (const Check& check : noise_floor_checks(floor)) {
    EXPECT_THAT(check.sentence, testing::Not(testing::ContainsRegex("(^|[^0-9.])0(\\.0+)? ns")))
        << check.subject;
  }
  EXPECT_THAT(check_about(floor, "launch cost").sentence,
              HasSubstr("the host's processor does the work itself"));
  EXPECT_THAT(check_about(floor, "graph").sentence, HasSubstr("the same clock"));
}

TEST(NoiseFloor, ASlopeThatAddsNothingIsTheReference) {
  NoiseFloor floor = sample_floor();
  floor.calibration.graph = {Nanoseconds(0), Nanoseconds(20), Nanoseconds(32)};
  EXPECT_EQ(check_about(floor, "graph").sentence,
            "the slope between recordings calibrates the marks, to ± 20 ns");
}

TEST(NoiseFloor, FailuresAndInterruptionsAreSaid) {
  NoiseFloor floor = sample_floor();
  floor.results[0].measurements.clear();
  EXPECT_THAT(check_about(floor, "spin:ns=10000").sentence, HasSubstr("interrupted"));
  floor.results[0].failure = "out of memory";
  EXPECT_EQ(check_about(floor, "spin:ns=10000").sentence, "out of memory");
  floor.cache_proof->proven = false;
  EXPECT_EQ(check_about(floor, "cold cache").status, Status::limits);
}

TEST(DoctorJson, HoldsTheLinesAndTheNumbers) {
  DoctorReport report = sample_report();
  report.noise_floor = sample_floor();
  const auto document = nlohmann::json::parse(write_record(with_sections(report)));
  EXPECT_EQ(document["checks"]["libraries"][1]["status"], "missing");
  EXPECT_EQ(document["checks"]["device"].size(), 1u);
  EXPECT_DOUBLE_EQ(document["noise_floor"]["events"]["value_seconds"], 2.91e-6);
  EXPECT_DOUBLE_EQ(document["noise_floor"]["results"][0]["median_seconds"], 1e-5);
  EXPECT_EQ(document["noise_floor"]["cache_proof"]["proven"], true);
}

}  // namespace
}  // namespace jitterscope
