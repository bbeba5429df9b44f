// JSON from untrusted files: size and depth are limited before anything is stored.
//
//     using Json = nlohmann::json;
//     const Json json = parse_json_object<Json>(read_file("config.json"), "config.json");
//     if (json.contains("heads")) fail("config", "got {}", shown_json(json["heads"]));
//
// The text is one object within JsonLimits, valid UTF-8, no name twice in one object. Anything else is an InputError
// with line and byte:
// "config.json: this is not a JSON object: line 3, byte 17: unexpected '}'".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "qkv/base/names.h"

namespace qkv {

struct JsonLimits {
  size_t bytes = 1'000'000;
  int depth = 32;
  size_t name_bytes = 200;
};

// Throws an InputError that begins with `where` if the text is not such an object.
void check_json_object(std::string_view text, std::string_view where, const JsonLimits& limits = {});

// The parsed values; Json is nlohmann's type.
template <class Json>
Json parse_json_object(std::string_view text, std::string_view where, const JsonLimits& limits = {}) {
  check_json_object(text, where, limits);
  return Json::parse(text);
}

// A value as a message shows it: on one line, not too long.
template <class Json>
std::string shown_json(const Json& value) {
  return one_line(value.dump());
}

}  // namespace qkv
