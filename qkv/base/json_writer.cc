// Json::dump(), and values in messages.
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

using Nlohmann = nlohmann::ordered_json;

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
    if (format_.indent >= 0)
      text_.append(1, '\n').append(static_cast<size_t>(format_.indent) * static_cast<size_t>(depth), ' ');
  }

  void append_scalar(const Nlohmann& scalar) {
    using Handler = Nlohmann::error_handler_t;
    text_ += scalar.dump(-1, ' ', format_.ascii, format_.replace_invalid ? Handler::replace : Handler::strict);
  }

  const Json::Format& format_;
  std::string text_;
};

}  // namespace

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

std::string ShownJson::text() const { return one_line(value.dump({.replace_invalid = true})); }

}  // namespace qkv
