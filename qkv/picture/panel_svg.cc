#include "qkv/picture/panel_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <fmt/format.h>

#include "qkv/base/base64.h"
#include "qkv/picture/label.h"
#include "qkv/picture/palette_png.h"

namespace qkv {
namespace {

constexpr double longest_label = 11;  // em
constexpr double label_gap = 5;       // pixels between a label and its row or column

double width_of(const std::string& label) { return std::min(label_width(label_text(label)), longest_label); }

// Of the labels that are shown.
double widest(const std::vector<std::string>& labels, int64_t every) {
  double width = 0;
  for (size_t i = 0; i < labels.size(); i += static_cast<size_t>(every))
    width = std::max(width, width_of(labels[i]));
  return width;
}

// Ticks at the labels where not every cell has one; direction H: to the left, V: up.
std::string label_ticks(int64_t count, const PanelStyle& style, char direction) {
  if (style.label_every == 1) return "";
  std::string path;
  for (int64_t i = 0; i < count; i += style.label_every) {
    const double at = (i + 0.5) * style.cell;
    path += direction == 'H' ? fmt::format("M0 {:g}h-3", at) : fmt::format("M{:g} 0v-3", at);
  }
  return fmt::format("<path d=\"{}\" stroke=\"#1f2430\" stroke-opacity=\".4\"/>\n", path);
}

// Runs of equal color in a row, all runs of a color in one path. Zero is the background.
std::string cells(const Panel& panel, const ColorScale& scale) {
  constexpr int levels = 255;
  const int64_t queries = panel.weights.dim(0), keys = panel.weights.dim(1);
  const std::span<const float> weights = panel.weights.span<float>();
  const auto level = [&](int64_t i, int64_t j) {
    const float share = weights[static_cast<size_t>(i * keys + j)] / scale.high;
    return static_cast<int>(std::lround(std::clamp(share, -1.0f, 1.0f) * levels));
  };
  std::map<int, std::string> paths;
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0, end; j < keys; j = end) {
      const int here = level(i, j);
      for (end = j + 1; end < keys && level(i, end) == here;) ++end;
      if (here != 0) paths[here] += fmt::format("M{} {}h{}v1h-{}z", j, i, end - j, end - j);
    }
  }
  std::string out;
  for (const auto& [here, path] : paths) {
    const Color color = scale.color(scale.high * static_cast<float>(here) / levels);
    out += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", hex(color), path);
  }
  return out;
}

// A weight is a square of pixels: programs that smooth enlarged images, as librsvg does, then leave its middle sharp.
// Large panels have cells of a few pixels anyway.
int64_t pixels_of_a_weight(int64_t queries, int64_t keys) { return std::max(queries, keys) <= 100 ? 4 : 1; }

// The same as an image, of which a large panel needs a tenth of the bytes.
std::string cells_as_image(const Panel& panel, const ColorScale& scale) {
  const int zero = scale.low < 0 ? 127 : 0;
  std::vector<Color> palette;
  palette.reserve(255);
  for (int i = 0; i < 255; ++i)
    palette.push_back(scale.color(scale.high * static_cast<float>(i - zero) / static_cast<float>(254 - zero)));
  const int64_t queries = panel.weights.dim(0), keys = panel.weights.dim(1),
                side = pixels_of_a_weight(queries, keys);
  const std::span<const float> weights = panel.weights.span<float>();
  std::vector<uint8_t> pixels;
  for (int64_t y = 0; y < queries * side; ++y) {
    for (int64_t j = 0; j < keys; ++j) {
      const float weight = weights[static_cast<size_t>(y / side * keys + j)];
      const float share = std::clamp(weight / scale.high, scale.low < 0 ? -1.0f : 0.0f, 1.0f);
      const auto level = static_cast<uint8_t>(zero + std::lround(share * static_cast<float>(254 - zero)));
      pixels.insert(pixels.end(), static_cast<size_t>(side), level);
    }
  }
  return fmt::format(
      "<image width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" image-rendering=\"optimizeSpeed\" "
      "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
      keys, queries, base64_encoded(palette_png(pixels, keys * side, palette)));
}

std::string grid_lines(int64_t queries, int64_t keys, double cell) {
  std::string path;
  for (int64_t i = 1; i < queries; ++i) path += fmt::format("M0 {:g}H{:g}", i * cell, keys * cell);
  for (int64_t j = 1; j < keys; ++j) path += fmt::format("M{:g} 0V{:g}", j * cell, queries * cell);
  return path.empty() ? "" : fmt::format("<path d=\"{}\" stroke=\"#1f2430\" stroke-opacity=\".07\"/>\n", path);
}

std::string numbers(const Panel& panel, const ColorScale& scale, double cell) {
  std::string out = fmt::format("<g font-size=\"{:g}\" text-anchor=\"middle\">\n", std::min(11.0, cell * 0.32));
  const int64_t keys = panel.weights.dim(1);
  int64_t at = 0;
  for (const float weight : panel.weights.span<float>()) {
    const bool none = std::abs(weight) < 0.005f, dark = scale.color(weight).dark();
    const int64_t i = at / keys, j = at % keys;
    out += fmt::format("<text x=\"{:g}\" y=\"{:g}\" dy=\".35em\"{}>{:.2f}</text>\n", (j + 0.5) * cell,
                       (i + 0.5) * cell,
                       none   ? " fill-opacity=\".35\""
                       : dark ? " fill=\"#fff\""
                              : "",
                       none ? 0.0f : weight);
    ++at;
  }
  return out + "</g>\n";
}

}  // namespace

std::string svg_label(const std::string& token, double longest, const std::string& attributes) {
  const std::string whole = label_text(token), shown = shortened(whole, longest);
  std::string text = xml_escaped(shown);
  // Marks of spaces are faint.
  for (const std::string_view mark : {"\u2581", "\u2423"}) {
    const std::string faint = fmt::format("<tspan fill-opacity=\".35\">{}</tspan>", mark);
    for (size_t at = 0; (at = text.find(mark, at)) != text.npos; at += faint.size())
      text.replace(at, mark.size(), faint);
  }
  const std::string title = shown == whole ? "" : "<title>" + xml_escaped(whole) + "</title>";
  return fmt::format("<text {}>{}{}</text>\n", attributes, title, text);
}

std::string Drawing::at(double x, double y) const {
  return fmt::format("<g transform=\"translate({:g} {:g})\">\n{}</g>\n", x, y, body);
}

Drawing draw_cells(const Panel& panel, const ColorScale& scale, const PanelStyle& style) {
  const int64_t queries = panel.weights.dim(0), keys = panel.weights.dim(1);
  const double cell = style.cell, font = style.font;
  Drawing out;
  out.width = static_cast<double>(keys) * cell;
  out.height = static_cast<double>(queries) * cell;
  out.body = fmt::format(
      "<title>{}</title>\n<rect width=\"{:g}\" height=\"{:g}\" fill=\"{}\"/>\n"
      "<g transform=\"scale({:g})\" shape-rendering=\"crispEdges\">\n{}</g>\n",
      xml_escaped(label_text(panel.title)), out.width, out.height, hex(scale.color(0)), cell,
      style.as_image ? cells_as_image(panel, scale) : cells(panel, scale));
  if (cell >= 9) out.body += grid_lines(queries, keys, cell);
  out.body +=
      fmt::format("<rect width=\"{:g}\" height=\"{:g}\" fill=\"none\" stroke=\"#1f2430\" stroke-opacity=\".3\"/>\n",
                  out.width, out.height);
  if (style.roomy && cell >= 30 && queries * keys <= 200) out.body += numbers(panel, scale, cell);

  if (style.row_labels) {
    out.left = widest(panel.rows, style.label_every) * font + label_gap;
    out.body += label_ticks(queries, style, 'H');
    out.body += fmt::format("<g font-size=\"{:g}\" text-anchor=\"end\">\n", font);
    for (int64_t i = 0; i < queries; i += style.label_every)
      out.body += svg_label(panel.rows[static_cast<size_t>(i)], longest_label,
                            fmt::format("x=\"{:g}\" y=\"{:g}\" dy=\".35em\"", -label_gap, (i + 0.5) * cell));
    out.body += "</g>\n";
  }
  if (style.column_labels) {
    const double length = widest(panel.columns, style.label_every) * font;
    const double pitch = cell * static_cast<double>(style.label_every);
    const bool level = length <= pitch - 0.5 * font;  // at least half an em between two of them
    const double angle = level ? 0 : style.roomy && pitch >= 1.3 * font ? 45 : 90;
    const double radians = angle * std::numbers::pi / 180;
    out.top = length * std::sin(radians) + font * (level ? 1 : std::cos(radians)) + label_gap;
    out.body += label_ticks(keys, style, 'V');
    out.body += fmt::format("<g font-size=\"{:g}\"{}>\n", font, level ? " text-anchor=\"middle\"" : "");
    for (int64_t j = 0; j < keys; j += style.label_every) {
      const double x = (j + 0.5) * cell;
      const std::string position =
          level
              ? fmt::format("x=\"{:g}\" y=\"{:g}\"", x, -label_gap)
              : fmt::format("transform=\"translate({:g} {:g}) rotate(-{:g})\" dy=\".35em\"", x, -label_gap, angle);
      const std::string& label = panel.columns[static_cast<size_t>(j)];
      out.body += svg_label(label, longest_label, position);
      if (angle == 45)
        out.right = std::max(out.right, x + (width_of(label) + 0.5) * font * std::cos(radians) - out.width);
    }
    out.body += "</g>\n";
  }
  return out;
}

Drawing draw_lines(const Panel& panel, const ColorScale& scale, const PanelStyle& style) {
  constexpr int levels = 40;  // of opacity
  const int64_t queries = panel.weights.dim(0), keys = panel.weights.dim(1);
  const double step = style.cell, across = std::clamp(step * 5, 60.0, 130.0);
  Drawing out;
  out.width = across;
  out.height = static_cast<double>(std::max(queries, keys)) * step;
  std::map<int, std::string> paths;  // by opacity, faint ones first; negative weights below zero
  const std::span<const float> weights = panel.weights.span<float>();
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const float share = weights[static_cast<size_t>(i * keys + j)] / scale.high;
      const int level = static_cast<int>(std::lround(std::clamp(share, -1.0f, 1.0f) * levels));
      if (level == 0) continue;
      const double y0 = (i + 0.5) * step, y1 = (j + 0.5) * step;
      paths[level] +=
          fmt::format("M0 {:g}C{:g} {:g} {:g} {:g} {:g} {:g}", y0, across * 0.4, y0, across * 0.6, y1, across, y1);
    }
  }
  out.body = fmt::format("<title>{}</title>\n<g fill=\"none\" stroke-width=\"{:g}\">\n",
                         xml_escaped(label_text(panel.title)), std::clamp(step * 0.11, 0.8, 2.2));
  for (const auto& [level, path] : paths)
    out.body += fmt::format("<path stroke=\"{}\" stroke-opacity=\"{:g}\" d=\"{}\"/>\n",
                            level > 0 ? "#2f4fb5" : "#b5402f", std::abs(level) / static_cast<double>(levels), path);
  out.body += "</g>\n";
  const auto label_side = [&](const std::vector<std::string>& labels, const char* anchor, double x) {
    out.body += fmt::format("<g font-size=\"{:g}\" text-anchor=\"{}\">\n", style.font, anchor);
    for (size_t i = 0; i < labels.size(); i += static_cast<size_t>(style.label_every))
      out.body +=
          svg_label(labels[i], longest_label,
                    fmt::format("x=\"{:g}\" y=\"{:g}\" dy=\".35em\"", x, (static_cast<double>(i) + 0.5) * step));
    out.body += "</g>\n";
    return widest(labels, style.label_every) * style.font + label_gap;
  };
  out.left = label_side(panel.rows, "end", -label_gap);
  out.right = label_side(panel.columns, "start", across + label_gap);
  return out;
}

}  // namespace qkv
