// An SVG as a PNG image, by rsvg-convert of librsvg: an optional program, so that the library needs no renderer.
//
//     std::string bytes = svg_to_png(picture.svg(), {.zoom = 2});
//
// An InputError says where to get the program if it is not installed, and what it reported if it failed.
#pragma once

#include <string>

namespace qkv {

struct PngOptions {
  double zoom = 2;                       // pixels of the image for a pixel of the SVG
  std::string program = "rsvg-convert";  // a name looked up in PATH, or a path
};
std::string svg_to_png(const std::string& svg, const PngOptions& options = {});

}  // namespace qkv
