// Several processes, GPUs or steps in one record.
#include <gmock/gmock.h>

#include "import/imported.hpp"
#include "import/small_trace.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string problem_of(const std::vector<std::string>& events) {
  return usage_message([&] { profile(trace_of(events)); });
}

// What another process recorded: its times half a microsecond later, all else as it is replaced.
std::vector<std::string> of_another(const std::vector<std::pair<std::string, std::string>>& replacements) {
  std::vector<std::string> events;
  for (const std::string& each : {kSum, kLaunch, kKernel}) {
    events.push_back(replaced_in(
        replaced_in(each, {{"100.000", "100.500"}, {":105", ":105.5"}, {":120", ":120.5"}}), replacements));
  }
  return events;
}
std::vector<std::string> with_another(const std::vector<std::pair<std::string, std::string>>& replacements) {
  std::vector<std::string> events = {kSum, kLaunch, kKernel};
  for (std::string& each : of_another(replacements)) events.push_back(std::move(each));
  return events;
}

const auto kSaysWhatToDo =
    AllOf(HasSubstr("t.json"), HasSubstr("several processes (ranks)"), HasSubstr("the trace of one process"));

TEST(JoinedTrace, RepeatedNumbersOfLaunchesAreSeveralProcesses) {
  for (const char* process : {"\"pid\":1", "\"pid\":2", "\"pid\":\"rank 1\""}) {
    EXPECT_THAT(problem_of(with_another({{"\"pid\":1", process}, {"\"tid\":1", "\"tid\":5"}})),
                AllOf(kSaysWhatToDo, HasSubstr("two launches"), HasSubstr("7")))
        << process;
  }
  // One that no kernel names is of no harm.
  const std::string copy = replaced_in(kLaunch, {{":7", ":9"}});
  EXPECT_EQ(profile(trace_of({kSum, kLaunch, copy, copy, kKernel})).recorded_gpu_time, Nanoseconds(2500));
}

TEST(JoinedTrace, ANumberOfWorkOnTwoGpusIsOfSeveralProcesses) {
  const auto on = [](const std::string& device) {
    return replaced_in(kKernel, {{"\"correlation\":7", "\"correlation\":7,\"device\":" + device}});
  };
  EXPECT_THAT(problem_of({kSum, kLaunch, on("0"), on("1")}),
              AllOf(kSaysWhatToDo, HasSubstr("two GPUs, 0 and 1")));
  // A graph may hold both.
  const std::string graph = replaced_in(kLaunch, {{"cudaLaunchKernel", "cudaGraphLaunch"}});
  EXPECT_EQ(profile(trace_of({kSum, graph, on("0"), on("1")})).recorded_gpu_time, Nanoseconds(5000));
}

TEST(JoinedTrace, OperatorsThatOverlapInOneThreadAreOfSeveralProcesses) {
  const std::string later = replaced_in(kSum, {{"100.000", "105.000"}});
  EXPECT_THAT(problem_of({kSum, later}), AllOf(kSaysWhatToDo, HasSubstr("aten::add and aten::add")));
  // In another thread they may, and older PyTorch rounds to a microsecond.
  EXPECT_EQ(profile(trace_of({kSum, replaced_in(later, {{"\"tid\":1", "\"tid\":2"}})})).calls.size(), 2u);
  EXPECT_EQ(profile(trace_of({kSum, replaced_in(kSum, {{"100.000", "101.000"}})})).calls.size(), 2u);
}

// As with nn.DataParallel, and where ranks were joined whose numbers differ.
TEST(JoinedTrace, WhatCanBeToldApartIsAddedAndNoted) {
  const auto with_device = [](std::vector<std::string> events, const std::string& device) {
    events[2] = replaced_in(events[2], {{"\"args\":{", "\"args\":{\"device\":" + device + ","}});
    return events;
  };
  std::vector<std::string> events = with_device({kSum, kLaunch, kKernel}, "0");
  for (std::string& each : with_device(of_another({{":7", ":8"}, {"\"tid\":1", "\"tid\":2"}}), "3"))
    events.push_back(std::move(each));
  const Model threads = profile(trace_of(events));
  EXPECT_EQ(threads.layers.at(0).recorded_time(), Nanoseconds(5000));
  EXPECT_EQ(threads.layers.at(0).count(), 2);
  EXPECT_THAT(threads.notes, ElementsAre(AllOf(HasSubstr("2 GPUs (0, 3)"), HasSubstr("of all of them"))));
  const Model processes = profile(trace_of(with_another({{":7", ":8"}, {"\"pid\":1", "\"pid\":2"}})));
  EXPECT_THAT(processes.notes, ElementsAre(HasSubstr("operators of 2 processes")));
}

TEST(JoinedTrace, StepsAreCountedByTheirNames) {
  const auto step = [](const std::string& name, const std::string& process) {
    return replaced_in(event("user_annotation", name, R"("ts":90,"dur":100)", R"("External id":1)"),
                       {{"\"pid\":1", "\"pid\":" + process}});
  };
  EXPECT_THAT(
      profile(trace_of({step("ProfilerStep#4", "1"), step("ProfilerStep#4", "2"), kSum, kLaunch, kKernel}))
          .notes,
      IsEmpty());
  // Cycles of one process, joined by hand: as lists within the list, or in two fields.
  const std::string second =
      "[" + step("ProfilerStep#5", "1") + "," + replaced_in(kSum, {{"100.000", "200.000"}}) + "]";
  const Model model = profile(trace_of({step("ProfilerStep#4", "1"), kSum, kLaunch, kKernel, second}));
  EXPECT_THAT(model.notes, ElementsAre(HasSubstr("2 steps")));
}

TEST(JoinedTrace, FilesBehindOneAnotherAreNotReadAsTheFirst) {
  const std::string whole = trace_of({kSum, kLaunch, kKernel});
  const auto problem_of_text = [](const std::string& text) { return usage_message([&] { profile(text); }); };
  EXPECT_THAT(problem_of_text(whole + "\n" + whole),
              AllOf(HasSubstr("t.json: line 2, byte " + std::to_string(whole.size() + 2)),
                    HasSubstr("a second record begins there"), HasSubstr("one by one")));
  EXPECT_THAT(problem_of_text(whole + "\n]"), AllOf(HasSubstr("line 2, byte"), HasSubstr("not valid JSON")));
  EXPECT_THAT(problem_of_text("[" + whole + "," + whole + "]"), HasSubstr("a list of traces"));
  EXPECT_EQ(profile(whole + " \n\n").calls.size(), 1u);
}

std::string node_of(const std::string& id, const std::string& name = "aten::relu") {
  return R"json({"id":)json" + id + R"json(,"name":")json" + name + R"json(","ctrl_deps":1,
 "inputs":{"values":[[1,2,0,32,4,"cuda:0"]],"shapes":[[4,8]],"types":["Tensor(float)"],"strides":[[8,1]]},
 "outputs":{"values":[[5,6,0,32,4,"cuda:0"]],"shapes":[[4,8]],"types":["Tensor(float)"],"strides":[[8,1]]},
 "attrs":[]})json";
}

TEST(JoinedTrace, NodesWithOneIdAreOfSeveralProcesses) {
  const auto text_of = [](const std::vector<std::string>& nodes) {
    std::string text = R"({"schema":"1.1.1-chakra.0.0.4","nodes":[)";
    for (const std::string& each : nodes) text += (text.back() == '[' ? "" : ",") + each;
    return text + "]}";
  };
  const auto import = [&](const std::string& text) { return import_execution_trace(text, "t.json"); };
  EXPECT_THAT(usage_message([&] {
                import(text_of({node_of("7"), node_of("9"), node_of("7")}));
              }),
              AllOf(kSaysWhatToDo, HasSubstr("id 7")));
  EXPECT_THAT(usage_message([&] { import(text_of({node_of("7")}) + text_of({node_of("8")})); }),
              HasSubstr("a second record begins there"));
  const std::string process = "[pytorch|profiler|execution_trace|process]";
  const Model both =
      import(text_of({node_of("2", process), node_of("3"), node_of("4", process), node_of("5")}));
  EXPECT_THAT(both.calls, SizeIs(2));
  EXPECT_THAT(both.notes, Contains(HasSubstr("2 processes")));
}

// All ranks of torchrun write into the one file that CUDNN_LOGDEST_DBG names.
TEST(JoinedLog, CallsOfSeveralProcessesAreNoted) {
  const std::string log = read_file(data_file("../conv_linear_cudnn9.log.gz")).text;
  std::string other = log;
  for (std::size_t at = other.find("Process=456; Thread=4"); at != std::string::npos;
       at = other.find("Process=456; Thread=4", at))
    other.replace(at, 11, "Process=457");
  const Model one = import_cudnn_log(log, "c.log"), both = import_cudnn_log(log + other, "c.log");
  EXPECT_EQ(both.calls.size(), 2 * one.calls.size());
  EXPECT_THAT(one.notes, Not(Contains(HasSubstr("processes"))));
  EXPECT_THAT(both.notes, Contains(HasSubstr("calls of 2 processes")));
}

}  // namespace
}  // namespace jitterscope
