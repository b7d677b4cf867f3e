// The kind of a call to CUDA, by its function's name: "cudaLaunchKernel", "cuMemAlloc_v2".
#pragma once

#include <string_view>

#include "capture/format/tables.hpp"

namespace jitterscope::capture {

inline CallKind call_kind_of(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  if (has("Launch")) return CallKind::launch;
  if (has("Synchronize")) return CallKind::wait;
  if (has("Memcpy") || has("Memset")) return CallKind::copy;
  if (has("Malloc") || has("MemAlloc") || has("Free") || has("HostAlloc")) return CallKind::allocation;
  if (has("Module") || has("Library") || has("GetFunction")) return CallKind::load;
  return CallKind::other;
}

}  // namespace jitterscope::capture
