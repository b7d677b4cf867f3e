// Checks a record against docs/record.schema.json.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace jitterscope {

/// Exit code of scripts/validate-json: 0 valid, 1 not.
inline int validate_record(const std::string& text) {
  const std::string path = testing::TempDir() + "record_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << text;
  const int status = std::system(("'" JITTERSCOPE_VALIDATE_JSON "' '" + path + "'").c_str());
  ::unlink(path.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace jitterscope
