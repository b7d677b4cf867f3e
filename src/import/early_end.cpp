#include "import/early_end.hpp"

#include <algorithm>
#include <iterator>

namespace jitterscope {
namespace {

/// What a text of JSON has open at its end.
class OpenBrackets {
 public:
  explicit OpenBrackets(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size() && !wrong_; ++i) {
      if (in_string_) {
        if (text[i] == '\\')
          ++i;
        else if (text[i] == '"')
          in_string_ = false;
      } else if (text[i] == '"') {
        in_string_ = true;
      } else if (text[i] == '{' || text[i] == '[') {
        open_ += text[i];
      } else if (text[i] == '}' || text[i] == ']') {
        close(i);
      }
    }
  }

  bool any() const { return !wrong_ && (in_string_ || !open_.empty()); }
  std::optional<std::size_t> wrong() const { return wrong_; }
  std::string closed() const {
    std::string result(text_.substr(0, whole_));
    std::transform(open_at_whole_.rbegin(), open_at_whole_.rend(), std::back_inserter(result), closing);
    return result;
  }

 private:
  static char closing(char bracket) { return bracket == '{' ? '}' : ']'; }

  void close(std::size_t place) {
    if (open_.empty() || closing(open_.back()) != text_[place]) {
      wrong_ = place;
      return;
    }
    open_.pop_back();
    if (text_[place] != '}' || (open_ != "{[" && open_ != "[")) return;
    whole_ = place + 1;
    open_at_whole_ = open_;
  }

  std::string_view text_;
  std::string open_;
  bool in_string_ = false;
  std::optional<std::size_t> wrong_;
  std::size_t whole_ = 0;      ///< where the last whole element ends
  std::string open_at_whole_;  ///< there
};

}  // namespace

std::optional<std::string> closed_json(std::string_view text) {
  const OpenBrackets brackets(text);
  return brackets.any() ? std::optional(brackets.closed()) : std::nullopt;
}

std::optional<std::size_t> wrong_bracket(std::string_view text) { return OpenBrackets(text).wrong(); }

}  // namespace jitterscope
