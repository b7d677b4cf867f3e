#include "device/cpu/onednn_facts.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "device/cpu/operations/onednn_primitives.hpp"

namespace jitterscope::cpu {
namespace {

// Asked by trying, since what a CPU needs for it differs between versions.
bool multiplies_bf16() {
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const dnnl::memory::desc matrix({16, 16}, dnnl::memory::data_type::bf16, dnnl::memory::dims{16, 1});
    matmul_primitive(engine, {matrix, matrix, matrix, {}});
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace

LibraryInfo onednn_library() {
  LibraryInfo library;
  library.name = "onednn";
  const dnnl_version_t* version = dnnl_version();
  library.version = fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
  Dl_info file{};
  // A statically linked oneDNN answers with the program itself.
  if (dladdr(reinterpret_cast<const void*>(&dnnl_version), &file) != 0) library.path = file.dli_fname;
  return library;
}

std::string onednn_instruction_set() {
  constexpr std::string_view kPrefix = "cpu_isa_";
  std::string_view name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return std::string(name);
}

std::vector<DataType> product_types() {
  static const bool kHasBf16 = multiplies_bf16();
  std::vector<DataType> types = {DataType::f64, DataType::f32};
  if (kHasBf16) types.push_back(DataType::bf16);
  return types;
}

std::vector<DataType> further_types() {
  std::vector<DataType> types = {DataType::f16};
  if (product_types().back() != DataType::bf16) types.push_back(DataType::bf16);
  return types;
}

int thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

}  // namespace jitterscope::cpu
