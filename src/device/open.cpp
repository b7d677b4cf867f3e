#include <charconv>
#include <optional>

#include "base/names.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/device_name.hpp"
#ifdef JITTERSCOPE_HAS_CUDA
#include "device/cuda/cuda_device.hpp"
#endif
#include "device/virtual/virtual_device.hpp"
#include "jitterscope/error.hpp"

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
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) return std::nullopt;
  const std::string_view number = name.substr(5);
  int ordinal = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (error != std::errc() || end != number.data() + number.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

}  // namespace

bool names_virtual_device(std::string_view name) {
  return name == "virtual" || name.starts_with("virtual:") || name.starts_with("virtual,");
}

std::unique_ptr<Device> open_device(std::string_view name, std::uint64_t seed) {
  if (name == "cpu") return open_cpu_device();
  if (name == "auto") {
    const std::vector<DeviceListing> gpus = list_cuda();
    return !gpus.empty() && gpus.front().problem.empty() ? open_cuda(0) : open_cpu_device();
  }
  if (const auto ordinal = cuda_ordinal(name)) return open_cuda(*ordinal);
  if (names_virtual_device(name)) return virtual_gpu::open_virtual_device(name, seed);
  const std::vector<std::string> known = {"auto", "cpu", "cuda", "cuda:0", "virtual"};
  throw UsageError("unknown device '" + std::string(name) + "'" + suggestion(name, known));
}

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> devices = {list_cpu_device()};
  for (DeviceListing& gpu : list_cuda()) devices.push_back(std::move(gpu));
  devices.push_back({"virtual", virtual_gpu::virtual_device_summary(), ""});
  return devices;
}

}  // namespace jitterscope
