// One panel as a piece of SVG, labels included: a heat map of cells, or lines between two lists of tokens.
//
//     Drawing map = draw_cells(panel, scale, {.cell = 24, .font = 11, .row_labels = true, .column_labels = true});
//     canvas += map.at(100, 40);
#pragma once

#include <string>

#include "qkv/picture/picture.h"

namespace qkv {

// An SVG text shortened to `longest` em, with the whole label as its tooltip.
std::string svg_label(const std::string& token, double longest, const std::string& attributes);

// A body, and the space of the labels around it, in pixels.
struct Drawing {
  double left = 0, top = 0, right = 0, width = 0, height = 0;
  std::string body;  // origin: the upper left corner of the body

  std::string at(double x, double y) const;  // with the upper left corner of the body at (x, y)
};

struct PanelStyle {
  double cell = 20, font = 11;
  int64_t label_every = 1;  // every n-th token has a label, from the first
  bool row_labels = true, column_labels = true;
  bool roomy = false;     // column labels may extend beyond the right edge, cells may show their weights
  bool as_image = false;  // the cells as an image (PNG) inside of the file
};

Drawing draw_cells(const Panel& panel, const ColorScale& scale, const PanelStyle& style);
Drawing draw_lines(const Panel& panel, const ColorScale& scale, const PanelStyle& style);

}  // namespace qkv
