// Each type of a record is described once, by a function in the type's namespace with a line for each field:
//
//   template <class Fields>
//   void describe(Fields& fields, Described<Fields, Mode>& mode) {
//     fields("location_seconds", mode.location);
//     fields("weight", mode.weight);
//   }
//
// The same lines write (Fields is Writer, the value const) and read (Reader). Further words of a description:
//   fields.where(is_there, key, value)  left out of the file where it is not there; then its default is read
//   fields.derived(key, value)          for users of the file: follows from other fields, and is not read
//   fields.require(key)                 a file without it is refused
//   fields.check(holds, key, expected)  a file that breaks it is refused: "key: `expected` was expected"
//   check_elements(fields, key, list, inner, holds, expected)  likewise each element: "key[2].inner: …"
//   Fields::kWrites                      which of the two it is
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "jitterscope/measurement.hpp"

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
/// One word of several.
template <class T>
concept Enumeration = std::is_enum_v<T>;
/// A list of them is an object in the file, the keys in their order: Property, Evidence.
template <class T>
concept Named = std::is_class_v<T> && requires(T named) {
  { named.key } -> std::convertible_to<std::string>;
  named.value;
};

template <class T>
inline constexpr bool kIsNamedList = false;
template <Named T>
inline constexpr bool kIsNamedList<std::vector<T>> = true;

/// What an element of a list is before it is read. Types that have no empty value have an overload.
template <class T>
T blank(std::type_identity<T>) {
  return T{};
}

/// Of elements that say a number of another list: whoever shows them takes it for one that is there.
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

}  // namespace jitterscope
