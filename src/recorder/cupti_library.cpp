#include "recorder/cupti_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace jitterscope::recorder {
namespace {

constexpr std::array kNames = {"libcupti.so.13", "libcupti.so.12"};

std::vector<std::string> folders() {
  std::vector<std::string> folders;
  const auto add_all = [&](const char* variable, const char* suffix) {
    const char* text = std::getenv(variable);
    for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
      if (!folder.empty()) folders.push_back(std::string(folder) + suffix);
    }
  };
  add_all("JITTERSCOPE_LIBRARY_PATH", "/");
  folders.emplace_back();  // the loader's own path
  for (const char* suffix : {"/lib64/", "/lib/", "/extras/CUPTI/lib64/"}) {
    add_all("CUDA_HOME", suffix);
    folders.push_back(std::string("/usr/local/cuda") + suffix);
  }
  return folders;
}

void* open_library(std::string& problem) {
  if (void* loaded = loaded_cupti(); loaded != nullptr) return loaded;
  int version = 0;
  if (driver().cuDriverGetVersion != nullptr) driver().cuDriverGetVersion(&version);
  for (const std::string& folder : folders()) {
    for (const std::string name : kNames) {
      if (version > 0 && version < 13000 && name == kNames[0])
        continue;  // it would refuse to work with this driver
      if (void* handle = ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr)
        return handle;
      if (problem.empty()) problem = ::dlerror();
    }
  }
  return nullptr;
}

}  // namespace

void* loaded_cupti() {
  for (const char* name : kNames) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD); handle != nullptr) return handle;
  }
  return nullptr;
}

Cupti open_cupti() {
  Cupti cupti;
  cupti.handle = open_library(cupti.problem);
  if (cupti.handle == nullptr) {
    cupti.problem =
        "CUPTI, which records kernels, is not found (" + cupti.problem +
        "): install it (pip install nvidia-cuda-cupti) or name its folder in JITTERSCOPE_LIBRARY_PATH";
    return cupti;
  }
  cupti.problem.clear();
#define JITTERSCOPE_LOOK_UP(name)                                                    \
  cupti.name = reinterpret_cast<decltype(cupti.name)>(::dlsym(cupti.handle, #name)); \
  if (cupti.name == nullptr) cupti.problem = "this CUPTI has no function " #name;
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_LOOK_UP)
#undef JITTERSCOPE_LOOK_UP
  cupti.cuptiSubscribe_v2 =
      reinterpret_cast<decltype(cupti.cuptiSubscribe_v2)>(::dlsym(cupti.handle, "cuptiSubscribe_v2"));
  if (cupti.cuptiGetVersion != nullptr) cupti.cuptiGetVersion(&cupti.version);
  struct link_map* map = nullptr;
  if (::dlinfo(cupti.handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) cupti.path = map->l_name;
  return cupti;
}

const char* Cupti::text(CUptiResult result) const {
  const char* words = nullptr;
  if (cuptiGetResultString != nullptr) cuptiGetResultString(result, &words);
  return words == nullptr ? "unknown error" : words;
}

const Driver& driver() {
  static const Driver functions = [] {
    Driver found;
    // NVTX may ask before the program has loaded it: which CUPTI fits is known from the driver.
    void* handle = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (handle == nullptr) return found;
    const auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    };
    look_up(found.cuDriverGetVersion, "cuDriverGetVersion");
    look_up(found.cuDeviceGetCount, "cuDeviceGetCount");
    look_up(found.cuDeviceGet, "cuDeviceGet");
    look_up(found.cuDeviceGetName, "cuDeviceGetName");
    look_up(found.cuDeviceGetUuid, "cuDeviceGetUuid_v2");  // of a part of a GPU (MIG): the part's
    if (found.cuDeviceGetUuid == nullptr) look_up(found.cuDeviceGetUuid, "cuDeviceGetUuid");
    look_up(found.cuDeviceGetAttribute, "cuDeviceGetAttribute");
    look_up(found.cuFuncGetName, "cuFuncGetName");
    look_up(found.cuKernelGetName, "cuKernelGetName");
    return found;
  }();
  return functions;
}

}  // namespace jitterscope::recorder
