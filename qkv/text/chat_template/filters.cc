#include "qkv/text/chat_template/filters.h"

#include <algorithm>

#include "qkv/base/names.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

const FilterEntry* filter_named(std::string_view name) {
  for (const std::span<const FilterEntry> table : {text_filters(), number_filters(), sequence_filters()}) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const FilterEntry& f) { return f.name == name; });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

bool is_filter(std::string_view name) { return filter_named(name) != nullptr; }

Value apply_filter(Heap& heap, std::string_view name, const Value& value, const Arguments& arguments) {
  heap.step();
  const Heap::Deeper deeper(heap);
  const FilterEntry* filter = filter_named(name);
  if (!filter) template_error("there is no filter {}", quoted_name(name).text());
  if (filter->parameters[0] == FilterEntry::any)
    return filter->call({heap, value, filter->name, Bound({}), arguments});
  const auto* end = std::find(filter->parameters.begin(), filter->parameters.end(), std::string_view());
  const Bound given = match_arguments(name, arguments, std::span(filter->parameters.begin(), end));
  return filter->call({heap, value, filter->name, given, arguments});
}

}  // namespace qkv::jinja
