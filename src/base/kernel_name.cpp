#include "base/kernel_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace jitterscope {

std::string kernel_identity(std::string_view name) {
  for (const std::string_view word : {"memset", "memcpy"}) {
    // "Memset (Device)", "Memcpy DtoD (Device -> Device)".
    const bool begins = name.size() >= word.size() && (name[0] == 'm' || name[0] == 'M') &&
                        name.substr(1, word.size() - 1) == word.substr(1);
    if (begins) return std::string(word);
  }
  std::string text(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  if (text.starts_with("_Z") && status == 0 && plain != nullptr) text = plain.get();
  std::erase(text, ' ');
  return text;
}

}  // namespace jitterscope
