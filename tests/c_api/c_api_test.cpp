// The C functions: what they answer, and that nothing C++ leaves them.
#include "jitterscope/c.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "c_api/open_session.hpp"
#include "jitterscope/version.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kQuick =
    R"({"options": {"minimum_rounds": 6, "precision": 0.5, "time_limit_seconds": 0.3}})";

// Whatever was written, and freed.
std::string taken(char* text) {
  std::string copy = text == nullptr ? "" : text;
  jitterscope_free(text);
  return copy;
}
Json last_error() { return Json::parse(jitterscope_last_error()); }
std::string message() { return last_error()["message"]; }

struct Counted {
  int launches = 0, fail_at = 0;
  const char* reason = "";
};
int launch(void*, char* reason, void* context) {
  auto& counted = *static_cast<Counted*>(context);
  if (++counted.launches != counted.fail_at) return 0;
  std::snprintf(reason, JITTERSCOPE_REASON_SIZE, "%s", counted.reason);
  return 1;
}

class OnTheCpu : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(jitterscope_open("cpu", &device_), JITTERSCOPE_DONE); }
  void TearDown() override { jitterscope_close(device_); }

  int measure(Counted& counted, const char* request = kQuick, jitterscope_progress progress = nullptr,
              void* context = nullptr) {
    const jitterscope_callable callable{"mine", launch, nullptr, nullptr, &counted};
    char* record = nullptr;
    const int status = jitterscope_measure(device_, request, &callable, 1, progress, context, &record);
    EXPECT_EQ(record == nullptr, status != 0);
    record_ = taken(record);
    return status;
  }

  jitterscope_device* device_ = nullptr;
  std::string record_;
};

TEST_F(OnTheCpu, ACallableGivesTheRecordOfRun) {
  Counted counted;
  ASSERT_EQ(measure(counted), JITTERSCOPE_DONE) << message();
  EXPECT_GT(counted.launches, 60);
  const Json record = Json::parse(record_);
  EXPECT_EQ(record["command"], "run");
  EXPECT_EQ(record["title"], "mine");
  EXPECT_EQ(record["device"]["id"], "cpu");
  EXPECT_EQ(record["results"][0]["operation"], "mine");
  EXPECT_EQ(record["results"][0]["measurements"].size(), 1u);
  EXPECT_EQ(record["results"][0]["measurements"][0]["conditions"]["cache"], "warm");
  // One that is left open where nothing is said.
  ASSERT_EQ(measure(counted, R"({"options": {"instrument": "host", "time_limit_seconds": 0.1}})"),
            JITTERSCOPE_DONE);
  EXPECT_EQ(Json::parse(record_)["results"][0]["measurements"][0]["instrument"], "host");
}

TEST_F(OnTheCpu, ARecordIsShownAsTheCommandLineShowsIt) {
  Counted counted;
  ASSERT_EQ(measure(counted), JITTERSCOPE_DONE);
  char* text = nullptr;
  ASSERT_EQ(jitterscope_show(record_.c_str(), R"({"details": true, "width": 100})", &text), 0) << message();
  EXPECT_THAT(taken(text), HasSubstr("**mine**"));
  EXPECT_EQ(jitterscope_show(record_.c_str(), R"({"findings": "some"})", &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_show("{}", nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_THAT(message(), HasSubstr("not a record"));
}

TEST_F(OnTheCpu, WhatCanBeDrawnOfARecordIsVegaLite) {
  Counted counted;
  ASSERT_EQ(measure(counted), JITTERSCOPE_DONE);
  char* json = nullptr;
  ASSERT_EQ(jitterscope_plots(record_.c_str(), &json), JITTERSCOPE_DONE) << message();
  const Json plots = Json::parse(taken(json));
  ASSERT_GE(plots.size(), 2u);
  EXPECT_EQ(plots[0]["id"], "distribution");
  EXPECT_THAT(plots[0]["spec"]["$schema"].get<std::string>(), HasSubstr("vega-lite/v5"));
  EXPECT_EQ(jitterscope_plots("{}", &json), JITTERSCOPE_USAGE);
}

TEST_F(OnTheCpu, AFailureOfTheCallableIsSaidWithItsReason) {
  for (const int at : {1, 10}) {
    Counted counted{.fail_at = at, .reason = "no such luck"};
    EXPECT_EQ(measure(counted), JITTERSCOPE_FAILED);
    EXPECT_EQ(counted.launches, at);
    EXPECT_EQ(last_error()["exit_code"], JITTERSCOPE_FAILED);
    EXPECT_EQ(message(), "mine failed (no such luck)");
  }
  Counted good;
  EXPECT_EQ(measure(good), JITTERSCOPE_DONE);
}

TEST_F(OnTheCpu, AReasonWithoutAnEndIsCut) {
  const std::string long_reason(JITTERSCOPE_REASON_SIZE, 'x');
  const auto fill = [](void*, char* reason, void*) {
    std::fill_n(reason, static_cast<int>(JITTERSCOPE_REASON_SIZE), 'x');
    return 1;
  };
  const jitterscope_callable callable{"mine", fill, nullptr, nullptr, nullptr};
  char* record = nullptr;
  EXPECT_EQ(jitterscope_measure(device_, kQuick, &callable, 1, nullptr, nullptr, &record),
            JITTERSCOPE_FAILED);
  EXPECT_EQ(message(), "mine failed (" + long_reason.substr(1) + ")");
}

TEST_F(OnTheCpu, ProgressStopsAndKeepsWhatThereIs) {
  struct Seen {
    int rounds = 0;
    Json last;
  } seen;
  const auto stop_behind_seven = [](const char* json, void* context) {
    auto& told = *static_cast<Seen*>(context);
    if (json != nullptr) {
      ++told.rounds;
      told.last = Json::parse(json);
    }
    return told.rounds >= 7 ? 1 : 0;
  };
  Counted counted;
  const char* endless = R"({"options": {"precision": 1e-9, "time_limit_seconds": 100}})";
  ASSERT_EQ(measure(counted, endless, stop_behind_seven, &seen), JITTERSCOPE_DONE);
  EXPECT_EQ(seen.rounds, 7);
  EXPECT_EQ(seen.last["operation"], "mine");
  const Json record = Json::parse(record_);
  EXPECT_TRUE(record["interrupted"]);
  // None of those told last is lost, also where a measurement began anew because the clock slept; the
  // estimate is of one fewer from some rounds on.
  const std::size_t kept = record["results"][0]["measurements"][0]["rounds"].size();
  const auto told = seen.last["rounds"].get<std::size_t>();
  EXPECT_GE(kept, told);
  EXPECT_LE(kept, told + 1);
}

TEST_F(OnTheCpu, CausesOfACallablesTimeAreFoundOut) {
  Counted counted;
  ASSERT_EQ(measure(counted), JITTERSCOPE_DONE);
  const Json run = Json::parse(record_);
  const jitterscope_callable callable{"mine", launch, nullptr, nullptr, &counted};
  struct Told {
    int times = 0;
    Json last;
  } told;
  const auto listen = [](const char* json, void* context) {
    auto& own = *static_cast<Told*>(context);
    if (json == nullptr) return 0;
    ++own.times;
    own.last = Json::parse(json);
    return 0;
  };
  const Json request = {{"time_limit_seconds", 1.0}, {"processes", {run, run, run}}};
  char* text = nullptr;
  ASSERT_EQ(jitterscope_explain(device_, request.dump().c_str(), &callable, listen, &told, &text),
            JITTERSCOPE_DONE)
      << message();
  const Json record = Json::parse(taken(text));
  EXPECT_EQ(record["command"], "explain");
  EXPECT_EQ(record["study"]["operation"], "mine");
  EXPECT_FALSE(record["conclusions"].empty());
  EXPECT_EQ(record["study"]["observation"]["first_work"]["launch_in_processes_seconds"].size(), 3u);
  EXPECT_GT(told.times, 3);
  EXPECT_LE(told.last["share"], 1.0);
  EXPECT_FALSE(told.last["stage"].get<std::string>().empty());
}

TEST_F(OnTheCpu, AStudyStopsWithWhatIsKnown) {
  Counted counted;
  const jitterscope_callable callable{"mine", launch, nullptr, nullptr, &counted};
  const auto stop = [](const char* json, void*) { return json == nullptr ? 1 : 0; };
  char* text = nullptr;
  ASSERT_EQ(jitterscope_explain(device_, "{}", &callable, stop, nullptr, &text), JITTERSCOPE_DONE);
  EXPECT_TRUE(Json::parse(taken(text))["interrupted"]);
}

TEST_F(OnTheCpu, BadRequestsOfStudiesAreSentences) {
  Counted counted{.fail_at = 3, .reason = "no such luck"};
  const jitterscope_callable callable{"mine", launch, nullptr, nullptr, &counted};
  char* text = nullptr;
  for (const auto& [request, words] : std::vector<std::pair<const char*, const char*>>{
           {"[", "ends in the middle"},
           {R"({"factors": ["cahce"]})", "no factor is called 'cahce' (did you mean 'cache'?)"},
           {R"({"time_limit_seconds": 0})", "time_limit_seconds"},
           {R"({"processes": 3})", "processes"},
           {R"({"processes": [{}]})", "processes"}}) {
    EXPECT_EQ(jitterscope_explain(device_, request, &callable, nullptr, nullptr, &text), JITTERSCOPE_USAGE)
        << request;
    EXPECT_THAT(message(), HasSubstr(words)) << request;
    counted.launches = 3;
  }
  counted.launches = 0;
  EXPECT_EQ(jitterscope_explain(device_, "{}", &callable, nullptr, nullptr, &text), JITTERSCOPE_FAILED);
  EXPECT_EQ(message(), "mine failed (no such luck)");
  EXPECT_EQ(jitterscope_explain(device_, "{}", nullptr, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_explain(nullptr, "{}", &callable, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_explain(device_, nullptr, &callable, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
}

TEST_F(OnTheCpu, BadRequestsAreSentences) {
  Counted counted;
  for (const auto& [request, words] : std::vector<std::pair<const char*, const char*>>{
           {"", "empty"},
           {"[", "ends in the middle"},
           {R"({"options": {"cache": ["warm"]}})", "there is no option 'cache'"},
           {R"({"options": {"caches": ["wram"]}})", "caches"},
           {R"({"options": 3})", "an object"},
           {R"({"options": {"caches": ["produced"]}})", "produced"}}) {
    EXPECT_EQ(measure(counted, request), JITTERSCOPE_USAGE) << request;
    EXPECT_THAT(message(), HasSubstr(words)) << request;
  }
}

TEST_F(OnTheCpu, ShortOnesAreRepeatedInARow) {
  struct Calls {
    std::int64_t launched = 0, repeated = 0, fail_at = 0;
  } calls;
  const auto once = [](void*, char*, void* context) {
    ++static_cast<Calls*>(context)->launched;
    return 0;
  };
  const auto repeat = [](void*, std::int64_t launches, char* reason, void* context) {
    auto& own = *static_cast<Calls*>(context);
    own.repeated += launches;
    std::snprintf(reason, JITTERSCOPE_REASON_SIZE, "worn out");
    return own.fail_at > 0 && own.repeated > own.fail_at ? 1 : 0;
  };
  const jitterscope_callable callable{"mine", once, repeat, nullptr, &calls};
  const char* request = R"({"options": {"minimum_rounds": 6, "precision": 0.01, "time_limit_seconds": 0.3}})";
  char* text = nullptr;
  ASSERT_EQ(jitterscope_measure(device_, request, &callable, 1, nullptr, nullptr, &text), JITTERSCOPE_DONE);
  const Json rounds = Json::parse(taken(text))["results"][0]["measurements"][0]["rounds"];
  const auto in_a_round =
      rounds[0]["launches_per_value"].get<std::int64_t>() * std::ssize(rounds[0]["launch_seconds"]);
  EXPECT_GT(in_a_round, 100);
  EXPECT_GE(calls.repeated, in_a_round * std::ssize(rounds));
  EXPECT_GT(calls.launched, 0);
  calls.fail_at = calls.repeated + 100;
  EXPECT_EQ(jitterscope_measure(device_, request, &callable, 1, nullptr, nullptr, &text), JITTERSCOPE_FAILED);
  EXPECT_EQ(message(), "mine failed (worn out)");
}

TEST_F(OnTheCpu, NullPointersAreRefused) {
  Counted counted;
  const jitterscope_callable callable{"mine", launch, nullptr, nullptr, &counted},
      nothing{"mine", nullptr, nullptr, nullptr, nullptr},
      nameless{nullptr, launch, nullptr, nullptr, &counted};
  char* text = nullptr;
  void* stream = nullptr;
  EXPECT_EQ(jitterscope_open(nullptr, &device_), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_open("cpu", nullptr), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_describe(nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_stream(nullptr, &stream), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(nullptr, kQuick, &callable, 1, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(device_, nullptr, &callable, 1, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(device_, kQuick, nullptr, 1, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(device_, kQuick, &callable, 0, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(device_, kQuick, &nothing, 1, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(device_, kQuick, &nameless, 1, nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_measure(device_, kQuick, &callable, 1, nullptr, nullptr, nullptr), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_show(nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_plots(nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_THAT(message(), HasSubstr("null pointer"));
  EXPECT_EQ(jitterscope_judge_open_kernel(nullptr, nullptr, &text), JITTERSCOPE_USAGE);
  EXPECT_EQ(jitterscope_judge_launch(nullptr, nullptr, nullptr), JITTERSCOPE_USAGE);
  jitterscope_close(nullptr);
  jitterscope_free(nullptr);
}

TEST_F(OnTheCpu, WhatIsNoKernelIsNotJudgedAsOne) {
  jitterscope_judged_kernel* kernel = nullptr;
  char* buffers = nullptr;
  EXPECT_EQ(jitterscope_judge_open_kernel("copy:bytes=4Ki", &kernel, &buffers), JITTERSCOPE_USAGE);
  EXPECT_THAT(message(), HasSubstr("is no kernel, cuda:FILE.cu:KERNEL"));
  EXPECT_EQ(jitterscope_judge_open_kernel("cuda:a.cu:k,grid=1", &kernel, &buffers), JITTERSCOPE_USAGE);
  EXPECT_THAT(message(), HasSubstr("block"));
}

TEST_F(OnTheCpu, ACallableThatMeasuresIsRefused) {
  struct Inner {
    jitterscope_device* device;
    int status = 0;
  } inner{device_};
  const auto measure_again = [](void*, char*, void* context) {
    auto& own = *static_cast<Inner*>(context);
    char* text = nullptr;
    own.status = jitterscope_describe(own.device, &text);
    return 0;
  };
  const jitterscope_callable callable{"mine", measure_again, nullptr, nullptr, &inner};
  char* record = nullptr;
  // In another thread, as the mutex of its own thread may not be tried again.
  std::thread([&] {
    EXPECT_EQ(jitterscope_measure(device_, kQuick, &callable, 1, nullptr, nullptr, &record),
              JITTERSCOPE_DONE);
  }).join();
  taken(record);
  EXPECT_EQ(inner.status, JITTERSCOPE_USAGE);
}

TEST(CApi, SaysWhichItIsAndWhatThereIs) {
  EXPECT_EQ(jitterscope_version(), version());
  char* text = nullptr;
  ASSERT_EQ(jitterscope_list_devices(&text), JITTERSCOPE_DONE);
  EXPECT_EQ(Json::parse(taken(text))[0]["id"], "cpu");
  jitterscope_device* device = nullptr;
  EXPECT_EQ(jitterscope_open("cuda:99", &device), JITTERSCOPE_MISSING);
  EXPECT_EQ(device, nullptr);
  EXPECT_EQ(jitterscope_open("gpo", &device), JITTERSCOPE_USAGE);
}

TEST(CApi, SimulatedDevicesRunNoCallable) {
  jitterscope_device* device = nullptr;
  ASSERT_EQ(jitterscope_open("virtual:quiet", &device), JITTERSCOPE_DONE);
  Counted counted;
  const jitterscope_callable callable{"mine", launch, nullptr, nullptr, &counted};
  char* record = nullptr;
  EXPECT_EQ(jitterscope_measure(device, kQuick, &callable, 1, nullptr, nullptr, &record), JITTERSCOPE_USAGE);
  EXPECT_THAT(message(), HasSubstr("simulated"));
  EXPECT_EQ(jitterscope_explain(device, "{}", &callable, nullptr, nullptr, &record), JITTERSCOPE_USAGE);
  EXPECT_THAT(message(), HasSubstr("simulated"));
  EXPECT_EQ(counted.launches, 0);
  jitterscope_close(device);
}

// One that something disturbed would be that of the whole process.
TEST(CApi, ACoarseCalibrationIsReadAgain) {
  const auto calibrated = [](Nanoseconds grain) {
    scripted::Script script;
    script.grain = grain;
    auto device = std::make_unique<scripted::ScriptedDevice>(std::move(script));
    scripted::ScriptedDevice& known = *device;
    const c_api::OpenSession session(std::move(device));
    return known.host_time();
  };
  const Nanoseconds usual = calibrated(Nanoseconds(32));
  EXPECT_GT(calibrated(microseconds(50)), usual * 2.5);
}

// The whole way with a device that has recordings, whose times are the script's.
TEST(CApi, RecordedGraphsAreTimed) {
  scripted::Script script;
  script.launch_time = [](const auto&) { return microseconds(5); };
  script.node_constant = Nanoseconds(0);
  auto* device = new jitterscope_device{
      c_api::OpenSession(std::make_unique<scripted::ScriptedDevice>(std::move(script)))};
  const auto launch_kernel = [](void* stream, char*, void*) {
    scripted::launch_kernel(stream);
    return 0;
  };
  const auto record_kernel = [](void*, void** graph, char*, void* context) {
    *graph = context;
    return 0;
  };
  const auto refuse = [](void*, void**, char* reason, void*) {
    std::snprintf(reason, JITTERSCOPE_REASON_SIZE, "it waits");
    return 1;
  };
  int graph = 0;
  const jitterscope_callable recorded{"recorded", launch_kernel, nullptr, record_kernel, &graph},
      refused{"refused", launch_kernel, nullptr, refuse, nullptr};
  char* text = nullptr;
  ASSERT_EQ(jitterscope_measure(device, "{}", &recorded, 1, nullptr, nullptr, &text), JITTERSCOPE_DONE)
      << message();
  const Json measurement = Json::parse(taken(text))["results"][0]["measurements"][0];
  EXPECT_EQ(measurement["instrument"], "graph");
  EXPECT_NEAR(measurement["time"]["median_seconds"].get<double>(), 5e-6, 1e-7);
  ASSERT_EQ(jitterscope_measure(device, "{}", &refused, 1, nullptr, nullptr, &text), JITTERSCOPE_DONE)
      << message();
  const Json record = Json::parse(taken(text));
  EXPECT_EQ(record["results"][0]["measurements"][0]["instrument"], "events");
  EXPECT_THAT(record["notes"][0].get<std::string>(), HasSubstr("refused cannot be recorded (it waits)"));
  jitterscope_close(device);
}

}  // namespace
}  // namespace jitterscope
