#include "qkv/test_support/reference/reweigh.h"

#include <algorithm>

namespace qkv::test::reference {
namespace {

template <class Kind>
struct Factors final : ReweigherPart<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> table;
  Factors(const Context<Kind>&, const Values& f) : table(f) {}
  Real factor(const Pair& pair) override { return table.row(pair.query)[pair.j]; }
};

// exp(-(j - p)^2 / (2 sigma^2)); positions have one number for each query.
template <class Kind>
struct Window : ReweigherPart<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> positions;
  Real variance;

  Window(Rows<Kind> p, double sigma) : positions(std::move(p)), variance(static_cast<Real>(sigma * sigma)) {}
  Real factor(const Pair& pair) override {
    const Real distance = from_position(pair);
    return exp(-(distance * distance) / (Real(2) * variance));
  }
  void backward(const Pair& pair, Real weight, Real dweight) override {
    positions.gradient[pair.query] += weight * dweight * from_position(pair) / variance;
  }

 private:
  Real from_position(const Pair& pair) const {
    return Real(static_cast<double>(pair.j)) - positions.values[pair.query];
  }
};

template <class Kind>
struct GaussianWindow final : Window<Kind> {
  GaussianWindow(const Context<Kind>&, const Values& p, double sigma) : Window<Kind>(Rows<Kind>(p), sigma) {}
  Parameters<Kind> parameters() override { return {&this->positions}; }
};

// The positions are computed in float32 for inputs of any type.
template <class Kind>
struct LocalP final : Window<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> w_p, v_p, lengths;
  int64_t rows_of_batch;  // queries of all heads

  LocalP(const Context<Kind>& c, const Values& w, const Values& v, const Values& l, int64_t window)
      : Window<Kind>(Rows<Kind>(1, static_cast<size_t>(c.q.count())), static_cast<double>(window) / 2),
        w_p(w),
        v_p(v),
        lengths(l),
        rows_of_batch(c.n.H * c.n.T) {
    for (int64_t row = 0; row < c.q.count(); ++row) {
      Real logit = 0;
      for (int64_t f = 0; f < w_p.count(); ++f) logit += v_p.values[f] * feature(c, row, f);
      this->positions.values[row] = length(row) / (Real(1) + exp(-logit));
    }
  }
  void finish(Context<Kind>& c) override {
    for (int64_t row = 0; row < c.q.count(); ++row) {
      const Real share = this->positions.values[row] / length(row);
      const Real slope = length(row) * share * (Real(1) - share);
      const Real dlogit = value_of(length(row)) == 0 ? Real(0) : this->positions.gradient[row] * slope;
      for (int64_t f = 0; f < w_p.count(); ++f) {
        const Real t = feature(c, row, f), dfeature = dlogit * v_p.values[f] * (Real(1) - t * t);
        v_p.gradient[f] += dlogit * t;
        add_scaled<Real>(c.q.gradient_row(row), dfeature, w_p.row(f), w_p.width);
        add_scaled<Real>(w_p.gradient_row(f), dfeature, c.q.row(row), w_p.width);
      }
    }
  }
  Parameters<Kind> parameters() override { return {&w_p, &v_p}; }

 private:
  Real feature(const Context<Kind>& c, int64_t row, int64_t f) const {
    return tanh(dot_product<Real>(c.q.row(row), w_p.row(f), w_p.width));
  }
  const Real& length(int64_t row) const { return lengths.values[row / rows_of_batch]; }
};

}  // namespace

ReweigherRecipe factors(const Values& table) { return ReweigherRecipe::of<Factors>(table); }
ReweigherRecipe gaussian_window(const Values& positions, double sigma) {
  return ReweigherRecipe::of<GaussianWindow>(positions, sigma);
}
ReweigherRecipe local_p(const Values& w_p, const Values& v_p, const Values& lengths, int64_t window) {
  return ReweigherRecipe::of<LocalP>(w_p, v_p, lengths, window);
}

Values factors_of(const Reweigher& reweigher, const AttentionShape& n) {
  Values factors({n.B, n.H, n.T, n.S}, std::vector<double>(static_cast<size_t>(n.B * n.H * n.T * n.S), 1.0));
  for (int64_t bh = 0; bh < n.B * n.H; ++bh)
    for (int64_t query = 0; query < n.T; query += max_block_queries)
      for (int64_t key = 0; key < n.S; ++key) {
        float one_key[max_block_queries];
        std::fill_n(one_key, max_block_queries, 1.0f);
        const int64_t queries = std::min(max_block_queries, n.T - query);
        reweigher.multiply({{&n, bh / n.H, bh % n.H, query, queries, max_block_queries}, key, 1}, one_key);
        for (int64_t i = 0; i < queries; ++i)
          factors.numbers[(bh * n.T + query + i) * n.S + key] = static_cast<double>(one_key[i]);
      }
  return factors;
}

}  // namespace qkv::test::reference
