// The parser of json.h: events of nlohmann's become values, each checked before it is stored.
#include <algorithm>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
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

}  // namespace

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

Json parse_json_object(std::string_view text, std::string_view where, const JsonLimits& limits) {
  require<InputError>(text.size() <= limits.bytes, where,
                      "this is not a JSON object: {} bytes, expected at most {}", text.size(), limits.bytes);
  return Reader(text, where, limits, Reader::Expected::object).read();
}

}  // namespace qkv
