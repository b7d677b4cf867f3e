#include "import/api_record.hpp"

#include <algorithm>
#include <utility>

namespace jitterscope::library_log {
namespace {

bool equal_but_for_case(std::string_view text, std::string_view other) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  };
  return text.size() == other.size() && std::equal(text.begin(), text.end(), other.begin(),
                                                   [&](char a, char b) { return lower(a) == lower(b); });
}

std::optional<ApiField> field_in(std::string_view text) {
  if (!consume(text, "i!")) return std::nullopt;
  const std::size_t depth = text.find_first_not_of(' ');
  if (depth == std::string_view::npos) return std::nullopt;
  text.remove_prefix(depth);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return ApiField{depth, text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

std::vector<ApiFields> ApiFields::all() const {
  std::vector<ApiFields> found;
  const std::size_t outer = first_->depth;
  // Those directly in it are the least deep that follow; a deeper field belongs to the one before it.
  const ApiField* field = first_ + 1;
  while (field != last_) {
    const ApiField* end =
        std::find_if(field + 1, last_, [&](const ApiField& next) { return next.depth <= field->depth; });
    if (field->depth > outer) found.emplace_back(field, end);
    field = end;
  }
  return found;
}

std::vector<ApiFields> ApiFields::find_all(std::string_view name) const {
  std::vector<ApiFields> found = all();
  std::erase_if(found, [&](const ApiFields& field) { return field.name() != name; });
  return found;
}

std::optional<ApiFields> ApiFields::find(std::string_view name) const {
  const std::vector<ApiFields> found = find_all(name);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::string_view ApiFields::type() const {
  const std::optional<std::string_view> type = after(first_->rest, "type=");
  return type ? trimmed(until(*type, ";:")) : std::string_view();
}

std::string_view ApiFields::value() const {
  const std::optional<std::string_view> found = after(first_->rest, "val=");
  if (!found) return {};
  std::string_view value = *found;
  if (consume(value, "\"")) return until(value, "\"");
  return trimmed(until(value, ";( "));
}

std::vector<std::int64_t> ApiFields::numbers() const {
  return number_list(value()).value_or(std::vector<std::int64_t>());
}

std::string_view ApiRecord::process() const {
  const std::optional<std::string_view> process = after(foot, "Process=");
  return process ? until(*process, ";") : std::string_view();
}

std::string_view ApiRecord::thread() const {
  constexpr std::string_view kThread = "Thread=";
  const std::size_t begin = foot.find("Process="), thread = foot.find(kThread);
  if (thread == std::string_view::npos) return {};
  const std::size_t end = thread + kThread.size() + until(foot.substr(thread + kThread.size()), ";").size();
  return begin < thread ? foot.substr(begin, end - begin) : foot.substr(thread, end - thread);
}

// "I! CuDNN (v91900 56) function cudnnCreate() called:"; cuBLAS writes the whole signature of the function.
std::optional<ApiRecord> ApiRecordReader::head_in(const Line& line) const {
  std::string_view text = line.text;
  if (!consume(text, "I! ") || !equal_but_for_case(until(text, " "), library_)) return std::nullopt;
  const std::optional<std::string_view> version = after(text, " (v"), signature = after(text, ") function ");
  if (!version || !signature) return std::nullopt;
  const std::string_view named = trimmed(until(*signature, "("));
  const std::size_t space = named.rfind(' ');
  ApiRecord record;
  record.line = line.number;
  record.version = until(*version, " )");
  record.function = space == std::string_view::npos ? named : named.substr(space + 1);
  // So that arguments() has a field that all others are nested in.
  record.fields.push_back({.depth = 0, .name = record.function, .rest = {}});
  return record;
}

std::optional<ApiRecord> ApiRecordReader::next() {
  std::optional<ApiRecord> record = std::exchange(begun_, std::nullopt);
  while (const std::optional<Line> line = lines_.next()) {
    if (std::optional<ApiRecord> head = head_in(*line)) {
      if (record) {
        begun_ = std::move(head);
        return record;
      }
      record = std::move(head);
      continue;
    }
    if (!record) continue;
    const std::string_view text = trimmed(line->text.substr(std::min<std::size_t>(2, line->text.size())));
    if (line->text.starts_with("i!") && text.starts_with("Process=")) {
      record->is_complete = true;
      record->foot = text;
      return record;
    }
    if (const std::optional<ApiField> field = field_in(line->text)) record->fields.push_back(*field);
  }
  return record;
}

}  // namespace jitterscope::library_log
