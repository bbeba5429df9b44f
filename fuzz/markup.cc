#include "fuzz/markup.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "fuzz/input.h"
#include "qkv/text/utf8.h"

namespace qkv::fuzz {
namespace {

using Names = std::set<std::string_view>;

const Names svg_tags = {"svg", "g", "text", "tspan", "title", "rect", "path", "stop", "defs", "linearGradient"};
const Names page_tags = {"html", "head", "meta", "title", "body", "header", "h1",     "dl",
                         "div",  "dt",   "dd",   "main",  "p",    "style",  "script", "noscript"};
const Names without_end = {"meta"};
const Names entities = {"amp", "lt", "gt", "quot"};
const Names attributes = {"xmlns",
                          "width",
                          "height",
                          "viewBox",
                          "font-family",
                          "font-size",
                          "fill",
                          "x",
                          "y",
                          "dy",
                          "d",
                          "stroke",
                          "id",
                          "x2",
                          "y2",
                          "offset",
                          "stop-color",
                          "transform",
                          "lang",
                          "charset",
                          "name",
                          "content",
                          "http-equiv",
                          "dir",
                          "type",
                          "role",
                          "text-anchor",
                          "fill-opacity",
                          "font-weight",
                          "stroke-width",
                          "version",
                          "stroke-opacity",
                          "shape-rendering",
                          "aria-label",
                          "title",
                          "tabindex"};

class Scanner {
 public:
  Scanner(std::string_view text, const Names& tags) : rest_(text), tags_(tags) {}

  void run() {
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == '<') {
        tag();
      } else {
        expect(c != '>', "a '>' outside of a tag");
        take_character();
      }
    }
    expect(open_.empty(), "a tag is not closed");
  }

 private:
  std::string_view take_until(std::string_view ends) {
    const size_t n = rest_.find_first_of(ends);
    expect(n != rest_.npos, "a tag has no end");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  // Of a text or an attribute.
  void take_character() {
    if (rest_[0] == '&') {
      const size_t end = rest_.find(';');
      expect(end != rest_.npos && entities.contains(rest_.substr(1, end - 1)), "an unknown entity");
      rest_.remove_prefix(end);
    }
    rest_.remove_prefix(1);
  }

  void tag() {
    rest_.remove_prefix(1);
    const bool closes = rest_.starts_with('/');
    if (closes) rest_.remove_prefix(1);
    const std::string_view name = take_until(" />\n");
    expect(tags_.contains(name), "an unknown tag");
    while (!rest_.empty() && rest_[0] != '>' && rest_[0] != '/') attribute();
    const bool is_empty = rest_.starts_with('/');
    rest_.remove_prefix(is_empty ? 1 : 0);
    expect(rest_.starts_with('>'), "a tag is not closed");
    rest_.remove_prefix(1);
    if (closes) {
      expect(!open_.empty() && open_.back() == name, "a tag is closed that was not opened");
      open_.pop_back();
    } else if (!is_empty && !without_end.contains(name)) {
      open_.push_back(name);
    }
  }

  void attribute() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
    if (rest_.starts_with('>') || rest_.starts_with('/')) return;
    expect(attributes.contains(take_until("=> ")), "an unknown attribute");
    expect(rest_.starts_with("=\""), "an attribute without quotation marks");
    rest_.remove_prefix(2);
    while (!rest_.starts_with('"')) {
      expect(!rest_.empty() && rest_[0] != '<', "an attribute has no end");
      take_character();
    }
    rest_.remove_prefix(1);
  }

  std::string_view rest_;
  const Names& tags_;
  std::vector<std::string_view> open_;
};

void check_characters(std::string_view text) {
  expect(!utf8_error(text), "invalid UTF-8");
  for (const char32_t c : utf8_decode(text)) {
    expect(c >= 0x20 || c == '\n', "a control character");
    expect(c < 0x7f || c > 0x9f, "a control character above U+007F");
    expect((c < 0x202a || c > 0x202e) && (c < 0x2066 || c > 0x2069), "a character that turns the direction");
  }
}

// The texts between two marks, which are removed from the text.
std::string cut_out(std::string& text, std::string_view begin, std::string_view end) {
  const size_t at = text.find(begin);
  expect(at != text.npos, "a part of the page is missing");
  const size_t from = at + begin.size(), to = text.find(end, from);
  expect(to != text.npos, "a part of the page has no end");
  const std::string part = text.substr(from, to - from);
  text.erase(from, to - from);
  return part;
}

}  // namespace

void check_svg(const std::string& svg) {
  check_characters(svg);
  constexpr std::string_view head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  expect(svg.starts_with(head), "no XML declaration");
  Scanner(std::string_view(svg).substr(head.size()), svg_tags).run();
}

void check_page(const std::string& page) {
  check_characters(page);
  std::string rest = page;
  cut_out(rest, "<style>", "</style>");
  const std::string data = cut_out(rest, "<script type=\"application/json\" id=\"data\">", "</script>");
  cut_out(rest, "<script>", "</script>");
  expect(data.find('<') == data.npos, "the data of the page has a '<'");
  expect(nlohmann::json::accept(data), "the data of the page is no JSON");
  constexpr std::string_view head = "<!DOCTYPE html>\n";
  expect(rest.starts_with(head), "no document type");
  Scanner(std::string_view(rest).substr(head.size()), page_tags).run();
}

}  // namespace qkv::fuzz
