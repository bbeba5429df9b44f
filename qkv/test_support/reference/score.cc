#include "qkv/test_support/reference/score.h"

#include "qkv/test_support/reference/project.h"

namespace qkv::test::reference {
namespace {

// scale * q . k of queries and keys that a score has prepared.
template <class Kind>
struct PreparedDot : ScorePart<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> q, k;
  Real scale = 1;

  PreparedDot(Rows<Kind> queries, Rows<Kind> keys, double factor)
      : q(std::move(queries)), k(std::move(keys)), scale(static_cast<Real>(factor)) {}
  virtual int64_t key_row(const Pair& pair) const { return pair.key; }
  Real forward(const Pair& pair) override {
    return scale * dot_product<Real>(q.row(pair.query), k.row(key_row(pair)), q.width);
  }
  void backward(const Pair& pair, Real ds) override {
    const int64_t key = key_row(pair);
    add_scaled<Real>(q.gradient_row(pair.query), ds * scale, k.row(key), q.width);
    add_scaled<Real>(k.gradient_row(key), ds * scale, q.row(pair.query), q.width);
  }
};

template <class Kind>
void add(std::vector<typename Kind::Real>& sum, const std::vector<typename Kind::Real>& x) {
  for (size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
}

template <class Kind>
struct Dot final : PreparedDot<Kind> {
  Dot(const Context<Kind>& c, double factor) : PreparedDot<Kind>(c.q, c.k, factor) {}
  explicit Dot(const Context<Kind>& c) : Dot(c, 1 / std::sqrt(static_cast<double>(c.n.D))) {}
  void finish(Context<Kind>& c) override {
    add<Kind>(c.q.gradient, this->q.gradient);
    add<Kind>(c.k.gradient, this->k.gradient);
  }
};

template <class Kind>
Rows<Kind> times_unit(const Rows<Kind>& x, typename Kind::Real gain) {  // gain x / |x|
  Rows<Kind> y(x.width, x.values.size());
  for (int64_t n = 0; n < x.count(); ++n) {
    const auto length = sqrt(dot_product(x.row(n), x.row(n), x.width));
    for (int64_t d = 0; d < x.width; ++d) y.row(n)[d] = Kind::keep(gain * (x.row(n)[d] / length));
  }
  return y;
}

template <class Kind>
struct Cosine final : PreparedDot<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> gain;  // empty, or one number

  Cosine(const Context<Kind>& c, double factor, const Values& g)
      : PreparedDot<Kind>(times_unit(c.q, g.numbers.empty() ? Real(1) : static_cast<Real>(g.numbers[0])),
                          times_unit(c.k, Real(1)), factor),
        gain(g.numbers.empty() ? Rows<Kind>() : Rows<Kind>(g)) {}
  void finish(Context<Kind>& c) override {
    back(this->q, c.q, gain.values.empty() ? nullptr : &gain);
    back(this->k, c.k, nullptr);
  }
  Parameters<Kind> parameters() override {
    return gain.values.empty() ? Parameters<Kind>{} : Parameters<Kind>{&gain};
  }

 private:
  // y = g u, u = x / |x|: dg = u . dy, dx = g (dy - u (u . dy)) / |x|
  static void back(Rows<Kind>& y, Rows<Kind>& x, Rows<Kind>* gain) {
    for (int64_t n = 0; n < x.count(); ++n) {
      const Real length = sqrt(dot_product(x.row(n), x.row(n), x.width));
      Real along = 0;
      for (int64_t d = 0; d < x.width; ++d) {
        y.gradient_row(n)[d] = Kind::keep(y.gradient_row(n)[d]);
        along += x.row(n)[d] / length * y.gradient_row(n)[d];
      }
      const Real g = gain ? gain->values[0] : Real(1);
      if (gain) gain->gradient[0] += along;
      for (int64_t d = 0; d < x.width; ++d)
        x.gradient_row(n)[d] += g * (y.gradient_row(n)[d] - x.row(n)[d] / length * along) / length;
    }
  }
};

template <class Kind>
struct Bilinear final : PreparedDot<Kind> {
  Rows<Kind> m, transposed;  // (Dq, Dk), (Dk, Dq)

  Bilinear(const Context<Kind>& c, const Values& matrix)
      : PreparedDot<Kind>(project(c.q, transpose(Rows<Kind>(matrix))), c.k, 1),
        m(matrix),
        transposed(transpose(m)) {}
  void finish(Context<Kind>& c) override {
    project_back(this->q, c.q, transposed);
    add<Kind>(c.k.gradient, this->k.gradient);
    for (int64_t i = 0; i < m.count(); ++i)
      for (int64_t j = 0; j < m.width; ++j) m.gradient_row(i)[j] = transposed.gradient_row(j)[i];
  }
  Parameters<Kind> parameters() override { return {&m}; }

 private:
  static Rows<Kind> transpose(const Rows<Kind>& x) {
    Rows<Kind> y(x.count(), x.values.size());
    for (int64_t i = 0; i < x.count(); ++i)
      for (int64_t j = 0; j < x.width; ++j) y.row(j)[i] = x.row(i)[j];
    return y;
  }
};

template <class Kind>
struct Location final : PreparedDot<Kind> {
  Location(const Context<Kind>& c, const Values& w) : PreparedDot<Kind>(c.q, stored(w), 1) {}
  bool visible(const Pair& pair) const override { return pair.j < this->k.count(); }
  int64_t key_row(const Pair& pair) const override { return pair.j; }
  void finish(Context<Kind>& c) override { add<Kind>(c.q.gradient, this->q.gradient); }
  Parameters<Kind> parameters() override { return {&this->k}; }

 private:
  static Rows<Kind> stored(const Values& w) {
    Rows<Kind> rows(w);
    for (auto& x : rows.values) x = Kind::keep(x);
    return rows;
  }
};

// -|q - k|^2 / 2 of queries and keys that were divided by sigma, if there is one.
template <class Kind>
struct Distance final : ScorePart<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> q, k, sigma;

  Distance(const Context<Kind>& c, const Values& s) : sigma(s.numbers.empty() ? Rows<Kind>() : Rows<Kind>(s)) {
    q = divided(c.q);
    k = divided(c.k);
  }
  Real forward(const Pair& pair) override {
    Real sum = 0;
    for (int64_t d = 0; d < q.width; ++d) {
      const Real difference = q.row(pair.query)[d] - k.row(pair.key)[d];
      sum += difference * difference;
    }
    return Real(-0.5) * sum;
  }
  void backward(const Pair& pair, Real ds) override {
    for (int64_t d = 0; d < q.width; ++d) {
      const Real term = ds * (q.row(pair.query)[d] - k.row(pair.key)[d]);
      q.gradient_row(pair.query)[d] -= term;
      k.gradient_row(pair.key)[d] += term;
    }
  }
  void finish(Context<Kind>& c) override {
    back(q, c.q);
    back(k, c.k);
  }
  Parameters<Kind> parameters() override {
    return sigma.values.empty() ? Parameters<Kind>{} : Parameters<Kind>{&sigma};
  }

 private:
  Rows<Kind> divided(const Rows<Kind>& x) const {
    if (sigma.values.empty()) return x;
    Rows<Kind> y = x;
    for (Real& value : y.values) value = Kind::keep(value / sigma.values[0]);
    return y;
  }
  // y = x / sigma: dx = dy / sigma, dsigma = -dy . y / sigma
  void back(const Rows<Kind>& y, Rows<Kind>& x) {
    if (sigma.values.empty()) return add<Kind>(x.gradient, y.gradient);
    Real sum = 0;
    for (size_t i = 0; i < y.values.size(); ++i) {
      const Real dy = Kind::keep(y.gradient[i]);
      x.gradient[i] += dy / sigma.values[0];
      sum += dy * y.values[i];
    }
    sigma.gradient[0] -= sum / sigma.values[0];
  }
};

// w_v . tanh(q + k) of projected queries and keys.
template <class Kind>
struct Features : ScorePart<Kind> {
  using Real = typename Kind::Real;
  Rows<Kind> q, k, w_v;

  Features(Rows<Kind> queries, Rows<Kind> keys, const Values& w)
      : q(std::move(queries)), k(std::move(keys)), w_v(w) {}
  Real forward(const Pair& pair) override {
    Real sum = 0;
    for (int64_t f = 0; f < q.width; ++f) sum += w_v.values[f] * tanh(feature(pair, f));
    return sum;
  }
  void backward(const Pair& pair, Real ds) override {
    for (int64_t f = 0; f < q.width; ++f) {
      const Real t = tanh(feature(pair, f)), term = ds * w_v.values[f] * (Real(1) - t * t);
      w_v.gradient[f] += ds * t;
      q.gradient_row(pair.query)[f] += term;
      k.gradient_row(pair.key)[f] += term;
    }
  }

 private:
  Real feature(const Pair& pair, int64_t f) const { return q.row(pair.query)[f] + k.row(pair.key)[f]; }
};

template <class Kind>
struct Additive final : Features<Kind> {
  Rows<Kind> w_q, w_k;
  Additive(const Context<Kind>& c, const Values& wq, const Values& wk, const Values& wv)
      : Features<Kind>(project(c.q, Rows<Kind>(wq)), project(c.k, Rows<Kind>(wk)), wv), w_q(wq), w_k(wk) {}
  void finish(Context<Kind>& c) override {
    project_back(this->q, c.q, w_q);
    project_back(this->k, c.k, w_k);
  }
  Parameters<Kind> parameters() override { return {&w_q, &w_k, &this->w_v}; }
};

template <class Kind>
struct Concat final : Features<Kind> {
  Rows<Kind> w;
  Concat(const Context<Kind>& c, const Values& matrix, const Values& wv)
      : Features<Kind>(project(c.q, Rows<Kind>(matrix)), project(c.k, Rows<Kind>(matrix), c.q.width), wv),
        w(matrix) {}
  void finish(Context<Kind>& c) override {
    project_back(this->q, c.q, w);
    project_back(this->k, c.k, w, c.q.width);
  }
  Parameters<Kind> parameters() override { return {&w, &this->w_v}; }
};

}  // namespace

ScoreRecipe scaled_dot() { return ScoreRecipe::of<Dot>(); }
ScoreRecipe dot(double scale) { return ScoreRecipe::of<Dot>(scale); }
ScoreRecipe cosine(double scale) { return ScoreRecipe::of<Cosine>(scale, Values()); }
ScoreRecipe cosine(double scale, const Values& gain) { return ScoreRecipe::of<Cosine>(scale, gain); }
ScoreRecipe bilinear(const Values& m) { return ScoreRecipe::of<Bilinear>(m); }
ScoreRecipe location(const Values& w) { return ScoreRecipe::of<Location>(w); }
ScoreRecipe distance() { return ScoreRecipe::of<Distance>(Values()); }
ScoreRecipe gaussian(const Values& sigma) { return ScoreRecipe::of<Distance>(sigma); }
ScoreRecipe additive(const Values& w_q, const Values& w_k, const Values& w_v) {
  return ScoreRecipe::of<Additive>(w_q, w_k, w_v);
}
ScoreRecipe concat(const Values& w, const Values& w_v) { return ScoreRecipe::of<Concat>(w, w_v); }

}  // namespace qkv::test::reference
