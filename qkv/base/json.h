// JSON from a file that nobody vouches for, with bounds on what reading it may cost.
//
//     using Json = nlohmann::json;
//     const Json json = parse_json_object<Json>(read_file("config.json"), "config.json");
//     if (json.contains("heads")) fail("config", "got {}", shown_json(json["heads"]));
//
// The text is one object: at most so many bytes, so many levels deep, names of at most so many bytes, no name twice
// in one object, valid UTF-8. Whatever is not so is an InputError with its place:
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

// Nothing, or an InputError that begins with `where`.
void check_json_object(std::string_view text, std::string_view where, const JsonLimits& limits = {});

// The values, in a type of nlohmann's library.
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
