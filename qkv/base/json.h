// JSON values, and their reader for untrusted files.
//
//     const Json json = parse_json_object(read_file("config.json"), "config.json");
//     if (json.contains("heads")) fail("config", "got {}", shown_json(json["heads"]));
//     const Json line = {{"step", 100}, {"loss", 2.5f}};  // an object; line.dump() is {"step":100,"loss":2.5}
//
// A value is null, a boolean, an integer, a floating-point number, a string, an array or an object. The members of an
// object keep their order, and looking one up takes as many steps as there are members. A float is held as the double
// with the same shortest decimal form: 0.1f is written as 0.1. Neither reading nor writing depends on the locale.
//
// The text that parse_json_object() accepts is one object within JsonLimits, valid UTF-8, no name twice in one object.
// Anything else is an InputError with line and byte: "config.json: this is not a JSON object: line 3, byte 17:
// unexpected '}'". Access to a value of another kind is an Error that says what the value is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace qkv {

class Json {
 public:
  struct Member;  // name, value
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  Json();  // null
  // NOLINTBEGIN: implicit, so that values, lists and maps are written as they are
  Json(std::nullptr_t);
  template <std::same_as<bool> T>
  Json(T value) : Json(std::in_place, value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value)
      : Json(std::in_place, static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value)) {}
  Json(float value);
  Json(double value);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  template <class T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const auto& value : values) push_back(value);
  }
  template <class Map>
  requires requires { typename Map::mapped_type; }
  Json(const Map& members) : Json(object()) {
    for (const auto& [name, value] : members) append(name, value);
  }
  // {{"name", value}, ...}: an object if every item is a list of two that begins with a string, else an array.
  Json(std::initializer_list<Json> items);
  // NOLINTEND

  static Json object();
  static Json array();
  static Json array(std::initializer_list<Json> items);
  static Json parse(std::string_view text);  // any value; an Error if it is not JSON
  static std::optional<Json> try_parse(std::string_view text);

  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_number_integer() const;
  bool is_number_unsigned() const;  // an integer from 0
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  // T: bool, a number, std::string, or a vector of these. An integer must be representable in T.
  template <class T>
  T get() const;
  const std::string& text() const;  // of a string

  // The items of an array or the members of an object; none of any other value.
  size_t size() const;
  bool empty() const { return size() == 0; }

  const Array& array_items() const;
  Array::const_iterator begin() const { return array_items().begin(); }
  Array::const_iterator end() const { return array_items().end(); }
  const Json& operator[](size_t index) const;
  const Json& operator[](int index) const { return (*this)[static_cast<size_t>(index)]; }
  void push_back(Json value);  // null becomes an array

  const Object& items() const;
  const Json* find(std::string_view name) const;  // null: no such member, or not an object
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const Json& value(std::string_view name) const;  // null if there is no such member
  const Json& at(std::string_view name) const;
  const Json& operator[](std::string_view name) const { return at(name); }
  // Added if it is missing; null becomes an object. References to members end when one is added.
  Json& operator[](std::string_view name);
  void append(std::string name, Json value);  // a member that is known to be new: no look-up
  void erase(std::string_view name);

  bool operator==(const Json& other) const;  // objects: with the same members in the same order

  // The text on one line, or indented by so many spaces. Invalid UTF-8 is an Error, or becomes U+FFFD.
  struct Format {
    int indent = -1;
    bool ascii = false;  // other characters as \uXXXX
    bool replace_invalid = false;
  };
  std::string dump(int indent = -1) const { return dump(Format{.indent = indent}); }
  std::string dump(const Format& format) const;

 private:
  Json(std::in_place_t, bool value);
  Json(std::in_place_t, int64_t value);
  Json(std::in_place_t, uint64_t value);
  bool boolean() const;
  double number() const;
  int64_t signed_integer(int64_t smallest, int64_t largest) const;
  uint64_t unsigned_integer(uint64_t largest) const;
  [[noreturn]] void wrong_kind(std::string_view expected) const;

  // An integer is a uint64_t only if it is not an int64_t.
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

struct Json::Member {
  std::string name;
  Json value;
  bool operator==(const Member&) const = default;
};

template <class T>
T Json::get() const {
  if constexpr (std::same_as<T, bool>) {
    return boolean();
  } else if constexpr (std::same_as<T, std::string>) {
    return text();
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(number());
  } else if constexpr (std::signed_integral<T>) {
    return static_cast<T>(signed_integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(unsigned_integer(std::numeric_limits<T>::max()));
  } else {
    T values;
    for (const Json& item : *this) values.push_back(item.get<typename T::value_type>());
    return values;
  }
}

struct JsonLimits {
  size_t bytes = 1'000'000;
  int depth = 32;
  size_t name_bytes = 200;
};

// `where` begins the error: the file.
Json parse_json_object(std::string_view text, std::string_view where, const JsonLimits& limits = {});

// A value as a message shows it: on one line, not too long. An argument of require(): the text is made only if the
// requirement fails.
struct ShownJson {
  const Json& value;
  std::string text() const;
};
inline ShownJson shown_json(const Json& value) { return {value}; }

std::ostream& operator<<(std::ostream& out, const Json& value);

}  // namespace qkv

template <>
struct fmt::formatter<qkv::ShownJson> : fmt::formatter<std::string> {
  auto format(const qkv::ShownJson& shown, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(shown.text(), context);
  }
};
