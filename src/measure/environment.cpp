#include "measure/environment.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "jitterscope/version.hpp"

namespace jitterscope {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  gmtime_r(&now, &broken_down);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  return text.data();
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of the first line "KEY<separator>VALUE" of a file, without quotes.
std::string value_in(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", line.find(separator) + 1);
    if (begin == std::string::npos) return {};
    std::string value = line.substr(begin);
    if (value.ends_with('"')) value.pop_back();
    return value;
  }
  return {};
}

std::string container() {
  std::error_code ignored;
  if (std::filesystem::exists("/.dockerenv", ignored)) return "docker";
  if (std::filesystem::exists("/run/.containerenv", ignored)) return "podman";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  const char* name = std::getenv("container");
  return name == nullptr ? std::string() : std::string(name);
}

}  // namespace

std::string hypervisor() {
  const bool is_guest = value_in("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos;
  if (!is_guest) return {};
  const std::string product = first_line("/sys/class/dmi/id/product_name");
  return product.empty() ? "virtual machine" : product;
}

Environment read_environment(std::string command_line) {
  Environment environment;
  environment.tool_version = version();
  environment.command_line = std::move(command_line);
  environment.time = utc_now();
  const auto add = [&](const char* key, std::string value) {
    if (!value.empty()) environment.host.push_back({key, std::move(value)});
  };
  utsname system{};
  if (uname(&system) == 0) {
    add("host_name", system.nodename);
    add("kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
  }
  add("operating_system", value_in("/etc/os-release", "PRETTY_NAME", '='));
  add("cpu", value_in("/proc/cpuinfo", "model name", ':'));
  add("cpu_threads", std::to_string(std::thread::hardware_concurrency()));
  add("cpu_governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  add("virtualisation", hypervisor());
  add("container", container());
  const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page_size > 0)
    add("memory_bytes", std::to_string(static_cast<long long>(pages) * page_size));
  return environment;
}

}  // namespace jitterscope
