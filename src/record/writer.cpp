#include "record/writer.hpp"

#include <nlohmann/json.hpp>

#include "record/numbers.hpp"

namespace jitterscope {

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
