// Runs the built tool as a shell would.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace jitterscope::test {

/// Flags with which an operation takes milliseconds: its median is of no interest, and its kernels can be
/// traced.
inline const std::string kQuick =
    " --device virtual:h200 --cache warm --min-rounds 3 --time-limit 0.05 --no-ceilings";

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string output, errors;
};
/// `arguments` is shell text behind the tool's name: it may hold quotes and pipes.
Outcome run_tool(const std::string& arguments);

/// What the examples of a command's help name behind it: "resnet18 --only layer4".
std::vector<std::string> examples_of_help(const std::string& command);

/// Exit code of scripts/validate-json: 0 valid, 1 not.
int validate_json(const std::string& text);

/// What was wrapped for a page, to be searched for sentences.
std::string on_one_line(std::string text);
/// The same with one blank where there are several, as in tables.
std::string without_breaks(const std::string& text);

/// A folder of the test's own for the files that the tool writes, gone behind it.
class WithFolder : public testing::Test {
 protected:
  WithFolder() { std::filesystem::create_directory(folder_); }
  ~WithFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "r.json") const { return (folder_ / name).string(); }
  std::string text(const std::string& name = "r.json") const;

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("jitterscope-cli-" + std::to_string(::getpid()));
};

}  // namespace jitterscope::test
