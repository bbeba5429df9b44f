#include "qkv/base/json.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"

namespace qkv {
namespace {

using Json = nlohmann::json;

// An iterator that counts the bytes read: events of the parser carry no position.
struct Progress {
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
  Progress* progress;

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

// Stores nothing but the names in the objects that are open.
class Checker final : public nlohmann::json_sax<Json> {
 public:
  Checker(std::string_view text, std::string_view where, const JsonLimits& limits)
      : text_(text), where_(where), limits_(limits) {}

  void run() {
    const char* end = text_.data() + text_.size();
    Json::sax_parse(CountingIterator{text_.data(), &read_}, CountingIterator{end, &read_}, this);
  }

  bool start_object(size_t) override {
    open();
    names_.emplace_back();
    return true;
  }
  bool end_object() override {
    names_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 0) refuse("a list, expected an object");
    open();
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    if (name.size() > limits_.name_bytes)
      refuse("the name {} is longer than {} bytes", quoted_name(name), limits_.name_bytes);
    if (!names_.back().insert(name).second) refuse("{} is there twice", quoted_name(name));
    return true;
  }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(int64_t) override { return value(); }
  bool number_unsigned(uint64_t) override { return value(); }
  bool number_float(double, const std::string&) override { return value(); }
  bool string(std::string&) override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }

  bool parse_error(size_t, const std::string& token, const Json::exception& e) override {
    if (dynamic_cast<const Json::out_of_range*>(&e)) refuse("the number {} is too large", one_line(token));
    if (read_.ended) refuse("unexpected end");
    const char last = text_[read_.bytes - 1];
    if (' ' <= last && last <= '~') refuse("unexpected '{}'", last);
    refuse("unexpected byte 0x{:02x}", static_cast<unsigned char>(last));
  }

 private:
  void open() {
    if (++depth_ > limits_.depth) refuse("nested more than {} levels deep", limits_.depth);
  }
  bool value() {
    if (depth_ == 0) refuse("a single value, expected an object");
    return true;
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    const std::string_view before = text_.substr(0, read_.bytes);
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    fail<InputError>(where_, "this is not a JSON object: line {}, byte {}: {}",
                     std::count(before.begin(), before.end(), '\n') + 1, before.size() - line_begin + read_.ended,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  std::string_view text_, where_;
  const JsonLimits& limits_;
  Progress read_;
  int depth_ = 0;
  std::vector<std::set<std::string>> names_;  // of the open objects
};

}  // namespace

void check_json_object(std::string_view text, std::string_view where, const JsonLimits& limits) {
  require<InputError>(text.size() <= limits.bytes, where,
                      "this is not a JSON object: {} bytes, expected at most {}", text.size(), limits.bytes);
  Checker(text, where, limits).run();
}

}  // namespace qkv
