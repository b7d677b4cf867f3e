// The program's own ranges (NVTX), noticed as they begin: their records come a second later.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "recorder/cupti_library.hpp"

namespace jitterscope::recorder {

/// Tells, on the program's threads, whether a range of a given name begins. A range has that name whatever
/// domain it is in, and however the program gives it: as characters, among attributes, or as a string that it
/// has registered before. Names in wide characters are not known here: their records tell.
class RangeName {
 public:
  explicit RangeName(std::string name) : name_(std::move(name)) {}

  bool is_empty() const { return name_.empty(); }
  const std::string& text() const { return name_; }
  /// Has CUPTI call for what `begins` is asked about, and for nothing else of NVTX.
  void subscribe(const Cupti& cupti, CUpti_SubscriberHandle subscriber) const;
  /// Takes one of those calls.
  bool begins(CUpti_CallbackId id, const CUpti_NvtxData& call) noexcept;

 private:
  bool is_it(const char* text) const noexcept { return text != nullptr && name_ == text; }
  bool is_named(const void* attributes) const noexcept;

  const std::string name_;
  // The handles that NVTX gave when this name was registered, one for each domain.
  static constexpr std::size_t kMostDomains = 16;
  std::array<std::atomic<const void*>, kMostDomains> registered_{};
  std::atomic<std::size_t> next_registered_{0};
};

/// The ranges of one name, as far as records tell.
struct NamedRanges {
  std::string name;  ///< empty: none are counted
  std::uint64_t begun = 0;
  std::uint64_t open = 0;
};

}  // namespace jitterscope::recorder
