#include "record/values.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

std::string Place::path() const {
  if (parent == nullptr) return {};
  const std::string before = parent->path();
  if (key.empty()) return fmt::format("{}[{}]", before, index);
  return before.empty() ? std::string(key) : fmt::format("{}.{}", before, key);
}

void Place::refuse(std::string_view expected) const {
  fail(fmt::format("{} was expected; the file was changed, or something else wrote it", expected));
}

void Place::fail(std::string_view sentence) const {
  const Place* file = this;
  while (file->parent != nullptr) file = file->parent;
  const std::string where = path();
  throw UsageError(fmt::format("{}: {}{}{}", file->key, where, where.empty() ? "" : ": ", sentence));
}

Reader::Reader(const Json& object, const Place& place) : object_(object), place_(place) {
  if (!object_.is_object()) place_.refuse("an object");
}

const Json* Reader::find(std::string_view key) const {
  const auto found = object_.find(std::string(key));
  return found == object_.end() ? nullptr : &*found;
}

void Reader::require(std::string_view key) const {
  if (!has(key)) inside(key).refuse("a value");
}

bool Reader::get_bool(const Json& json, const Place& place) {
  if (!json.is_boolean()) place.refuse("true or false");
  return json.get<bool>();
}

double Reader::get_number(const Json& json, const Place& place) {
  if (!json.is_number()) place.refuse("a number");
  return json.get<double>();
}

std::int64_t Reader::get_signed(const Json& json, const Place& place, std::int64_t least, std::int64_t most) {
  const bool too_large =
      json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (!json.is_number_integer() || too_large || json.get<std::int64_t>() < least ||
      json.get<std::int64_t>() > most) {
    place.refuse(fmt::format("a whole number from {} to {}", least, most));
  }
  return json.get<std::int64_t>();
}

std::uint64_t Reader::get_unsigned(const Json& json, const Place& place, std::uint64_t most) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most) {
    place.refuse(fmt::format("a whole number from 0 to {}", most));
  }
  return json.get<std::uint64_t>();
}

std::string Reader::get_text(const Json& json, const Place& place) {
  if (!json.is_string()) place.refuse("a text");
  return json.get<std::string>();
}

Nanoseconds Reader::get_time(const Json& json, const Place& place) {
  const Nanoseconds time = from_seconds(get_number(json, place));
  if (!std::isfinite(time.value())) place.refuse("a number of seconds below 1e299");
  return time;
}

Operation Reader::get_operation(const Json& json, const Place& place) {
  const std::string text = get_text(json, place);
  try {
    return Operation::parse(text);
  } catch (const UsageError& error) {
    place.fail(error.what());
  }
}

Value Reader::get_value(const Json& json, const Place& place) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return get_signed(json, place, std::numeric_limits<std::int64_t>::min(), kMost);
  }
  if (!json.is_number()) place.refuse("a number, a text, true or false");
  return json.get<double>();
}

std::size_t Reader::array_size(const Json& json, const Place& place) {
  if (!json.is_array()) place.refuse("a list");
  return json.size();
}

std::size_t Reader::object_size(const Json& json, const Place& place) {
  if (!json.is_object()) place.refuse("an object");
  return json.size();
}

const Json& Reader::element(const Json& array, std::size_t index) { return array[index]; }

std::pair<std::string, const Json*> Reader::item(const Json& object, std::size_t index) {
  const auto place = std::next(object.begin(), static_cast<std::ptrdiff_t>(index));
  return {place.key(), &*place};
}

void Reader::refuse_word(const Place& place, const std::string& word, const std::vector<std::string>& known) {
  place.fail(fmt::format("unknown word '{}'{}", word, suggestion(word, known)));
}

Writer::Writer(Json& object) : object_(object) { object_ = Json::object(); }

Json& Writer::field(std::string_view key) { return object_[std::string(key)]; }

void Writer::set(Json& place, bool value) { place = value; }
void Writer::set(Json& place, double value) { place = value; }
void Writer::set(Json& place, std::int64_t value) { place = value; }
void Writer::set(Json& place, std::uint64_t value) { place = value; }
void Writer::set(Json& place, std::string_view value) { place = std::string(value); }
void Writer::set_json(Json& place, const Json& value) { place = value; }
void Writer::set(Json& place, Nanoseconds value) { place = in_seconds(value); }

void Writer::make_array(Json& place) { place = Json::array(); }

Json& Writer::appended(Json& array) {
  array.push_back(nullptr);
  return array.back();
}

}  // namespace jitterscope
