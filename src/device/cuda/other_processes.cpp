#include "device/cuda/other_processes.hpp"

#include <algorithm>

namespace jitterscope::cuda {

std::vector<std::string> others_among(std::vector<GpuProcess> processes, unsigned own_pid) {
  const auto has_own_pid = [own_pid](const GpuProcess& process) { return process.pid == own_pid; };
  auto own = std::find_if(processes.begin(), processes.end(), has_own_pid);
  // In a container only a process of the container has a name that can be read here.
  const auto has_name = [](const GpuProcess& process) { return !process.name.empty(); };
  if (own == processes.end()) own = std::find_if(processes.begin(), processes.end(), has_name);
  if (own == processes.end() && !processes.empty()) own = std::prev(processes.end());
  if (own != processes.end()) processes.erase(own);
  std::vector<std::string> others;
  for (const GpuProcess& process : processes) {
    others.push_back(std::to_string(process.pid) + " " +
                     (process.name.empty() ? "(name hidden)" : process.name));
  }
  return others;
}

}  // namespace jitterscope::cuda
