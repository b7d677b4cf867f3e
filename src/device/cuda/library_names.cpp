#include "device/cuda/library_names.hpp"

#include <charconv>

#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// 13 of "libcublas.so.13"; 0 where there is no number.
int major_of(const std::string& name) {
  const std::size_t dot = name.rfind('.') + 1;
  int major = 0;
  std::from_chars(name.data() + dot, name.data() + name.size(), major);
  return major;
}

}  // namespace

std::vector<std::string> names_up_to(int major, const std::vector<std::string>& names) {
  std::vector<std::string> fitting;
  for (const std::string& name : names) {
    if (major_of(name) <= major) fitting.push_back(name);
  }
  return fitting.empty() ? names : fitting;
}

std::vector<std::string> names_for_driver(const std::vector<std::string>& names) {
  try {
    return names_up_to(driver().version / 1000, names);
  } catch (const MissingError&) {
    return names;
  }
}

}  // namespace jitterscope::cuda
