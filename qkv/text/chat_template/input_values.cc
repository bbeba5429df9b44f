#include "qkv/text/chat_template/input_values.h"

#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

std::string_view checked_text(std::string_view text, std::string_view what) {
  if (const auto at = utf8_error(text)) template_error("{}: invalid UTF-8 at byte {} of a text", what, *at + 1);
  return text;
}

}  // namespace

Value value_of(Heap& heap, const Json& json, std::string_view what) {
  const Heap::Deeper deeper(heap);
  heap.step();
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) {
    if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      template_error("{}: an integer has more than 64 bits", what);
    return json.get<int64_t>();
  }
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return checked_text(json.text(), what);
  if (json.is_array()) {
    ListBuilder out(heap);
    for (const Json& item : json) out.push(value_of(heap, item, what));
    return out.finish();
  }
  Dict out;
  for (const Json::Member& member : json.items()) {
    heap.take(2 * sizeof(Value));
    out.items.emplace_back(checked_text(member.name, what), value_of(heap, member.value, what));
  }
  return heap.make(std::move(out));
}

}  // namespace qkv::jinja
