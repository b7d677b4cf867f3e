#include "jitterscope/device.hpp"

namespace jitterscope {

std::string_view to_string(CacheState state) {
  switch (state) {
    case CacheState::warm: return "warm";
    case CacheState::cold: return "cold";
    case CacheState::dirty: return "dirty";
    case CacheState::produced: return "produced";
  }
  return "";
}

std::string_view to_string(DataKind kind) {
  switch (kind) {
    case DataKind::normal: return "normal";
    case DataKind::uniform: return "uniform";
    case DataKind::zeros: return "zeros";
    case DataKind::ones: return "ones";
    case DataKind::sparse: return "sparse";
  }
  return "";
}

}  // namespace jitterscope
