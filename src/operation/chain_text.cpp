// The text of chains: chain:[relu:count=1Ki]*16[copy:bytes=4Ki],lanes=4.
#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/kinds.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

// Just behind the bracket that closes the first one; npos where none does. Kernels have brackets of their
// own.
std::size_t bracket_end(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

bool is_decimal(char letter) { return letter >= '0' && letter <= '9'; }

// `*16`, or nothing.
std::size_t times_end(std::string_view text) {
  if (!text.starts_with('*')) return 0;
  const auto end = std::find_if_not(text.begin() + 1, text.end(), is_decimal);
  return static_cast<std::size_t>(end - text.begin());
}

[[noreturn]] void fail_steps(std::string_view text) {
  throw UsageError("chain: " + in_quotes(text) +
                   " is no step: write each in brackets, as in chain:[relu:count=1Mi]*4[copy:bytes=4Mi]");
}

}  // namespace

std::size_t chain_steps_end(std::string_view text) {
  std::size_t end = 0;
  while (text.substr(end).starts_with('[')) {
    const std::size_t bracket = bracket_end(text.substr(end));
    if (bracket == std::string_view::npos) return end;
    end += bracket;
    end += times_end(text.substr(end));
  }
  return end;
}

std::vector<Operation> read_chain_steps(std::string_view text) {
  constexpr std::int64_t kMost = 64;
  std::vector<Operation> steps;
  if (text.empty()) fail_steps(text);
  while (!text.empty()) {
    const std::size_t bracket = text.starts_with('[') ? bracket_end(text) : std::string_view::npos;
    if (bracket == std::string_view::npos) fail_steps(text);
    // A chain in a chain in a chain would read itself as deep as the text is long.
    const std::string_view inner = trimmed(text.substr(1, bracket - 2));
    if (inner.starts_with(kChainKind)) throw UsageError("chain: a step is a chain itself; write its steps");
    const Operation step = Operation::parse(inner);
    text.remove_prefix(bracket);
    const std::size_t times = times_end(text);
    std::int64_t count = 1;
    if (times > 0) count = read_count(text.substr(1, times - 1)).value_or(0);
    if (count < 1 || count > kMost - std::ssize(steps)) {
      throw UsageError(fmt::format(
          "chain: {} behind a step is impossible: a chain has 1 to {} steps, and more launches by lanes=",
          in_quotes(text.substr(0, times)), kMost));
    }
    steps.insert(steps.end(), static_cast<std::size_t>(count), step);
    text.remove_prefix(times);
  }
  return steps;
}

std::string chain_text(const Chain& chain) {
  std::string steps;
  for (std::size_t i = 0; i < chain.steps.size();) {
    std::size_t next = i + 1;
    while (next < chain.steps.size() && chain.steps[next] == chain.steps[i]) ++next;
    steps += "[" + chain.steps[i].text() + "]";
    if (next - i > 1) steps += fmt::format("*{}", next - i);
    i = next;
  }
  ParameterWriter writer(kChainKind);
  writer.write_subject(steps);
  kinds::write(chain, writer);
  return writer.text();
}

}  // namespace jitterscope
