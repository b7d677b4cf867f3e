#include "device/clock_request.hpp"

#include <fmt/format.h>

#include <charconv>

#include "jitterscope/error.hpp"

namespace jitterscope {

Hertz requested_megahertz(std::string_view request) {
  constexpr std::string_view kUnit = "MHz";
  const std::string_view typed = request;
  if (request.ends_with(kUnit)) request.remove_suffix(kUnit.size());
  unsigned mhz = 0;
  const auto [end, error] = std::from_chars(request.data(), request.data() + request.size(), mhz);
  if (error == std::errc() && end == request.data() + request.size()) return megahertz(mhz);
  throw UsageError(fmt::format("a clock to lock is base, max or a number of MHz, not '{}'", typed));
}

}  // namespace jitterscope
