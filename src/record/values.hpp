// Describes each type of a record once, by a function in the type's namespace with a line for each field:
//
//   template <class Fields>
//   void describe(Fields& fields, Described<Fields, Mode>& mode) {
//     fields("location_seconds", mode.location);
//     fields("weight", mode.weight);
//   }
//
// The same lines write (Fields is Writer, the value is const) and read (Fields is Reader). More words:
//   fields.where(is_there, key, value)  written only if `is_there`; otherwise the reader keeps the default
//   fields.derived(key, value)          written only, for users of the file: it follows from other fields
//   fields.require(key)                 the reader refuses a file without it
//   fields.check(holds, key, expected)  the reader refuses a file if false: "key: `expected` was expected"
//   check_elements(fields, key, list, inner, holds, expected)  the same for each element: "key[2].inner: …"
//   Fields::kWrites                     true for Writer, false for Reader
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "jitterscope/measurement.hpp"
#include "record/json_text.hpp"
#include "record/words.hpp"

namespace jitterscope {

template <class Fields, class T>
using Described = typename Fields::template Value<T>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsQuantity = false;
template <class Tag, class Representation>
inline constexpr bool kIsQuantity<Quantity<Tag, Representation>> = true;

template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;
/// Stored as one word.
template <class T>
concept Enumeration = std::is_enum_v<T>;
/// Has `key` and `value`, like Property and Evidence. A list is stored as an object with its keys in order.
template <class T>
concept Named = std::is_class_v<T> && requires(T named) {
  { named.key } -> std::convertible_to<std::string>;
  named.value;
};

template <class T>
inline constexpr bool kIsNamedList = false;
template <Named T>
inline constexpr bool kIsNamedList<std::vector<T>> = true;

/// Returns a list's element before it is read. A type that has no empty value has an overload.
template <class T>
T blank(std::type_identity<T>) {
  return T{};
}

/// Checks each element of a list, for example that an index into another list is in range.
template <class Fields, class T, class Holds>
void check_elements(Fields& fields, std::string_view key, const std::vector<T>& list, std::string_view inner,
                    const Holds& holds, std::string_view expected) {
  if constexpr (!Fields::kWrites) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::string place = std::string(key) + '[' + std::to_string(i) + ']';
      if (!inner.empty()) place += '.' + std::string(inner);
      fields.check(holds(list[i]), place, expected);
    }
  }
}

// Reader takes the fields of a description out of a JSON object.

/// Position of a value in a file, for messages.
struct Place {
  const Place* parent = nullptr;
  std::string_view key;   ///< name of the file if `parent` is null
  std::size_t index = 0;  ///< index in a list, used if `key` is empty

  /// Returns "results[3].measurements[0].time"; empty for the file itself.
  std::string path() const;
  /// Throws UsageError with the file, the path, and "`expected` was expected".
  [[noreturn]] void refuse(std::string_view expected) const;
  /// Throws UsageError with the file, the path, and a sentence that says what is wrong.
  [[noreturn]] void fail(std::string_view sentence) const;
};

/// Fields that a file lacks keep their defaults, because older versions wrote fewer. Unknown keys are
/// ignored.
class Reader {
 public:
  static constexpr bool kWrites = false;
  template <class T>
  using Value = T;

  /// Throws UsageError if the JSON is no object.
  Reader(const Json& object, const Place& place);

  template <class T>
  void operator()(std::string_view key, T& value) {
    if (const Json* found = find(key)) read(*found, inside(key), value);
  }
  template <class T>
  void where(bool, std::string_view key, T& value) {
    (*this)(key, value);
  }
  template <class T>
  void derived(std::string_view, const T&) {}
  void require(std::string_view key) const;
  void check(bool holds, std::string_view key, std::string_view expected) const {
    if (!holds) inside(key).refuse(expected);
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  Place inside(std::string_view key) const { return {&place_, key}; }

  template <class T>
  static void read(const Json& json, const Place& place, T& value);

 private:
  static bool get_bool(const Json& json, const Place& place);
  static double get_number(const Json& json, const Place& place);
  static std::int64_t get_signed(const Json& json, const Place& place, std::int64_t least, std::int64_t most);
  static std::uint64_t get_unsigned(const Json& json, const Place& place, std::uint64_t most);
  static std::string get_text(const Json& json, const Place& place);
  static Nanoseconds get_time(const Json& json, const Place& place);
  static Operation get_operation(const Json& json, const Place& place);
  static jitterscope::Value get_value(const Json& json, const Place& place);
  static std::size_t array_size(const Json& json, const Place& place);
  static std::size_t object_size(const Json& json, const Place& place);
  static const Json& element(const Json& array, std::size_t index);
  static std::pair<std::string, const Json*> item(const Json& object, std::size_t index);
  [[noreturn]] static void refuse_word(const Place& place, const std::string& word,
                                       const std::vector<std::string>& known);
  const Json* find(std::string_view key) const;

  const Json& object_;
  const Place& place_;
};

template <class T>
void Reader::read(const Json& json, const Place& place, T& value) {
  if constexpr (kIsOptional<T>) {
    read(json, place, value.emplace());
  } else if constexpr (kIsNamedList<T>) {
    value.clear();
    for (std::size_t i = 0, size = object_size(json, place); i < size; ++i) {
      const auto [key, found] = item(json, i);
      value.push_back(blank(std::type_identity<typename T::value_type>()));
      value.back().key = key;
      read(*found, Place{&place, key}, value.back().value);
    }
  } else if constexpr (kIsList<T>) {
    value.clear();
    const std::size_t size = array_size(json, place);
    value.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      value.push_back(blank(std::type_identity<typename T::value_type>()));
      read(element(json, i), Place{&place, {}, i}, value.back());
    }
  } else if constexpr (Enumeration<T>) {
    const std::string text = get_text(json, place);
    std::vector<std::string> known;
    for (const T each : enumerators(T{})) {
      known.push_back(identifier(to_string(each)));
      if (known.back() != text) continue;
      value = each;
      return;
    }
    refuse_word(place, text, known);
  } else if constexpr (std::same_as<T, bool>) {
    value = get_bool(json, place);
  } else if constexpr (std::same_as<T, Nanoseconds>) {
    value = get_time(json, place);
  } else if constexpr (kIsQuantity<T>) {
    auto number = value.value();
    read(json, place, number);
    value = T(number);
  } else if constexpr (std::floating_point<T>) {
    value = get_number(json, place);
  } else if constexpr (std::unsigned_integral<T>) {
    value = static_cast<T>(get_unsigned(json, place, std::numeric_limits<T>::max()));
  } else if constexpr (std::signed_integral<T>) {
    value =
        static_cast<T>(get_signed(json, place, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::same_as<T, std::string>) {
    value = get_text(json, place);
  } else if constexpr (std::same_as<T, Operation>) {
    value = get_operation(json, place);
  } else if constexpr (std::same_as<T, jitterscope::Value>) {
    value = get_value(json, place);
  } else {
    Reader fields(json, place);
    describe(fields, value);
  }
}

// Writer puts the fields of a description into a JSON object.

/// Omits unknown values: an empty optional, a number that is not finite, an empty text.
class Writer {
 public:
  static constexpr bool kWrites = true;
  template <class T>
  using Value = const T;

  /// Makes `object` an empty object.
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

// Converts parts of records to and from JSON, for other folders' records and for tests.

/// Writes any described type, number, text, list or optional. An optional without a value becomes null.
template <class T>
Json write_value(const T& value) {
  Json json;
  Writer::write(json, value);
  return json;
}

/// The reverse of write_value. Throws UsageError, which begins with `name` and the path of the faulty value.
template <class T>
T read_value(const Json& json, std::string_view name) {
  T value = blank(std::type_identity<T>());
  Reader::read(json, Place{nullptr, name}, value);
  return value;
}

}  // namespace jitterscope
