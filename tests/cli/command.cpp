#include "cli/command.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace jitterscope::test {
namespace {

std::string scratch_file(const char* name) {
  return testing::TempDir() + "jitterscope_" + std::to_string(::getpid()) + name;
}

// The settings of whoever runs the tests are not theirs.
const bool kWithoutSettings =
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1) == 0 && ::unsetenv("JITTERSCOPE_SETTINGS") == 0;

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

}  // namespace

std::vector<std::string> examples_of_help(const std::string& command) {
  std::istringstream help(run_tool(command + " --help").output);
  const std::string begin = "  jitterscope " + command + ' ';
  std::vector<std::string> examples;
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with(begin)) examples.push_back(line.substr(begin.size()));
  }
  return examples;
}

Outcome run_tool(const std::string& arguments) {
  const std::string errors = scratch_file(".err");
  const std::string command = "( '" JITTERSCOPE_EXECUTABLE "' " + arguments + " ) 2>'" + errors + "'";
  Outcome outcome;
  if (!kWithoutSettings) return outcome;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> part{};
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), pipe)) {
    outcome.output.append(part.data(), read);
  }
  outcome.exit_code = exit_code_of(::pclose(pipe));
  std::ifstream file(errors);
  outcome.errors.assign(std::istreambuf_iterator<char>(file), {});
  ::unlink(errors.c_str());
  return outcome;
}

int validate_json(const std::string& text) {
  const std::string path = scratch_file(".json");
  std::ofstream(path) << text;
  const int code = exit_code_of(std::system(("'" JITTERSCOPE_VALIDATE_JSON "' '" + path + "'").c_str()));
  ::unlink(path.c_str());
  return code;
}

std::string without_breaks(const std::string& text) {
  return std::regex_replace(on_one_line(text), std::regex(" +"), " ");
}

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string WithFolder::text(const std::string& name) const {
  std::ifstream file(path(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace jitterscope::test
