// The methods of text.
#include <algorithm>
#include <array>

#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/percent_format.h"
#include "qkv/text/chat_template/python_text.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/chat_template/text_finder.h"
#include "qkv/text/utf8.h"

namespace qkv::jinja {
namespace {

using Direction = TextFinder::Direction;

// What a method is called with.
struct TextCall {
  Heap& heap;
  std::string_view text;
  std::string_view name;
  const Bound& given;
};

Value strip(const TextCall& c) {
  std::string_view text = c.text;
  const bool left = c.name != "rstrip", right = c.name != "lstrip";
  if (c.given.is_none(0)) {
    if (left) text = stripped_left(text);
    return right ? stripped_right(text) : text;
  }
  const std::string_view characters = c.given.text(0, "");
  c.heap.step((c.text.size() + 1) * (characters.size() / Heap::step_bytes + 1));
  if (left) text = stripped_left(text, characters);
  return right ? stripped_right(text, characters) : text;
}

Value list_of(Heap& heap, const std::vector<std::string_view>& parts, Sequence::Kind kind = Sequence::Kind::list) {
  ListBuilder out(heap);
  for (const std::string_view part : parts) out.push(part);
  return out.finish(kind);
}

Value split(const TextCall& c) {
  const bool from_right = c.name == "rsplit";
  const int64_t limit = c.given.integer(1, -1);
  if (c.given.is_none(0)) return list_of(c.heap, split_at_space(c.text, limit, from_right));
  const std::string_view separator = c.given.text(0, "");
  if (separator.empty()) template_error("{}(): the separator is empty", c.name);
  const TextFinder finder(c.heap, separator, from_right ? Direction::backward : Direction::forward);
  return list_of(c.heap, finder.split(c.text, limit));
}

Value partition(const TextCall& c) {
  const bool from_right = c.name == "rpartition";
  const std::string_view separator = text_value(c.given.required(0), "the separator");
  if (separator.empty()) template_error("{}(): the separator is empty", c.name);
  const TextFinder finder(c.heap, separator, from_right ? Direction::backward : Direction::forward);
  std::vector<std::string_view> parts = {c.text, "", ""};
  if (from_right) std::swap(parts[0], parts[2]);
  if (const auto at = finder.find(c.text))
    parts = {c.text.substr(0, *at), separator, c.text.substr(*at + separator.size())};
  return list_of(c.heap, parts, Sequence::Kind::tuple);
}

Value lines(const TextCall& c) { return list_of(c.heap, lines_of(c.text, c.given.boolean(0, false))); }

// The part from the arguments 1 and 2, which are bounds of a slice; none: they begin beyond the end.
std::optional<std::string_view> bounded(const TextCall& c) {
  if (c.given.is_none(1) && c.given.is_none(2)) return c.text;
  const auto bound = [&](size_t i) {
    return c.given.is_none(i) ? std::nullopt : std::optional(c.given.integer(i, 0));
  };
  if (bound(1).value_or(0) > length_of(c.heap, c.text)) return {};
  return std::get<std::string_view>(slice_of(c.heap, c.text, bound(1), bound(2), {}));
}

Value starts_or_ends(const TextCall& c) {
  const auto text = bounded(c);
  const auto holds = [&](const Value& part) {
    const std::string_view affix = text_value(part, "what text starts or ends with");
    c.heap.step_text(affix.size());
    return text && (c.name == "startswith" ? text->starts_with(affix) : text->ends_with(affix));
  };
  const Value& affix = c.given.required(0);
  const auto* several = std::get_if<Sequence*>(&affix);
  if (!several || (*several)->kind != Sequence::Kind::tuple) return holds(affix);
  return std::any_of((*several)->items.begin(), (*several)->items.end(), holds);
}

Value find(const TextCall& c) {
  const bool from_right = c.name.starts_with('r');
  const std::string_view part = text_value(c.given.required(0), "what is searched for");
  const auto text = bounded(c);
  const TextFinder finder(c.heap, part, from_right ? Direction::backward : Direction::forward);
  const auto at = text ? finder.find(*text) : std::nullopt;
  if (!at && c.name.ends_with("index")) template_error("{}(): the text has no '{}'", c.name, part.substr(0, 80));
  if (!at) return int64_t{-1};
  return utf8_length(c.text.substr(0, static_cast<size_t>(text->data() - c.text.data()) + *at));
}

Value count(const TextCall& c) {
  const std::string_view part = text_value(c.given.required(0), "what is counted");
  const auto text = bounded(c);
  if (!text) return int64_t{0};
  if (part.empty()) return utf8_length(*text) + 1;
  return std::ssize(TextFinder(c.heap, part).split(*text, -1)) - 1;
}

Value replace(const TextCall& c) {
  return replaced(c.heap, c.text, text_value(c.given.required(0), "what is replaced"),
                  text_value(c.given.required(1), "the replacement"), c.given.integer(2, -1));
}

Value change_case(const TextCall& c) {
  c.heap.step_text(c.text.size() * 4);
  c.heap.check_room(c.text.size() * 16);
  const std::string changed = c.name == "upper"        ? upper_case(c.text)
                              : c.name == "lower"      ? lower_case(c.text)
                              : c.name == "capitalize" ? capitalized(c.text)
                              : c.name == "title"      ? title_case(c.text)
                                                       : swapped_case(c.text);
  c.heap.take(changed.size());
  return c.heap.keep(changed);
}

Value is_class(const TextCall& c) {
  c.heap.step_text(c.text.size() * 4);
  c.heap.check_room(c.text.size() * 4);
  if (c.name == "isupper") return is_upper_case(c.text);
  if (c.name == "islower") return is_lower_case(c.text);
  return consists_of(c.text, c.name == "isalpha"     ? CharacterClass::alpha
                             : c.name == "isalnum"   ? CharacterClass::alnum
                             : c.name == "isspace"   ? CharacterClass::space
                             : c.name == "isnumeric" ? CharacterClass::numeric
                                                     : CharacterClass::digit);
}

Value pad(const TextCall& c) {
  const std::string_view fill = c.given.text(1, " ");
  if (utf8_length(fill) != 1) template_error("{}(): the fill must be one character", c.name);
  const int64_t missing = std::max<int64_t>(0, c.given.integer(0, 0) - length_of(c.heap, c.text));
  const int64_t width = c.given.integer(0, 0);
  const int64_t before = c.name == "rjust" ? missing : c.name == "ljust" ? 0 : missing / 2 + (missing & width & 1);
  TextBuilder out(c.heap);
  for (int64_t i = 0; i < before; ++i) out.append(fill);
  out.append(c.text);
  for (int64_t i = before; i < missing; ++i) out.append(fill);
  return out.finish();
}

Value zero_fill(const TextCall& c) {
  const int64_t missing = std::max<int64_t>(0, c.given.integer(0, 0) - length_of(c.heap, c.text));
  const size_t sign = c.text.starts_with('+') || c.text.starts_with('-') ? 1 : 0;
  TextBuilder out(c.heap);
  out.append(c.text.substr(0, sign));
  out.append(static_cast<size_t>(missing), '0');
  out.append(c.text.substr(sign));
  return out.finish();
}

Value remove_affix(const TextCall& c) {
  const std::string_view affix = text_value(c.given.required(0), "what is removed");
  if (c.name == "removeprefix") return c.text.starts_with(affix) ? c.text.substr(affix.size()) : c.text;
  return c.text.ends_with(affix) ? c.text.substr(0, c.text.size() - affix.size()) : c.text;
}

Value join(const TextCall& c) {
  TextBuilder out(c.heap);
  bool first = true;
  for (const Value& item : items_of(c.heap, c.given.required(0))) {
    if (!std::exchange(first, false)) out.append(c.text);
    out.append(text_value(item, "an item of join()"));
  }
  return out.finish();
}

struct TextMethod {
  std::string_view name;
  Value (*call)(const TextCall&);
  std::array<std::string_view, 3> parameters;
};

constexpr std::array text_methods = {
    TextMethod{"strip", strip, {"chars"}},
    TextMethod{"lstrip", strip, {"chars"}},
    TextMethod{"rstrip", strip, {"chars"}},
    TextMethod{"split", split, {"sep", "maxsplit"}},
    TextMethod{"rsplit", split, {"sep", "maxsplit"}},
    TextMethod{"splitlines", lines, {"keepends"}},
    TextMethod{"partition", partition, {"sep"}},
    TextMethod{"rpartition", partition, {"sep"}},
    TextMethod{"startswith", starts_or_ends, {"prefix", "start", "end"}},
    TextMethod{"endswith", starts_or_ends, {"suffix", "start", "end"}},
    TextMethod{"find", find, {"sub", "start", "end"}},
    TextMethod{"rfind", find, {"sub", "start", "end"}},
    TextMethod{"index", find, {"sub", "start", "end"}},
    TextMethod{"rindex", find, {"sub", "start", "end"}},
    TextMethod{"count", count, {"sub", "start", "end"}},
    TextMethod{"replace", replace, {"old", "new", "count"}},
    TextMethod{"upper", change_case, {}},
    TextMethod{"lower", change_case, {}},
    TextMethod{"title", change_case, {}},
    TextMethod{"capitalize", change_case, {}},
    TextMethod{"swapcase", change_case, {}},
    TextMethod{"isalpha", is_class, {}},
    TextMethod{"isalnum", is_class, {}},
    TextMethod{"isdigit", is_class, {}},
    TextMethod{"isnumeric", is_class, {}},
    TextMethod{"isspace", is_class, {}},
    TextMethod{"isupper", is_class, {}},
    TextMethod{"islower", is_class, {}},
    TextMethod{"ljust", pad, {"width", "fillchar"}},
    TextMethod{"rjust", pad, {"width", "fillchar"}},
    TextMethod{"center", pad, {"width", "fillchar"}},
    TextMethod{"zfill", zero_fill, {"width"}},
    TextMethod{"removeprefix", remove_affix, {"prefix"}},
    TextMethod{"removesuffix", remove_affix, {"suffix"}},
    TextMethod{"join", join, {"iterable"}},
};

const TextMethod* text_method(std::string_view name) {
  const auto* found =
      std::find_if(text_methods.begin(), text_methods.end(), [&](const TextMethod& m) { return m.name == name; });
  return found == text_methods.end() ? nullptr : found;
}

}  // namespace

bool is_text_method(std::string_view name) { return name == "format" || text_method(name); }

Value call_text_method(Heap& heap, std::string_view text, std::string_view name, const Arguments& arguments) {
  heap.step_text(text.size());
  if (name == "format") return brace_formatted(heap, text, arguments);
  const TextMethod& method = *text_method(name);
  const auto* end = std::find(method.parameters.begin(), method.parameters.end(), std::string_view());
  const Bound given = match_arguments(name, arguments, std::span(method.parameters.begin(), end));
  return method.call({heap, text, method.name, given});
}

std::string_view replaced(Heap& heap, std::string_view text, std::string_view old_part, std::string_view new_part,
                          int64_t limit) {
  TextBuilder out(heap);
  if (!old_part.empty()) {
    bool first = true;
    for (const std::string_view part : TextFinder(heap, old_part).split(text, limit)) {
      if (!std::exchange(first, false)) out.append(new_part);
      out.append(part);
    }
    return out.finish();
  }
  int64_t done = 0;  // before every character, and at the end
  heap.check_room(text.size() * sizeof(std::string_view));
  for (const std::string_view character : characters_of(text)) {
    if (limit < 0 || done++ < limit) out.append(new_part);
    out.append(character);
  }
  if (limit < 0 || done < limit) out.append(new_part);
  return out.finish();
}

}  // namespace qkv::jinja
