#include "recorder/library_api.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace jitterscope::recorder {
namespace {

// The libraries' own files first: cuDNN's libcudnn.so passes on to others that begin so, too.
constexpr std::array<std::array<const char*, 2>, kLibraries> kFiles = {
    {{"libcudnn.so", "libcudnn_graph.so"}, {"libcublasLt.so", ""}, {"libcublas.so", ""}}};

// The path of the loaded library, of those whose names begin so, before which `others` come.
struct Search {
  std::string_view beginning;
  std::size_t others = 0;
  std::array<char, 4096> path{};
};

// Called under a lock of the loader's that dlopen takes too, behind another: it opens nothing.
int visit(dl_phdr_info* object, std::size_t, void* pointer) {
  auto& search = *static_cast<Search*>(pointer);
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (path.empty() || !path.substr(path.rfind('/') + 1).starts_with(search.beginning) ||
      path.size() >= search.path.size() || search.others-- > 0) {
    return 0;
  }
  path.copy(search.path.data(), path.size());
  return 1;
}

// A function of the recorder's own, or of the names that lead to it.
bool is_preloaded(void* function) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  return std::strstr(info.dli_fname, "libjitterscope_") != nullptr;
}

void* find_in(const char* beginning, const char* function) {
  for (std::size_t others = 0;; ++others) {
    Search search{beginning, others, {}};
    if (::dl_iterate_phdr(visit, &search) == 0) return nullptr;
    // The handle is kept: a function that has been found stays.
    void* handle = ::dlopen(search.path.data(), RTLD_LAZY | RTLD_NOLOAD);
    void* found = handle == nullptr ? nullptr : ::dlsym(handle, function);
    if (found != nullptr && !is_preloaded(found)) return found;
  }
}

// "9.19.0" of 91900, and of 8204 "8.2.4".
int format_cudnn(char* text, std::size_t size, std::size_t version) {
  const std::size_t unit = version >= 90000 ? 10000 : 1000;
  return std::snprintf(text, size, "%zu.%zu.%zu", version / unit, version % unit / 100, version % 100);
}

}  // namespace

const char* name_of(Library library) {
  constexpr std::array<const char*, kLibraries> kNames = {"cuDNN", "cuBLASLt", "cuBLAS"};
  return kNames[static_cast<std::size_t>(library)];
}

void* find_function(Library library, const char* name) noexcept {
  for (const char* file : kFiles[static_cast<std::size_t>(library)]) {
    void* found = *file == '\0' ? nullptr : find_in(file, name);
    if (found != nullptr) return found;
  }
  // One that another library holds, such as a cuDNN that is linked into PyTorch's own.
  return find_in("", name);
}

const char* version_of(Library library) noexcept {
  static std::array<std::array<char, 32>, kLibraries> texts{};
  char* text = texts[static_cast<std::size_t>(library)].data();
  constexpr std::size_t kSize = sizeof texts[0];
  if (library == Library::cudnn) {
    static LibraryFunction<std::size_t()> get(Library::cudnn, "cudnnGetVersion");
    if (get.get() != nullptr) format_cudnn(text, kSize, get.get()());
  } else if (library == Library::cublaslt) {
    static LibraryFunction<std::size_t()> get(Library::cublaslt, "cublasLtGetVersion");
    if (get.get() != nullptr) {
      const std::size_t version = get.get()();  // 130100
      std::snprintf(text, kSize, "%zu.%zu.%zu", version / 10000, version % 10000 / 100, version % 100);
    }
  } else {
    static LibraryFunction<int(int, int*)> get(Library::cublas, "cublasGetProperty");
    int part[3] = {};
    for (int i = 0; i < 3; ++i) {
      if (get.get() == nullptr || get.get()(i, &part[i]) != 0) return text;
    }
    std::snprintf(text, kSize, "%d.%d.%d", part[0], part[1], part[2]);
  }
  return text;
}

}  // namespace jitterscope::recorder
