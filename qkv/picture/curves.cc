#include "qkv/picture/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/integers.h"
#include "qkv/picture/label.h"
#include "qkv/picture/svg_to_png.h"

namespace qkv {
namespace {

constexpr double panel_width = 420, panel_height = 190, left = 52, right = 14, top = 30, bottom = 34;
constexpr size_t panels_across = 2, colors = 6;
constexpr size_t max_markers = 60;  // points of a curve that have a dot each

// Six colors that people with any kind of color vision can tell apart (Okabe and Ito, 2008), lighter ones for a dark
// page; runs beyond the sixth are dashed.
constexpr const char* curve_style = R"(<style>
.qkv-page { fill: #ffffff } .qkv-ink { fill: #1f2430 } .qkv-soft { fill: #5b6270 }
.qkv-grid { stroke: #e3e6ea; stroke-width: 1 } .qkv-axis { stroke: #9aa1ac; stroke-width: 1 }
.qkv-curve { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round }
.qkv-s0 { stroke: #0072b2 } .qkv-s1 { stroke: #d55e00 } .qkv-s2 { stroke: #009e73 }
.qkv-s3 { stroke: #b8548d } .qkv-s4 { stroke: #b07d00 } .qkv-s5 { stroke: #4a4f9c }
.qkv-f0 { fill: #0072b2 } .qkv-f1 { fill: #d55e00 } .qkv-f2 { fill: #009e73 }
.qkv-f3 { fill: #b8548d } .qkv-f4 { fill: #b07d00 } .qkv-f5 { fill: #4a4f9c }
@media (prefers-color-scheme: dark) {
.qkv-page { fill: #14171c } .qkv-ink { fill: #e6e8ec } .qkv-soft { fill: #a5acb8 }
.qkv-grid { stroke: #2a2f37 } .qkv-axis { stroke: #6a717d }
.qkv-s0 { stroke: #58b0f0 } .qkv-s1 { stroke: #ff9350 } .qkv-s2 { stroke: #3dd0a0 }
.qkv-s3 { stroke: #ea9cc8 } .qkv-s4 { stroke: #f2c14e } .qkv-s5 { stroke: #a9aef5 }
.qkv-f0 { fill: #58b0f0 } .qkv-f1 { fill: #ff9350 } .qkv-f2 { fill: #3dd0a0 }
.qkv-f3 { fill: #ea9cc8 } .qkv-f4 { fill: #f2c14e } .qkv-f5 { fill: #a9aef5 }
}
</style>
)";

// Whether it can be drawn.
bool is_shown(const CurvePoint& p, bool logarithmic) {
  return std::isfinite(p.x) && std::isfinite(p.y) && (!logarithmic || (p.x > 0 && p.y > 0));
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool logarithmic = false;

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  double share(double value) const {
    if (!(high > low)) return 0.5;
    return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

// "12k", "0.0025", "1.5e-05".
std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:g}", value);
  if (size >= 1e12) return fmt::format("{:g}T", value / 1e12);
  if (size >= 1e9) return fmt::format("{:g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     xml_escaped(label_text(text)));
}

std::string dashes(size_t run) {
  const size_t style = run / colors % 3;
  return style == 0 ? "" : style == 1 ? " stroke-dasharray=\"6 4\"" : " stroke-dasharray=\"2 4\"";
}

// A panel at the origin.
class PanelDrawing {
 public:
  PanelDrawing(const CurvePanel& panel, const Range& steps, const std::vector<std::string>& runs)
      : panel_(panel), x_(steps), runs_(runs) {
    y_.logarithmic = steps.logarithmic;
    for (const Curve& curve : panel.curves)
      for (const CurvePoint& p : curve)
        if (is_shown(p, y_.logarithmic)) y_.add(p.y);
    if (y_.logarithmic) {
      const double room = std::max(1.1, std::pow(y_.high / y_.low, 0.05));
      y_.low /= room, y_.high *= room;
      return;
    }
    const double room = y_.high > y_.low ? 0.05 * (y_.high - y_.low) : std::max(1e-9, std::abs(y_.high) * 0.1);
    y_.low = y_.low < 0 ? y_.low - room : std::max(0.0, y_.low - room);
    y_.high += room;
  }

  std::string draw(const std::string& x_title) const {
    std::string out = text_at(left, 18, "class=\"qkv-ink\" font-size=\"13\" font-weight=\"600\"", panel_.title);
    for (const double tick : ticks(y_, 10, 4)) {
      out += line("qkv-grid", left, y_at(tick), left + width, y_at(tick));
      out += text_at(left - 7, y_at(tick) + 3.5, "class=\"qkv-soft\" font-size=\"10.5\" text-anchor=\"end\"",
                     tick_text(tick));
    }
    out += line("qkv-axis", left, top + height, left + width, top + height);
    for (const double tick : ticks(x_, 2, 5))
      out += text_at(x_at(tick), top + height + 15, "class=\"qkv-soft\" font-size=\"10.5\" text-anchor=\"middle\"",
                     tick_text(tick));
    out += text_at(left + width, top + height + 29, "class=\"qkv-soft\" font-size=\"10.5\" text-anchor=\"end\"",
                   x_title);
    for (size_t run = 0; run < panel_.curves.size(); ++run) out += draw_curve(run);
    return out;
  }

 private:
  static constexpr double width = panel_width - left - right, height = panel_height - top - bottom;

  static std::vector<double> ticks(const Range& range, int base, int count) {
    return range.logarithmic ? logarithmic_ticks(range.low, range.high, base, count)
                             : round_ticks(range.low, range.high, count);
  }
  double x_at(double x) const { return left + width * x_.share(x); }
  double y_at(double y) const { return top + height * (1 - y_.share(y)); }

  static std::string line(const char* style, double x1, double y1, double x2, double y2) {
    return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", style, x1,
                       y1, x2, y2);
  }

  std::string draw_curve(size_t run) const {
    Curve points;
    std::ranges::copy_if(panel_.curves[run], std::back_inserter(points),
                         [&](const CurvePoint& p) { return is_shown(p, x_.logarithmic); });
    if (points.empty()) return "";
    std::string path;
    for (const CurvePoint& p : points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_at(p.x), y_at(p.y));
    std::string out =
        fmt::format("<path class=\"qkv-curve qkv-s{}\"{} d=\"{}\"/>\n", run % colors, dashes(run), path);
    if (points.size() > max_markers) return out;
    for (const CurvePoint& p : points)
      out += fmt::format(
          "<circle class=\"qkv-f{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"><title>{}</title></circle>\n",
          run % colors, x_at(p.x), y_at(p.y),
          xml_escaped(label_text(fmt::format("{}: {:.5g} at {:g}", runs_[run], p.y, p.x))));
    return out;
  }

  const CurvePanel& panel_;
  Range x_, y_;
  const std::vector<std::string>& runs_;
};

bool has_points(const CurvePanel& panel, bool logarithmic) {
  return std::ranges::any_of(panel.curves, [&](const Curve& curve) {
    return std::ranges::any_of(curve, [&](const CurvePoint& p) { return is_shown(p, logarithmic); });
  });
}

// The names of the runs with their colors, in lines of the given width.
std::string draw_legend(const std::vector<std::string>& runs, double width, double& y) {
  std::string out;
  double x = left;
  for (size_t run = 0; run < runs.size(); ++run) {
    const double needed = 34 + 12 * label_width(runs[run]) + 18;
    if (x + needed > width && x > left) x = left, y += 18;
    out += fmt::format(
        "<line class=\"qkv-curve qkv-s{}\"{} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
        run % colors, dashes(run), x, y - 4, x + 22, y - 4);
    out += text_at(x + 28, y, "class=\"qkv-ink\" font-size=\"12\"", runs[run]);
    x += needed;
  }
  y += 14;
  return out;
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / count, decade = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {5.0, 2.5, 2.0, 1.0})
    if (factor * decade >= rough) step = factor * decade;
  std::vector<double> ticks;
  for (double i = std::ceil(low / step); i * step <= high + 1e-9 * step; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high, int base, int count) {
  if (!(low > 0) || !(high > low)) return {low};
  std::vector<double> ticks;
  const auto within = [&](const std::vector<double>& multiples, int step) {
    ticks.clear();
    const auto first = static_cast<int>(std::floor(std::log(low) / std::log(base)));
    for (int exponent = first - (first % step + step) % step; std::pow(base, exponent) <= high * (1 + 1e-9);
         exponent += step)
      for (const double multiple : multiples) {
        const double tick = multiple * std::pow(base, exponent);
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
      }
    return std::ssize(ticks) <= count + 1;
  };
  if (base == 10 && within({1, 2, 5}, 1) && ticks.size() > 1) return ticks;
  for (int step = 1; !within({1}, step); ++step) continue;
  return ticks.empty() ? round_ticks(low, high, count) : ticks;
}

Curves::Curves(CurvesContent content) : content_(std::move(content)) {
  for (const CurvePanel& panel : content_.panels)
    require(panel.curves.size() <= content_.runs.size(), "curves", "panel '{}' has {} curves for {} runs",
            panel.title, panel.curves.size(), content_.runs.size());
}

std::string Curves::svg() const {
  Range steps;
  steps.logarithmic = content_.logarithmic;
  std::vector<const CurvePanel*> panels;
  for (const CurvePanel& panel : content_.panels) {
    if (!has_points(panel, content_.logarithmic)) continue;
    panels.push_back(&panel);
    for (const Curve& curve : panel.curves)
      for (const CurvePoint& p : curve)
        if (is_shown(p, content_.logarithmic)) steps.add(p.x);
  }
  if (!steps.empty() && !content_.logarithmic) steps.add(0);
  const size_t across = std::clamp<size_t>(panels.size(), 1, panels_across);
  const size_t down = ceil_div(panels.size(), across);
  const double width = 16 + panel_width * static_cast<double>(across);
  double y = 22;
  std::string body;
  if (!content_.title.empty()) {
    body += text_at(left, y + 4, "class=\"qkv-ink\" font-size=\"16\" font-weight=\"600\"", content_.title);
    y += 30;
  }
  body += draw_legend(content_.runs, width, y);
  for (size_t i = 0; i < panels.size(); ++i) {
    const size_t column = i % across, line = i / across;
    body += fmt::format("<g transform=\"translate({:g} {:g})\">\n{}</g>\n",
                        static_cast<double>(column) * panel_width, y + static_cast<double>(line) * panel_height,
                        PanelDrawing(*panels[i], steps, content_.runs).draw(content_.x_title));
  }
  const double height = y + static_cast<double>(down) * panel_height + 8;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "role=\"img\" aria-label=\"{2}\" "
      "font-family=\"system-ui, 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', sans-serif\">\n{3}"
      "<rect class=\"qkv-page\" width=\"100%\" height=\"100%\"/>\n{4}</svg>\n",
      width, height, xml_escaped(label_text(content_.title.empty() ? "curves" : content_.title)), curve_style,
      body);
}

std::string Curves::html() const {
  const std::string title = xml_escaped(label_text(content_.title.empty() ? "curves" : content_.title));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{}</title>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\n"
      "<style>body {{ margin: 0; background: #ffffff }} svg {{ display: block; margin: 0 auto; max-width: 100%; "
      "height: auto }}\n"
      "@media (prefers-color-scheme: dark) {{ body {{ background: #14171c }} }}</style></head>\n<body>\n{}</body>\n"
      "</html>\n",
      title, svg());
}

void Curves::save(const std::filesystem::path& path) const {
  const std::string end = path.extension().string();
  if (end == ".svg") return write_file(path, svg());
  if (end == ".html") return write_file(path, html());
  if (end == ".png") return write_file(path, svg_to_png(svg()));
  fail<UsageError>("curves", "'{}': the name must end in .svg, .png or .html", path.string());
}

}  // namespace qkv
