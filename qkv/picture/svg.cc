#include "qkv/picture/svg.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/integers.h"
#include "qkv/picture/label.h"
#include "qkv/picture/panel_svg.h"

namespace qkv {
namespace {

constexpr double margin = 24, gap = 14, title_font = 16, group_font = 13, caption_font = 11;
constexpr double bold = 1.1;                         // how much wider than others, about
constexpr double narrowest_title = 480;              // a title may widen a picture to this
constexpr int64_t max_vector_cells = 6400;           // of a panel
constexpr int64_t max_vector_cells_of_all = 25'000;  // of a picture: about 400 kB

struct SvgPart {
  double width = 0, height = 0;
  double first_line = 0;  // y of the cells of the first line of panels
  std::string body;
};

// In pixels: a panel, its cells, and a panel of more tokens than labels.
struct Sizes {
  double panel, smallest_cell, largest_cell, long_panel;
};

// Cells as large as the number of panels and of tokens allows. Up to 80 tokens have a label each and the picture
// grows with them; of more tokens every second, third, ... has a label.
PanelStyle style_of(const PictureContent& content) {
  int64_t longest = 1, largest = 0, cells = 0;
  size_t panels = 0;
  for (const PanelGroup& group : content.groups) {
    panels += group.panels.size();
    for (const Panel& panel : group.panels) {
      longest = std::max({longest, panel.weights.dim(0), panel.weights.dim(1)});
      largest = std::max(largest, panel.weights.numel());
      cells += panel.weights.numel();
    }
  }
  const double tokens = static_cast<double>(longest);
  PanelStyle style;
  style.roomy = panels == 1;
  style.as_image = largest > max_vector_cells || cells > max_vector_cells_of_all;
  const Sizes sizes = panels == 1   ? Sizes{560, 12, 40, 1040}
                      : panels <= 4 ? Sizes{320, 9, 28, 600}
                                    : Sizes{168, 7, 20, 420};
  const bool is_long = longest > 80;
  style.cell = is_long ? std::max(1.0, sizes.long_panel / tokens)
                       : std::clamp(sizes.panel / tokens, sizes.smallest_cell, sizes.largest_cell);
  if (content.lines) style.cell = std::clamp(style.cell, is_long ? 4.0 : 9.0, 22.0);
  const auto every = static_cast<int64_t>(std::ceil(sizes.smallest_cell / style.cell));
  style.label_every = every <= 5 ? every : (every + 9) / 10 * 10;
  style.font = std::min(content.lines ? 11.0 : 12.0, 0.84 * style.cell * static_cast<double>(style.label_every));
  return style;
}

std::string text(double x, double y, double font, std::string_view attributes, std::string_view content) {
  return fmt::format("<text x=\"{:g}\" y=\"{:g}\" font-size=\"{:g}\"{}>{}</text>\n", x, y, font, attributes,
                     xml_escaped(label_text(content)));
}

// The title on one line: a longer one than the picture ends in an ellipsis, and is shown whole under the pointer.
std::string title_text(const std::string& title, double y, double width) {
  return svg_label(
      title, width / (bold * title_font),
      fmt::format("x=\"{:g}\" y=\"{:g}\" font-size=\"{:g}\" font-weight=\"600\"", margin, y, title_font));
}

// The panels of a group, line by line. Query tokens are written unless the panel to the left has the same ones,
// key tokens unless the panel above has.
SvgPart draw_group(const PanelGroup& group, const PictureContent& content, const ColorScale& scale) {
  const size_t count = group.panels.size();
  const size_t across = std::clamp<size_t>(static_cast<size_t>(group.per_line), 1, std::max<size_t>(count, 1));
  const size_t lines = ceil_div(count, across);
  std::vector<Drawing> drawings;
  std::vector<double> left(across), width(across), top(lines), height(lines);
  for (size_t i = 0; i < count; ++i) {
    const Panel& panel = group.panels[i];
    PanelStyle style = style_of(content);
    style.row_labels &= i % across == 0 || group.panels[i - 1].rows != panel.rows;
    style.column_labels &= i < across || group.panels[i - across].columns != panel.columns;
    drawings.push_back(content.lines ? draw_lines(panel, scale, style) : draw_cells(panel, scale, style));
    const Drawing& drawing = drawings.back();
    const size_t line = i / across, column = i % across;
    left[column] = std::max(left[column], drawing.left);
    width[column] = std::max(width[column], drawing.width + drawing.right);
    top[line] = std::max(top[line], drawing.top);
    height[line] = std::max(height[line], drawing.height);
  }
  const bool own_titles = group.column_titles.empty();
  const double indent = group.line_titles.empty() ? 0 : 20;

  SvgPart out;
  if (!group.title.empty()) {
    out.height = group_font + 10;
    out.body += text(0, group_font, group_font, " font-weight=\"600\"", group.title);
    out.width = label_width(group.title) * group_font;
  }
  for (size_t line = 0; line < lines; ++line) {
    const size_t first = line * across, last = std::min(count, first + across);
    const bool titles = own_titles ? std::any_of(&group.panels[first], &group.panels[first] + (last - first),
                                                 [](const Panel& panel) { return !panel.title.empty(); })
                                   : line == 0;
    out.height += (line > 0 ? gap : 0) + (titles ? caption_font + 7 : 0) + top[line];
    if (line == 0) out.first_line = out.height;
    double x = indent;
    for (size_t i = first; i < last; ++i) {
      const size_t column = i - first;
      x += left[column] + (column > 0 ? gap : 0);
      if (titles)
        out.body += text(x + drawings[i].width / 2, out.height - top[line] - 6, caption_font,
                         " text-anchor=\"middle\" fill-opacity=\".75\"",
                         own_titles ? group.panels[i].title : group.column_titles[column]);
      out.body += drawings[i].at(x, out.height);
      x += width[column];
      out.width = std::max(out.width, x);
    }
    if (line < group.line_titles.size())
      out.body += fmt::format(
          "<text transform=\"translate({:g} {:g}) rotate(-90)\" font-size=\"{:g}\" text-anchor=\"middle\" "
          "fill-opacity=\".75\">{}</text>\n",
          caption_font, out.height + height[line] / 2, caption_font,
          xml_escaped(label_text(group.line_titles[line])));
    out.height += height[line];
  }
  return out;
}

// To six digits; strtod() would read the point by the locale of the host program.
double rounded(double number) {
  const std::string text = fmt::format("{:.6g}", number);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Round numbers between the ends of the scale, and the ends.
std::vector<double> ticks(const ColorScale& scale) {
  const double high = rounded(scale.high);
  const double decade = std::pow(10, std::floor(std::log10(high))), max_ticks = scale.low < 0 ? 2.2 : 4.4;
  double step = decade / 5;
  for (const double wider : {0.25, 0.5, 1.0, 2.0, 2.5, 5.0})
    if (high / step > max_ticks) step = wider * decade;
  std::vector<double> out = {high};
  for (double tick = 0; tick < high - 0.45 * step; tick += step) out.push_back(tick);
  if (scale.low < 0)
    for (size_t i = 0, count = out.size(); i < count; ++i)
      if (out[i] > 0) out.push_back(-out[i]);
  return out;
}

SvgPart draw_scale(const ColorScale& scale, double height) {
  constexpr int stops = 16;
  constexpr double width = 10;
  std::string gradient;
  for (int i = 0; i <= stops; ++i) {
    const float share = static_cast<float>(i) / stops;
    gradient += fmt::format("<stop offset=\"{:g}\" stop-color=\"{}\"/>", share,
                            hex(scale.color(scale.high + share * (scale.low - scale.high))));
  }
  // Pictures on the same page, as in a notebook, share ids: one id per gradient.
  const char* name = scale.low < 0 ? "scale-signed" : "scale";
  SvgPart out;
  out.width = width + 34;
  out.height = height;
  out.body = fmt::format(
      "<linearGradient id=\"{3}\" x2=\"0\" y2=\"1\">{0}</linearGradient>\n"
      "<rect width=\"{1:g}\" height=\"{2:g}\" fill=\"url(#{3})\" stroke=\"#1f2430\" stroke-opacity=\".3\"/>\n",
      gradient, width, height, name);
  for (const double tick : ticks(scale))
    out.body += fmt::format("<text x=\"{:g}\" y=\"{:g}\" dy=\".35em\" font-size=\"10\">{:g}</text>\n", width + 6,
                            (scale.high - tick) / (scale.high - scale.low) * height, tick);
  return out;
}

}  // namespace

std::string picture_svg(const PictureContent& content, const ColorScale& scale) {
  const std::string default_caption = !content.caption.empty() ? content.caption
                                      : content.lines          ? "left: queries, right: keys"
                                                               : "rows: queries, columns: keys";
  // Under every group where one has a caption of its own, otherwise once.
  const bool own_captions = std::any_of(content.groups.begin(), content.groups.end(),
                                        [](const PanelGroup& group) { return !group.caption.empty(); });
  double y = margin + (content.title.empty() ? 0 : title_font + 18), width = 0, captions = 0, first_top = 0;
  std::string body;
  for (const PanelGroup& group : content.groups) {
    const SvgPart block = draw_group(group, content, scale);
    if (width == 0) first_top = y + block.first_line;
    body += fmt::format("<g transform=\"translate({:g} {:g})\">\n{}</g>\n", margin, y, block.body);
    y += block.height + 26;
    width = std::max(width, block.width);
    if (!own_captions && &group != &content.groups.back()) continue;
    const std::string& caption = group.caption.empty() ? default_caption : group.caption;
    body += text(margin, y, caption_font, " fill-opacity=\".6\"", caption);
    captions = std::max(captions, label_width(caption) * caption_font);
    if (&group != &content.groups.back()) y += 26;
  }
  if (!content.lines) {
    const SvgPart bar = draw_scale(scale, std::clamp(y - first_top - 26, 60.0, 160.0));
    body +=
        fmt::format("<g transform=\"translate({:g} {:g})\">\n{}</g>\n", margin + width + 18, first_top, bar.body);
    width += 18 + bar.width;
  }
  width = std::max(width, captions);
  if (!content.title.empty()) {
    const double room = std::max(width, narrowest_title);
    body += title_text(content.title, margin + title_font, room);
    width = std::max(width, std::min(label_width(label_text(content.title)) * bold * title_font, room));
  }
  width += 2 * margin;
  const double height = y + margin - 6;
  const std::string title = xml_escaped(label_text(content.title.empty() ? "attention weights" : content.title));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "role=\"img\" aria-label=\"{2}\" fill=\"#1f2430\" "
      "font-family=\"system-ui, 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, title, body);
}

}  // namespace qkv
