#include "qkv/published/gguf/gguf_metadata.h"

#include <cstring>
#include <limits>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

struct TypeRow {
  const char* name;
  int size;
};
constexpr TypeRow value_types[gguf_types] = {
    {"uint8", 1}, {"int8", 1},   {"uint16", 2}, {"int16", 2},  {"uint32", 4}, {"int32", 4},  {"float32", 4},
    {"bool", 1},  {"string", 0}, {"array", 0},  {"uint64", 8}, {"int64", 8},  {"float64", 8}};

template <class T>
T item_of(const std::string& bytes, uint64_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
  return x;
}

// An item of an array of numbers, as To.
template <class To>
To number_at(const GgufArray& array, uint64_t i) {
  const auto as = [&]<class From>(From) { return static_cast<To>(item_of<From>(array.bytes, i)); };
  switch (array.type) {
    case GgufType::u8:
    case GgufType::boolean: return as(uint8_t{});
    case GgufType::i8: return as(int8_t{});
    case GgufType::u16: return as(uint16_t{});
    case GgufType::i16: return as(int16_t{});
    case GgufType::u32: return as(uint32_t{});
    case GgufType::i32: return as(int32_t{});
    case GgufType::u64: return as(uint64_t{});
    case GgufType::i64: return as(int64_t{});
    case GgufType::f32: return as(float{});
    case GgufType::f64: return as(double{});
    case GgufType::text:
    case GgufType::array: break;
  }
  return {};
}

bool is_integer(GgufType type) { return size_of(type) > 0 && type != GgufType::f32 && type != GgufType::f64; }

// What a value is, for messages.
std::string shown(const GgufValue& value) {
  if (const auto* x = std::get_if<int64_t>(&value)) return fmt::format("{}", *x);
  if (const auto* x = std::get_if<uint64_t>(&value)) return fmt::format("{}", *x);
  if (const auto* x = std::get_if<double>(&value)) return fmt::format("{}", *x);
  if (const auto* x = std::get_if<bool>(&value)) return *x ? "true" : "false";
  if (const auto* x = std::get_if<std::string>(&value)) return quoted_name(*x).text();
  const auto& array = std::get<GgufArray>(value);
  return fmt::format("an array of {} {}", array.count, name_of(array.type));
}

}  // namespace

const char* name_of(GgufType type) { return value_types[static_cast<size_t>(type)].name; }
int size_of(GgufType type) { return value_types[static_cast<size_t>(type)].size; }

void GgufMetadata::add(std::string key, GgufValue value) {
  const auto [at, is_new] = values_.emplace(std::move(key), std::move(value));
  require<InputError>(is_new, file_, "the key {} is there twice", quoted_name(at->first));
}

void GgufMetadata::refuse(std::string_view key, std::string_view expected) const {
  fail<InputError>(file_, "{} must be {}, got {}", quoted_name(key), expected, shown(value(key)));
}

const GgufValue& GgufMetadata::value(std::string_view key) const {
  const auto found = values_.find(key);
  require<InputError>(found != values_.end(), file_, "there is no key {} in the metadata", quoted_name(key));
  return found->second;
}

int64_t GgufMetadata::integer(std::string_view key) const {
  const GgufValue& given = value(key);
  if (const auto* x = std::get_if<int64_t>(&given)) return *x;
  const auto* x = std::get_if<uint64_t>(&given);
  if (!x || *x > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) refuse(key, "an integer");
  return static_cast<int64_t>(*x);
}
int64_t GgufMetadata::integer(std::string_view key, int64_t absent) const {
  return has(key) ? integer(key) : absent;
}

double GgufMetadata::number(std::string_view key) const {
  const GgufValue& given = value(key);
  if (const auto* x = std::get_if<double>(&given)) return *x;
  if (const auto* x = std::get_if<int64_t>(&given)) return static_cast<double>(*x);
  const auto* x = std::get_if<uint64_t>(&given);
  if (!x) refuse(key, "a number");
  return static_cast<double>(*x);
}
double GgufMetadata::number(std::string_view key, double absent) const { return has(key) ? number(key) : absent; }

bool GgufMetadata::flag(std::string_view key, bool absent) const {
  if (!has(key)) return absent;
  const auto* x = std::get_if<bool>(&value(key));
  if (!x) refuse(key, "true or false");
  return *x;
}

std::string GgufMetadata::text(std::string_view key) const {
  const auto* x = std::get_if<std::string>(&value(key));
  if (!x) refuse(key, "a string");
  require<InputError>(!utf8_error(*x), file_, "the string {} is not UTF-8", quoted_name(key));
  return *x;
}
std::string GgufMetadata::text(std::string_view key, const std::string& absent) const {
  return has(key) ? text(key) : absent;
}

const GgufArray* GgufMetadata::array(std::string_view key) const {
  if (!has(key)) return nullptr;
  const auto* x = std::get_if<GgufArray>(&value(key));
  if (!x) refuse(key, "an array");
  return x;
}
bool GgufMetadata::is_array(std::string_view key) const {
  return has(key) && std::holds_alternative<GgufArray>(value(key));
}

const std::vector<std::string>& GgufMetadata::texts(std::string_view key) const {
  static const std::vector<std::string> none;
  const GgufArray* given = array(key);
  if (!given) return none;
  if (given->type != GgufType::text) refuse(key, "an array of strings");
  for (size_t i = 0; i < given->texts.size(); ++i)
    require<InputError>(!utf8_error(given->texts[i]), file_, "string {} of {} is not UTF-8", i, quoted_name(key));
  return given->texts;
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  const GgufArray* given = array(key);
  if (!given) return {};
  if (size_of(given->type) == 0) refuse(key, "an array of numbers");
  std::vector<double> out(given->count);
  for (uint64_t i = 0; i < given->count; ++i) out[i] = number_at<double>(*given, i);
  return out;
}

std::vector<int64_t> GgufMetadata::integers(std::string_view key) const {
  const GgufArray* given = array(key);
  if (!given) return {};
  if (!is_integer(given->type)) refuse(key, "an array of integers");
  std::vector<int64_t> out(given->count);
  for (uint64_t i = 0; i < given->count; ++i) out[i] = number_at<int64_t>(*given, i);
  return out;
}

std::string GgufMetadata::bytes(std::string_view key) const {
  const GgufArray* given = array(key);
  if (!given) return {};
  if (size_of(given->type) != 1) refuse(key, "an array of bytes");
  return given->bytes;
}

}  // namespace qkv
