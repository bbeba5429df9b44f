#include "qkv/base/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <ostream>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

using Nlohmann = nlohmann::ordered_json;

// An iterator that counts the bytes read: events of the parser carry no position.
struct ReadSoFar {
  size_t bytes = 0;
  bool ended = false;  // read past the end
};

struct CountingIterator {
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  const char* at;
  ReadSoFar* progress;

  const char& operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++progress->bytes;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& end) const {
    progress->ended |= at == end.at;
    return at == end.at;
  }
  bool operator!=(const CountingIterator& end) const { return !(*this == end); }
};

// Checks each value before it is stored.
class Reader final : public nlohmann::json_sax<Nlohmann> {
 public:
  enum class Expected { object, any_value };

  Reader(std::string_view text, std::string_view where, const JsonLimits& limits, Expected expected)
      : text_(text), where_(where), limits_(limits), expected_(expected) {}

  Json read() {
    const char* end = text_.data() + text_.size();
    Nlohmann::sax_parse(CountingIterator{text_.data(), &read_}, CountingIterator{end, &read_}, this);
    return std::move(root_);
  }

  bool start_object(size_t) override {
    open(Json::object());
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override {
    if (open_.empty() && expected_ == Expected::object) refuse("a list, expected an object");
    open(Json::array());
    return true;
  }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (name.size() > limits_.name_bytes)
      refuse("the name {} is longer than {} bytes", quoted_name(name), limits_.name_bytes);
    if (!open_.back().names.insert(name).second) refuse("{} occurs twice", quoted_name(name));
    open_.back().name = name;
    return true;
  }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(int64_t v) override { return value(v); }
  bool number_unsigned(uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string&) override { return value(v); }
  bool string(std::string& v) override { return value(std::move(v)); }
  bool binary(Nlohmann::binary_t&) override { return value(nullptr); }  // not in text

  bool parse_error(size_t, const std::string& token, const Nlohmann::exception& e) override {
    if (dynamic_cast<const Nlohmann::out_of_range*>(&e)) refuse("the number {} is too large", one_line(token));
    if (read_.ended) refuse("unexpected end");
    const char last = text_[read_.bytes - 1];
    if (' ' <= last && last <= '~') refuse("unexpected '{}'", last);
    refuse("unexpected byte 0x{:02x}", static_cast<unsigned char>(last));
  }

 private:
  struct Open {
    Json value;
    std::set<std::string> names;  // of the members so far
    std::string name;             // of the next member
  };

  void open(Json empty) {
    if (std::ssize(open_) == limits_.depth) refuse("nested more than {} levels deep", limits_.depth);
    open_.push_back({std::move(empty), {}, {}});
  }
  bool close() {
    Json closed = std::move(open_.back().value);
    open_.pop_back();
    return open_.empty() ? root(std::move(closed)) : value(std::move(closed));
  }
  bool root(Json value) {
    root_ = std::move(value);
    return true;
  }
  bool value(Json value) {
    if (open_.empty() && expected_ == Expected::object) refuse("a single value, expected an object");
    if (open_.empty()) return root(std::move(value));
    Open& in = open_.back();
    if (in.value.is_object()) {
      in.value.append(std::move(in.name), std::move(value));
    } else {
      in.value.push_back(std::move(value));
    }
    return true;
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string_view before = text_.substr(0, read_.bytes);
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    fail<InputError>(where_, "this is not {}: line {}, byte {}: {}",
                     expected_ == Expected::object ? "a JSON object" : "JSON",
                     std::count(before.begin(), before.end(), '\n') + 1, before.size() - line_begin + read_.ended,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view text_, where_;
  const JsonLimits& limits_;
  Expected expected_;
  ReadSoFar read_;
  std::vector<Open> open_;  // objects and arrays
  Json root_;
};

// Writes the text of a value. Only scalars go through nlohmann: its arrays and objects allocate where they end.
class Writer {
 public:
  explicit Writer(const Json::Format& format) : format_(format) {}

  std::string write(const Json& json) && {
    append(json, 0);
    return std::move(text_);
  }

 private:
  void append(const Json& json, int depth) {
    if (json.is_object()) {
      append_list('{', '}', json.items(), depth, [&](const Json::Member& member) {
        append_scalar(member.name);
        text_ += format_.indent < 0 ? ":" : ": ";
        append(member.value, depth + 1);
      });
    } else if (json.is_array()) {
      append_list('[', ']', json.array_items(), depth, [&](const Json& item) { append(item, depth + 1); });
    } else if (json.is_string()) {
      append_scalar(json.text());
    } else if (json.is_boolean()) {
      append_scalar(json.get<bool>());
    } else if (json.is_number_unsigned()) {
      append_scalar(json.get<uint64_t>());
    } else if (json.is_number_integer()) {
      append_scalar(json.get<int64_t>());
    } else if (json.is_number()) {
      append_scalar(json.get<double>());
    } else {
      append_scalar(nullptr);
    }
  }

  template <class Items, class Append>
  void append_list(char opening, char closing, const Items& items, int depth, Append append_item) {
    text_ += opening;
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) text_ += ',';
      start_line(depth + 1);
      append_item(item);
    }
    if (!first) start_line(depth);
    text_ += closing;
  }

  void start_line(int depth) {
    if (format_.indent >= 0) text_.append(1, '\n').append(static_cast<size_t>(format_.indent * depth), ' ');
  }

  void append_scalar(const Nlohmann& scalar) {
    using Handler = Nlohmann::error_handler_t;
    text_ += scalar.dump(-1, ' ', format_.ascii, format_.replace_invalid ? Handler::replace : Handler::strict);
  }

  const Json::Format& format_;
  std::string text_;
};

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

Json Json::parse(std::string_view text) {
  const JsonLimits limits{.bytes = SIZE_MAX, .depth = 1000, .name_bytes = SIZE_MAX};
  return Reader(text, "json", limits, Reader::Expected::any_value).read();
}

std::optional<Json> Json::try_parse(std::string_view text) {
  try {
    return parse(text);
  } catch (const InputError&) {
    return {};
  }
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

std::string Json::dump(const Format& format) const {
  try {
    return Writer(format).write(*this);
  } catch (const Nlohmann::type_error& e) {
    fail("json", "{}", one_line(e.what()));
  }
}

std::ostream& operator<<(std::ostream& out, const Json& value) {
  return out << value.dump({.replace_invalid = true});
}

Json parse_json_object(std::string_view text, std::string_view where, const JsonLimits& limits) {
  require<InputError>(text.size() <= limits.bytes, where,
                      "this is not a JSON object: {} bytes, expected at most {}", text.size(), limits.bytes);
  return Reader(text, where, limits, Reader::Expected::object).read();
}

std::string ShownJson::text() const { return one_line(value.dump({.replace_invalid = true})); }

}  // namespace qkv
