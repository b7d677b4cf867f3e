// Puts the fields of a description into a JSON object.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "record/described.hpp"
#include "record/json_text.hpp"
#include "record/numbers.hpp"
#include "record/words.hpp"

namespace jitterscope {

/// Leaves out what is not known: nothing, a number that is not finite, an empty text.
class Writer {
 public:
  static constexpr bool kWrites = true;
  template <class T>
  using Value = const T;

  /// `object` becomes an object without fields.
  explicit Writer(Json& object);

  template <class T>
  void operator()(std::string_view key, const T& value) {
    where(true, key, value);
  }
  template <class T>
  void where(bool is_there, std::string_view key, const T& value) {
    if (is_there && is_known(value)) write(field(key), value);
  }
  template <class T>
  void derived(std::string_view key, const T& value) {
    if constexpr (std::floating_point<T>) {
      where(true, key, six_digits(value));
    } else {
      where(true, key, value);
    }
  }
  void require(std::string_view) {}
  void check(bool, std::string_view, std::string_view) {}

  template <class T>
  static void write(Json& place, const T& value);

 private:
  template <class T>
  static bool is_known(const T& value);
  template <class T>
  static bool is_number(const T& value);

  static void set(Json& place, bool value);
  static void set(Json& place, double value);
  static void set(Json& place, std::int64_t value);
  static void set(Json& place, std::uint64_t value);
  static void set(Json& place, std::string_view value);
  static void set_json(Json& place, const Json& value);
  static void set(Json& place, Nanoseconds value);
  static void make_array(Json& place);
  static Json& appended(Json& array);
  Json& field(std::string_view key);

  Json& object_;
};

template <class T>
bool Writer::is_number(const T& value) {
  if constexpr (std::floating_point<T>) {
    return std::isfinite(value);
  } else if constexpr (kIsQuantity<T>) {
    return std::isfinite(static_cast<double>(value.value()));
  } else if constexpr (std::same_as<T, jitterscope::Value>) {
    return !std::holds_alternative<double>(value) || std::isfinite(std::get<double>(value));
  } else {
    return true;
  }
}

template <class T>
bool Writer::is_known(const T& value) {
  if constexpr (kIsOptional<T>) {
    return value && is_known(*value);
  } else if constexpr (std::same_as<T, std::string>) {
    return !value.empty();
  } else {
    return is_number(value);
  }
}

template <class T>
void Writer::write(Json& place, const T& value) {
  if constexpr (kIsOptional<T>) {
    write(place, *value);
  } else if constexpr (kIsNamedList<T>) {
    Writer object(place);
    for (const auto& each : value) {
      if (is_number(each.value)) write(object.field(each.key), each.value);
    }
  } else if constexpr (kIsList<T>) {
    make_array(place);
    for (const auto& each : value) {
      if (is_number(each)) write(appended(place), each);
    }
  } else if constexpr (Enumeration<T>) {
    set(place, std::string_view(identifier(to_string(value))));
  } else if constexpr (std::same_as<T, Nanoseconds> || std::same_as<T, bool>) {
    set(place, value);
  } else if constexpr (std::same_as<T, Json>) {
    set_json(place, value);
  } else if constexpr (kIsQuantity<T>) {
    write(place, value.value());
  } else if constexpr (std::floating_point<T>) {
    set(place, static_cast<double>(value));
  } else if constexpr (std::unsigned_integral<T>) {
    set(place, static_cast<std::uint64_t>(value));
  } else if constexpr (std::signed_integral<T>) {
    set(place, static_cast<std::int64_t>(value));
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    set(place, std::string_view(value));
  } else if constexpr (std::same_as<T, Operation>) {
    set(place, std::string_view(value.text()));
  } else if constexpr (std::same_as<T, jitterscope::Value>) {
    std::visit([&](const auto& each) { write(place, each); }, value);
  } else {
    Writer fields(place);
    describe(fields, value);
  }
}

}  // namespace jitterscope
