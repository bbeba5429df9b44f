// Rows times a matrix, and back: what some mechanisms do to queries and keys first.
#pragma once

#include "qkv/test_support/reference/part.h"

namespace qkv::test::reference {

// y = x w^T for the columns [from, from + x.width) of w (outputs, columns), stored.
template <class Kind>
Rows<Kind> project(const Rows<Kind>& x, const Rows<Kind>& w, int64_t from = 0) {
  Rows<Kind> y(w.count(), static_cast<size_t>(x.count() * w.count()));
  for (int64_t n = 0; n < x.count(); ++n)
    for (int64_t f = 0; f < w.count(); ++f)
      y.row(n)[f] = Kind::keep(dot_product(x.row(n), w.row(f) + from, x.width));
  return y;
}

// From the gradient of y to those of x and w.
template <class Kind>
void project_back(Rows<Kind>& y, Rows<Kind>& x, Rows<Kind>& w, int64_t from = 0) {
  for (auto& g : y.gradient) g = Kind::keep(g);
  for (int64_t n = 0; n < x.count(); ++n)
    for (int64_t f = 0; f < w.count(); ++f) {
      const auto g = y.gradient_row(n)[f];
      add_scaled(x.gradient_row(n), g, w.row(f) + from, x.width);
      add_scaled(w.gradient_row(f) + from, g, x.row(n), x.width);
    }
}

}  // namespace qkv::test::reference
