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
  EXPECT_THAT(std::string(training_script()), HasSubstr("class UNet"));
  EXPECT_THAT(std::string(training_script()), HasSubstr("def main()"));
}

TEST(Recording, PytorchsOwnWordsAreToldWhereItFails) {
  EXPECT_EQ(message_of(StandIn("echo trace >&2; echo \"No module named 'torch'\" >&2; exit 1")),
            "PyTorch could not run resnet18: No module named 'torch'");
}

TEST(Recording, APythonThatIsNotThereIsNamed) {
  RecordingRequest request;
  request.model = "resnet18";
  request.python = "python-that-is-not-there";
  EXPECT_THROW(record_training(request), MissingError);
}

TEST(Recording, WhatPytorchWroteIsRead) {
  const std::string data = JITTERSCOPE_TEST_DATA;
  const StandIn python(
      "shift; while [ \"$1\" != --output ]; do shift; done; "
      "gzip -dc " +
      data +
      "/import/resnet18_trace.json.gz > \"$2/trace.json\"; "
      "echo '{\"torch\": \"2.11.0\", \"cudnn\": 91900, \"steps\": 3, \"batch\": 16}' > \"$2/facts.json\"");
  const PytorchRecording recording = record_training(python.request());
  EXPECT_EQ(recording.torch, "2.11.0");
  EXPECT_EQ(recording.cudnn, "9.19.0");
  EXPECT_EQ(recording.steps, 3);
  EXPECT_GT(recording.trace.layers.size(), 20u);
  EXPECT_TRUE(recording.plans.layers.empty());
}

}  // namespace
}  // namespace jitterscope
