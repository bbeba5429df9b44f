#include "qkv/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

// The double nearest to the shortest decimal form of a float: 0.1, not 0.10000000149.
double shortest_double(float value) {
  if (!std::isfinite(value)) return value;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double out = 0;
  std::from_chars(text, end, out);
  return out;
}

}  // namespace

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(std::in_place_t, bool value) : value_(value) {}
Json::Json(std::in_place_t, int64_t value) : value_(value) {}
Json::Json(std::in_place_t, uint64_t value) {
  if (value <= uint64_t{INT64_MAX}) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = value;
  }
}
Json::Json(float value) : value_(shortest_double(value)) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::initializer_list<Json> items) {
  const auto is_member = [](const Json& item) {
    return item.is_array() && item.size() == 2 && item[0].is_string();
  };
  if (!std::all_of(items.begin(), items.end(), is_member)) {
    value_ = Array(items);
    return;
  }
  value_ = Object();
  for (const Json& item : items) append(item[0].text(), item[1]);
}

// Not the copy constructor of std::variant: the one of GCC 12 destroys what it did not make where an allocation fails.
Json::Json(const Json& other) {
  std::visit([&](const auto& value) { value_ = value; }, other.value_);
}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json Json::object() {
  Json out;
  out.value_ = Object();
  return out;
}

Json Json::array() { return array({}); }

Json Json::array(std::initializer_list<Json> items) {
  Json out;
  out.value_ = Array(items);
  return out;
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const { return is_number_integer() || std::holds_alternative<double>(value_); }
bool Json::is_number_integer() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}
bool Json::is_number_unsigned() const {
  const int64_t* value = std::get_if<int64_t>(&value_);
  return value ? *value >= 0 : std::holds_alternative<uint64_t>(value_);
}
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

void Json::wrong_kind(std::string_view expected) const {
  fail("json", "expected {}, got {}", expected, shown_json(*this));
}

bool Json::boolean() const {
  if (!is_boolean()) wrong_kind("true or false");
  return std::get<bool>(value_);
}

double Json::number() const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const uint64_t* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  if (!is_number()) wrong_kind("a number");
  return std::get<double>(value_);
}

int64_t Json::signed_integer(int64_t smallest, int64_t largest) const {
  const int64_t* value = std::get_if<int64_t>(&value_);
  if (!value || *value < smallest || *value > largest)
    wrong_kind(fmt::format("an integer from {} to {}", smallest, largest));
  return *value;
}

uint64_t Json::unsigned_integer(uint64_t largest) const {
  const uint64_t* large = std::get_if<uint64_t>(&value_);
  const uint64_t value = large ? *large : static_cast<uint64_t>(signed_integer(0, INT64_MAX));
  if (value > largest) wrong_kind(fmt::format("an integer from 0 to {}", largest));
  return value;
}

const std::string& Json::text() const {
  if (!is_string()) wrong_kind("a string");
  return std::get<std::string>(value_);
}

size_t Json::size() const {
  if (is_array()) return std::get<Array>(value_).size();
  return is_object() ? std::get<Object>(value_).size() : 0;
}

const Json::Array& Json::array_items() const {
  if (!is_array()) wrong_kind("a list");
  return std::get<Array>(value_);
}

const Json& Json::operator[](size_t index) const {
  const Array& items = array_items();
  if (index >= items.size()) fail("json", "there is no item {}: {}", index, shown_json(*this));
  return items[index];
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array();
  if (!is_array()) wrong_kind("a list");
  std::get<Array>(value_).push_back(std::move(value));
}

const Json::Object& Json::items() const {
  if (!is_object()) wrong_kind("an object");
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  for (const Member& member : std::get<Object>(value_))
    if (member.name == name) return &member.value;
  return nullptr;
}

const Json& Json::value(std::string_view name) const {
  static const Json null;
  const Json* found = find(name);
  return found ? *found : null;
}

const Json& Json::at(std::string_view name) const {
  const Json* found = find(name);
  if (!found) fail("json", "there is no {} in {}", quoted_name(name), shown_json(*this));
  return *found;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object();
  if (!is_object()) wrong_kind("an object");
  if (!contains(name)) append(std::string(name), nullptr);
  return const_cast<Json&>(std::as_const(*this).at(name));
}

void Json::append(std::string name, Json value) {
  if (is_null()) value_ = Object();
  if (!is_object()) wrong_kind("an object");
  std::get<Object>(value_).push_back({std::move(name), std::move(value)});
}

void Json::erase(std::string_view name) {
  if (!is_object()) wrong_kind("an object");
  std::erase_if(std::get<Object>(value_), [&](const Member& member) { return member.name == name; });
}

bool Json::operator==(const Json& other) const {
  if (is_number() && other.is_number() && value_.index() != other.value_.index())
    return number() == other.number();  // 1 and 1.0
  return value_ == other.value_;
}

}  // namespace qkv
