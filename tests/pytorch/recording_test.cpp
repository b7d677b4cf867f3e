#include "pytorch/recording.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "jitterscope/error.hpp"
#include "pytorch/training_script.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;

// Stands in for a Python with PyTorch: a shell script that is called as python3 would be.
class StandIn {
 public:
  explicit StandIn(const std::string& script)
      : file_(std::filesystem::temp_directory_path() /
              ("jitterscope-python-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::ofstream(file_) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(file_, std::filesystem::perms::owner_all);
  }
  ~StandIn() { std::filesystem::remove(file_); }
  RecordingRequest request() const {
    RecordingRequest request;
    request.model = "resnet18";
    request.python = file_.string();
    return request;
  }

 private:
  std::filesystem::path file_;
};

std::string message_of(const StandIn& python) {
  try {
    record_training(python.request());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Recording, TheScriptHoldsBothFiles) {
  ASSERT_THAT(training_script(), testing::SizeIs(2));
  EXPECT_EQ(training_script()[0].name, "record_training.py");
  EXPECT_THAT(std::string(training_script()[0].text), HasSubstr("def main()"));
  EXPECT_EQ(training_script()[1].name, "unet.py");
  EXPECT_THAT(std::string(training_script()[1].text), HasSubstr("class UNet"));
}

TEST(Recording, PytorchsOwnWordsAreToldWhereItFails) {
  EXPECT_EQ(message_of(StandIn("echo trace >&2; echo \"No module named 'torch'\" >&2; exit 1")),
            "PyTorch could not run resnet18: No module named 'torch'");
}

TEST(Recording, ARequestIsReadFromAModelsText) {
  const RecordingRequest request =
      recording_request("resnet18:batch=4,dtype=f16,layout=nhwc,direction=training");
  EXPECT_EQ(request.model, "resnet18");
  EXPECT_EQ(request.options.batch, 4);
  EXPECT_EQ(request.options.dtype, DataType::f16);
  EXPECT_EQ(request.options.layout, Layout::nhwc);
  for (const char* refused : {"resnet81", "resnet18:bacth=4", "resnet18:size=512", "resnet18:direction=fprop",
                              "resnet18:dtype=f64", "gpt2:seq=128"})
    EXPECT_THROW(recording_request(refused), UsageError) << refused;
}

TEST(Recording, ASignalThatEndedPythonIsNamed) {
  const std::string message = message_of(StandIn("kill -9 $$"));
  EXPECT_THAT(message, HasSubstr("signal 9 (Killed)"));
  EXPECT_THAT(message, HasSubstr("resnet18"));
}

TEST(Recording, WithoutAWordTheExitCodeIsToldWhereItFails) {
  EXPECT_EQ(message_of(StandIn("exit 7")), "PyTorch could not run resnet18: it ended with exit code 7");
}

TEST(Recording, WhatTheScriptDoesNotKnowIsTheUsersError) {
  const StandIn python("echo 'error: argument --dtype: invalid choice' >&2; exit 2");
  EXPECT_THROW(record_training(python.request()), UsageError);
}

// Libraries that torch loads read their environment once.
TEST(Recording, LogsAreAskedForBeforeTorchIsImported) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "jitterscope-torch";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "torch.py") << "import os, sys\n"
                                        "log = os.environ.get('CUDNN_FRONTEND_LOG_INFO', 'unset')\n"
                                        "sys.exit(f'the log is {log}')\n";
  EXPECT_EQ(message_of(StandIn("PYTHONPATH=" + folder.string() + " exec python3 \"$@\"")),
            "PyTorch could not run resnet18: the log is 1");
  std::filesystem::remove_all(folder);
}

TEST(Recording, APythonThatIsNotThereIsNamed) {
  RecordingRequest request;
  request.model = "resnet18";
  request.python = "python-that-is-not-there";
  EXPECT_THROW(record_training(request), MissingError);
}

std::string writes_trace(const std::string& then) {
  return "shift; while [ \"$1\" != --output ]; do shift; done; gzip -dc " +
         std::string(JITTERSCOPE_TEST_DATA) + "/import/resnet18_trace.json.gz > \"$2/trace.json\"; " + then +
         "echo '{\"torch\": \"2.11.0\", \"cudnn\": 91900, \"steps\": 3, \"batch\": 16}' > \"$2/facts.json\"";
}

TEST(Recording, WhatPytorchWroteIsRead) {
  const StandIn python(writes_trace(""));
  const PytorchRecording recording = record_training(python.request());
  EXPECT_EQ(recording.torch, "2.11.0");
  EXPECT_EQ(recording.cudnn, "9.19.0");
  EXPECT_EQ(recording.steps, 3);
  EXPECT_GT(recording.trace.layers.size(), 20u);
  EXPECT_TRUE(recording.plans.layers.empty());
  EXPECT_EQ(recording.without_plans, "");
}

// As of networks whose only call of cuDNN's is attention.
TEST(Recording, ALogWithoutConvolutionsCostsTheEnginesOnly) {
  const StandIn python(writes_trace("echo '[cudnn_frontend] INFO: no graph' > \"$2/frontend.log\"; "));
  const PytorchRecording recording = record_training(python.request());
  EXPECT_GT(recording.trace.layers.size(), 20u);
  EXPECT_EQ(recording.without_plans, "cudnn-frontend's log of the training names no convolution's plan");
}

TEST(Recording, ALogThatIsNotThereIsTheUsersError) {
  const std::string trace = std::string(JITTERSCOPE_TEST_DATA) + "/import/resnet18_trace.json.gz";
  EXPECT_THROW(read_recording(trace, "/no/such.log"), UsageError);
}

}  // namespace
}  // namespace jitterscope
