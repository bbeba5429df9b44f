// Curves of numbers by step, such as those of trainings: a panel for each quantity, a color for each run.
//
//     Curves({.runs = {"small", "large"}, .panels = {{.title = "loss", .curves = {small_loss, large_loss}}}})
//         .save("curves.svg");                                             // or .png, .html
//
// SVG and HTML are one self-contained file, which follows the light or dark setting of the reader; a PNG is the light
// SVG, drawn by rsvg-convert where that is installed (svg_to_png.h). The points of short curves show their numbers under
// the pointer. Points that are not finite are left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace qkv {

struct CurvePoint {
  double x = 0, y = 0;
};
using Curve = std::vector<CurvePoint>;

struct CurvePanel {
  std::string title;
  std::vector<Curve> curves = {};  // of each run, in their order; empty: it has none
};

struct CurvesContent {
  std::string title = {}, x_title = "updates";
  std::vector<std::string> runs = {};
  std::vector<CurvePanel> panels = {};
  bool logarithmic = false;  // both axes; points that are not positive are left out
};

class Curves {
 public:
  explicit Curves(CurvesContent content);  // Error for a panel with more curves than runs

  std::string svg() const;
  std::string html() const;
  void save(const std::filesystem::path& path) const;  // by its extension: .svg, .png or .html
  const CurvesContent& content() const { return content_; }

 private:
  CurvesContent content_;
};

// Round numbers between low and high, about `count` of them.
std::vector<double> round_ticks(double low, double high, int count);
// The powers of 2 (or of 4, 8, ...), or with base 10 also 2 and 5 times these, at most about `count` of them.
std::vector<double> logarithmic_ticks(double low, double high, int base, int count);

}  // namespace qkv
