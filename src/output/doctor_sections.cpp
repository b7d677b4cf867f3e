#include "output/doctor_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

using Status = Check::Status;

Check device_check(const DeviceListing& listing, const DoctorReport& report) {
  const bool chosen = listing.id == report.device.id;
  if (!listing.problem.empty()) return {listing.id, Status::missing, listing.problem, ""};
  return {listing.id, Status::good, listing.name + (chosen ? " (the one looked at here)" : ""), ""};
}

struct LibraryUse {
  std::string_view name, use, remedy, place = "or name its folder in JITTERSCOPE_LIBRARY_PATH";
};
constexpr LibraryUse kLibraryUses[] = {
    {"onednn", "conv2d, matmul and linear on the CPU", "install oneDNN (Debian: libdnnl-dev)"},
    {"libcuda", "everything on the GPU", "install NVIDIA's driver; start a container with --gpus all"},
    {"nvml", "sensors, limits and processes of the GPU",
     "install the driver's libnvidia-ml.so.1; in a container add 'utility' to NVIDIA_DRIVER_CAPABILITIES"},
    {"cudnn", "conv2d on the GPU", "install cuDNN 9 (pip install nvidia-cudnn-cu12, or -cu13)"},
    {"cublaslt", "matmul and linear on the GPU",
     "install cuBLAS (pip install nvidia-cublas-cu12, or nvidia-cublas for CUDA 13)"},
    {"cupti", "kernel times for comparison",
     "install CUPTI (pip install nvidia-cuda-cupti-cu12, or nvidia-cuda-cupti for CUDA 13)"},
    {"nvrtc", "kernels of your own, by cuda:FILE.cu:KERNEL",
     "install NVRTC (pip install nvidia-cuda-nvrtc-cu12, or nvidia-cuda-nvrtc for CUDA 13)"},
    {"torch", "any operator of PyTorch, by aten::…",
     "build it beside your PyTorch: scripts/build-torch-plugin",
     "or name its file in JITTERSCOPE_TORCH_PLUGIN"},
};

Check library_check(const LibraryInfo& library) {
  const auto* use = std::find_if(std::begin(kLibraryUses), std::end(kLibraryUses),
                                 [&](const LibraryUse& entry) { return entry.name == library.name; });
  const bool known = use != std::end(kLibraryUses);
  const std::string purpose = known ? fmt::format("; for {}", use->use) : std::string();
  if (library.problem.empty()) {
    return {library.name, Status::good, fmt::format("{} in {}{}", library.version, library.path, purpose),
            ""};
  }
  const std::string remedy =
      known ? fmt::format("{}, {}", use->remedy, use->place) : std::string("install it");
  return {library.name, Status::missing, library.problem + purpose, remedy};
}

// Libraries have a section of their own.
std::vector<Check> without_libraries(const DoctorReport& report, const std::vector<Check>& checks) {
  std::vector<Check> rest;
  for (const Check& check : checks) {
    const auto is_subject = [&](const LibraryInfo& library) { return library.name == check.subject; };
    if (std::none_of(report.libraries.begin(), report.libraries.end(), is_subject)) rest.push_back(check);
  }
  return rest;
}

std::vector<Check> host_lines(const DoctorReport& report, const std::vector<Check>& host_checks) {
  std::vector<Check> lines;
  // What the CPU's own lines do not say.
  constexpr std::string_view kShown[] = {"kernel", "operating_system", "cpu", "container"};
  for (const Property& property : report.environment.host) {
    if (std::find(std::begin(kShown), std::end(kShown), property.key) == std::end(kShown)) continue;
    std::string subject = property.key;
    std::replace(subject.begin(), subject.end(), '_', ' ');
    lines.push_back({subject, Status::good, property.value, ""});
  }
  for (Check& check : without_libraries(report, host_checks)) lines.push_back(std::move(check));
  return lines;
}

}  // namespace

std::vector<DoctorSection> doctor_sections(const DoctorReport& report, const MachineChecks& machine) {
  std::vector<DoctorSection> sections;
  const auto add = [&](std::string key, std::string heading, std::vector<Check> checks) {
    if (!checks.empty()) sections.push_back({std::move(key), std::move(heading), std::move(checks)});
  };
  std::vector<Check> devices, libraries;
  for (const DeviceListing& listing : machine.devices) devices.push_back(device_check(listing, report));
  for (const LibraryInfo& library : report.libraries) libraries.push_back(library_check(library));
  add("devices", "Devices", std::move(devices));
  add("libraries", "Libraries", std::move(libraries));
  add("device", "GPU " + report.device.id, without_libraries(report, machine.device_checks));
  add("host", "Host", host_lines(report, machine.host_checks));
  if (report.noise_floor) {
    const std::string time = duration_text(report.noise_floor->duration);
    add("noise_floor", fmt::format("Noise floor of {}, measured in {}", report.device.id, time),
        noise_floor_checks(*report.noise_floor));
  }
  return sections;
}

}  // namespace jitterscope
