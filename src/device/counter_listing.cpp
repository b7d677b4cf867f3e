#include "device/counter_listing.hpp"

#include <fmt/format.h>

#ifdef JITTERSCOPE_HAS_CUDA
#include "device/cuda/cupti/counters.hpp"
#endif
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

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
