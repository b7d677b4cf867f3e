// Takes the fields of a description out of a JSON object.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "record/described.hpp"
#include "record/json_text.hpp"
#include "record/words.hpp"

namespace jitterscope {

/// Where a value stands in a file, for messages.
struct Place {
  const Place* parent = nullptr;
  std::string_view key;   ///< of the outermost: the file's name
  std::size_t index = 0;  ///< where the key is empty: of an element

  /// "results[3].measurements[0].time"; empty for the file itself.
  std::string path() const;
  /// Throws UsageError: the file, the path, and "`expected` was expected".
  [[noreturn]] void refuse(std::string_view expected) const;
  /// Likewise, with a sentence that says what is wrong.
  [[noreturn]] void fail(std::string_view sentence) const;
};

/// What a file does not have keeps its default: older versions wrote less. Keys that are not described are
/// passed over.
class Reader {
 public:
  static constexpr bool kWrites = false;
  template <class T>
  using Value = T;

  /// Throws UsageError where it is no object.
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

}  // namespace jitterscope
