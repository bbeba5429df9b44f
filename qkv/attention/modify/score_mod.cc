#include "qkv/attention/modify/score_mod.h"

#include "qkv/base/error.h"

namespace qkv {
namespace {

class ScoreModModifier final : public Modifier {
 public:
  ScoreModModifier(ScoreMod f, ScoreModOptions options) : f_(std::move(f)), options_(std::move(options)) {}

  void forward(const Tile& tile, float* s) const override {
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.queries; ++i) {
        float& score = s[j * tile.width + i];
        score = f_(score, tile.batch, tile.head, tile.query + i, tile.key + j);
      }
  }

  // A score that f made -infinity has weight 0 and therefore gradient 0, whatever the derivative of f is there.
  void backward(const Tile& tile, const float* raw, float* ds, float* /*parameters*/) const override {
    require(static_cast<bool>(options_.derivative), "score_mod",
            "{} has no derivative: write it as a function of `auto score`, or give .derivative", options_.name);
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t i = 0; i < tile.queries; ++i) {
        const int64_t at = j * tile.width + i;
        if (ds[at] != 0)
          ds[at] *= options_.derivative(raw[at], tile.batch, tile.head, tile.query + i, tile.key + j);
      }
  }
  Saves saves() const override { return Saves::raw; }
  std::string name() const override { return options_.name; }

 private:
  ScoreMod f_;
  ScoreModOptions options_;
};

}  // namespace

ModifierPtr score_mod(ScoreMod f, ScoreModOptions options) {
  return std::make_shared<ScoreModModifier>(std::move(f), std::move(options));
}

}  // namespace qkv
