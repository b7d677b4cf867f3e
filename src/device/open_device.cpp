#include "device/open_device.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/names.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/judged_chain.hpp"
#include "device/virtual/virtual_device.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "physics/preset.hpp"

#ifdef JITTERSCOPE_HAS_CUDA
#include "device/cuda/cuda_device.hpp"
#endif

namespace jitterscope {
namespace {

#ifdef JITTERSCOPE_HAS_CUDA
std::unique_ptr<Device> open_cuda(int ordinal) { return cuda::open_cuda_device(ordinal); }
std::vector<DeviceListing> list_cuda() { return cuda::list_cuda_devices(); }
#else
constexpr const char* kNoCuda =
    "this build has no CUDA device: no nvcc was found when it was configured; install the CUDA toolkit and "
    "build again";
std::unique_ptr<Device> open_cuda(int) { throw MissingError(kNoCuda); }
std::vector<DeviceListing> list_cuda() { return {{"cuda:0", "", kNoCuda}}; }
#endif

std::optional<int> cuda_ordinal(std::string_view name) {
  if (name == "cuda" || name == "gpu") return 0;
  if (!name.starts_with("cuda:") && !name.starts_with("gpu:")) return std::nullopt;
  const std::string_view number = name.substr(name.find(':') + 1);
  int ordinal = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (error != std::errc() || end != number.data() + number.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

constexpr std::string_view kAllGpus = "cuda:all";

bool begins_as_device(std::string_view name) {
  return name == "auto" || name == "cpu" || name.starts_with("cuda") || name.starts_with("gpu") ||
         names_virtual_device(name);
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> known = {"auto", "cpu", "cuda", "gpu", "virtual"};
  const std::string all = "auto, cpu, cuda, cuda:N, virtual and virtual:PRESET";
  for (const std::string& preset : physics::preset_names()) known.push_back("virtual:" + preset);
  std::string nearest = nearest_name(name, known);
  if (nearest.empty()) {
    const std::string preset = nearest_name("virtual:" + std::string(name), known);
    if (preset.starts_with("virtual:")) nearest = preset;
  }
  if (nearest.empty()) throw UsageError(fmt::format("unknown device '{}': there are {}", name, all));
  throw UsageError(fmt::format("unknown device '{}' (did you mean '{}'?): there are {}", name, nearest, all));
}

}  // namespace

bool names_virtual_device(std::string_view name) {
  return name == "virtual" || name.starts_with("virtual:") || name.starts_with("virtual,");
}

std::string device_of_rank(const std::string& name, std::size_t rank) {
  const bool is_whole_cluster = names_virtual_device(name) && name.find(",rank=") == std::string::npos &&
                                virtual_gpu::parameters_of(name).cluster.has_value();
  if (!is_whole_cluster) return name;
  std::string of_rank = fmt::format("{},rank={}", name, rank);
  virtual_gpu::parameters_of(of_rank);
  return of_rank;
}

std::vector<std::string> devices_named(std::string_view names) {
  std::vector<std::string> devices;
  if (names != kAllGpus && names != "gpu:all") {
    std::istringstream text{std::string(names)};
    for (std::string name; text >> name;) devices.push_back(std::move(name));
    // The name of a preset's file may have spaces.
    if (devices.empty() || !std::ranges::all_of(devices, begins_as_device)) devices = {std::string(names)};
    return devices;
  }
  std::string problem = "no GPU was found";
  for (const DeviceListing& gpu : list_cuda()) {
    if (gpu.problem.empty())
      devices.push_back(gpu.id);
    else
      problem = gpu.problem;
  }
  if (devices.empty())
    throw MissingError(problem + "; `--local 2 --device virtual:cluster-2xh200` simulates two GPUs");
  return devices;
}

std::unique_ptr<Device> open_device(std::string_view name, std::uint64_t seed) {
  if (name == kAllGpus || name == "gpu:all" || devices_named(name).size() > 1)
    throw UsageError(fmt::format("'{}' names several devices, which `run` alone takes; name one", name));
  if (name == "cpu") return open_cpu_device();
  if (name == "auto") {
    const std::vector<DeviceListing> gpus = list_cuda();
    return !gpus.empty() && gpus.front().problem.empty() ? open_cuda(0) : open_cpu_device();
  }
  if (const auto ordinal = cuda_ordinal(name)) return open_cuda(*ordinal);
  if (names_virtual_device(name)) return virtual_gpu::open_virtual_device(name, seed);
  fail_unknown(name);
}

DeviceListing listing_of(std::string_view name) {
  if (names_host(name)) return list_cpu_device();
  if (names_virtual_device(name)) {
    const DeviceDescription device = open_device(name)->describe();
    return {device.id, device.name, ""};
  }
  const std::optional<int> ordinal = name == "auto" ? 0 : cuda_ordinal(name);
  if (!ordinal) fail_unknown(name);
  const std::string id = fmt::format("cuda:{}", *ordinal);
  for (DeviceListing& gpu : list_cuda()) {
    if (gpu.id == id) return std::move(gpu);
  }
  return {id, "", "there is no GPU of this number"};
}

bool names_host(std::string_view name) {
  if (name != "auto") return name == "cpu";
  return std::ranges::none_of(list_cuda(), [](const DeviceListing& gpu) { return gpu.problem.empty(); });
}

#ifndef JITTERSCOPE_HAS_CUDA
std::unique_ptr<JudgedChain> open_judged_chain(judging::Mailbox*, std::uint64_t) {
  throw MissingError(kNoCuda);
}
std::unique_ptr<JudgedKernel> open_judged_kernel(const CudaKernel&) { throw MissingError(kNoCuda); }
#endif

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> devices = {list_cpu_device()};
  for (DeviceListing& gpu : list_cuda()) devices.push_back(std::move(gpu));
  devices.push_back({"virtual", virtual_gpu::virtual_device_summary(), ""});
  return devices;
}

}  // namespace jitterscope

#ifdef JITTERSCOPE_HAS_CUDA
#include "device/cuda/cupti/counters.hpp"
#endif

namespace jitterscope {
namespace {

constexpr const char* kUsualChip = "GH100";

CounterListing of_open_device(std::string_view name) {
  const std::unique_ptr<Device> device = open_device(name);
  const DeviceDescription description = device->describe();
  return {fmt::format("{} ({})", description.name, description.id), "", device->list_counters()};
}

}  // namespace

CounterListing list_counters(std::string_view device) {
  if (device != "auto") return of_open_device(device);
  const std::vector<DeviceListing> devices = list_devices();
  for (const DeviceListing& listing : devices) {
    if (listing.id == "cuda:0" && listing.problem.empty()) return of_open_device(listing.id);
  }
  CounterListing listing = list_chip_counters(kUsualChip);
  listing.note = fmt::format(
      "No GPU is here: these are the counters of {} (H100, H200); --chip names another.", kUsualChip);
  return listing;
}

CounterListing list_chip_counters(const std::string& chip) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  throw MissingError(
      "counters of " + chip +
      " cannot be listed by a build with the address or thread sanitizer, which end a program that "
      "opens libraries as CUPTI does (RTLD_DEEPBIND): take another build");
#elif defined(JITTERSCOPE_HAS_CUDA)
  return {chip, "", cuda::list_chip_counters(chip)};
#else
  throw MissingError("this build has no CUDA device, so it knows no counters of " + chip +
                     "; install the CUDA toolkit and build again, or list those of a simulated GPU (--device "
                     "virtual)");
#endif
}

}  // namespace jitterscope
