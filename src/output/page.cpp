#include "output/page.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace jitterscope {
namespace {

std::optional<std::size_t> columns_variable() {
  const char* value = std::getenv("COLUMNS");
  if (value == nullptr) return std::nullopt;
  const std::string_view text(value);
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), columns);
  if (error != std::errc() || end != text.end() || columns == 0) return std::nullopt;
  return columns;
}

}  // namespace

std::optional<std::size_t> terminal_width(std::FILE* stream) {
  winsize size{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

std::size_t page_width() {
  // Narrower, no table has room beside its numbers; wider, the end of a line is not found from its beginning.
  constexpr std::size_t kNarrowest = 60, kWidest = 200;
  std::optional<std::size_t> width = terminal_width(stdout);
  if (!width) width = columns_variable();
  return std::clamp(width.value_or(kPageWidth), kNarrowest, kWidest);
}

}  // namespace jitterscope
