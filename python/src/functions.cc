// Masks, score modifications and scores that are Python functions. A function is called with the GIL, a piece at a
// time: a mask on up to 64 queries by 4096 keys, the others on a tile. See python/qkv/_function_arrays.py for its
// arguments.

#include <algorithm>
#include <atomic>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "python/src/bind.h"
#include "python/src/callback.h"
#include "python/src/parts.h"
#include "qkv/attention/mask/mask_mod.h"
#include "qkv/base/error.h"

namespace qkv::python {
namespace {

uint64_t new_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::vector<Variable> variables_of(nb::tuple arrays, const char* name, bool requires_grad) {
  std::vector<Variable> out;
  for (const nb::handle array : arrays) out.push_back(variable_of(array, name, requires_grad));
  return out;
}

// A mask of tiles from function(batch, head, query, queries, key, keys) -> uint8 (queries, keys). A block map asks for
// the tiles of a row of blocks one after another; a piece of the row is evaluated at once and kept for the next tiles.
class RowBlocks {
 public:
  explicit RowBlocks(nb::handle function) : function_(function), id_(new_id()) {}

  void operator()(const Tile& tile, uint64_t* visible) const {
    thread_local Piece piece;
    if (!piece.covers(tile, id_)) evaluate(tile, piece);
    std::copy_n(piece.visible.data() + tile.key - piece.key, tile.keys, visible);
  }

 private:
  static constexpr int64_t piece_keys = 4096;

  struct Piece {
    uint64_t id = 0;
    int64_t batch = 0, head = 0, query = 0, queries = 0, key = 0;
    std::vector<uint64_t> visible = {};  // as in Mask::fill

    bool covers(const Tile& t, uint64_t of) const {
      return id == of && batch == t.batch && head == t.head && query == t.query && queries == t.queries &&
             t.key > key && t.key + t.keys <= key + static_cast<int64_t>(visible.size());
    }
  };

  void evaluate(const Tile& tile, Piece& piece) const {
    const int64_t keys = std::min(piece_keys, tile.shape->S - tile.key);
    piece.id = 0;
    {
      const nb::gil_scoped_acquire lock;
      const nb::object answer = function_(tile.batch, tile.head, tile.query, tile.queries, tile.key, keys);
      const auto bits = nb::cast<nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(answer);
      piece.visible.assign(static_cast<size_t>(keys), 0);
      for (int64_t i = 0; i < tile.queries; ++i) {
        const uint8_t* row = bits.data() + i * keys;
        for (int64_t j = 0; j < keys; ++j) piece.visible[static_cast<size_t>(j)] |= uint64_t{row[j]} << i;
      }
    }
    piece.id = id_;
    piece.batch = tile.batch;
    piece.head = tile.head;
    piece.query = tile.query;
    piece.queries = tile.queries;
    piece.key = tile.key;
  }

  Callback function_;
  uint64_t id_;
};

// forward(score, batch, head, query, key) -> (queries, keys)
// backward(grad, score, batch, head, query, key) -> ((queries, keys), [gradients of the parameters])
class FunctionScoreMod final : public Modifier {
 public:
  FunctionScoreMod(nb::handle forward, nb::handle backward, std::vector<Variable> parameters, std::string name)
      : forward_(forward), backward_(backward), parameters_(std::move(parameters)), name_(std::move(name)) {}

  void forward(const Tile& tile, float* s) const override {
    const Tensor score = tile_to_rows(tile, s);
    const nb::gil_scoped_acquire lock;
    const nb::object out = forward_(array_of(score, true), tile.batch, tile.head, tile.query, tile.key);
    rows_to_tile(tile, floats_of(out, score.shape(), name_.c_str()), s);
  }

  void backward(const Tile& tile, const float* raw, float* ds, float* parameters) const override {
    const Tensor score = tile_to_rows(tile, raw), grad = tile_to_rows(tile, ds);
    const nb::gil_scoped_acquire lock;
    const nb::object out =
        backward_(array_of(grad, true), array_of(score, true), tile.batch, tile.head, tile.query, tile.key);
    rows_to_tile(tile, floats_of(out[0], score.shape(), name_.c_str()), ds);
    add_gradients(out[1], parameters_, name_.c_str(), parameters);
  }
  Saves saves() const override { return Saves::raw; }
  std::vector<Variable> parameters() const override { return parameters_; }
  std::string name() const override { return name_; }

 private:
  Callback forward_, backward_;
  std::vector<Variable> parameters_;
  std::string name_;
};

// forward(q, k, batch, head, query, key) -> (queries, keys), q (queries, D), k (keys, D)
// backward(grad, q, k, batch, head, query, key) -> (dq, dk, [gradients of the parameters])
class FunctionScore final : public Score {
 public:
  FunctionScore(nb::handle forward, nb::handle backward, std::vector<Variable> parameters, std::string name)
      : forward_(forward), backward_(backward), parameters_(std::move(parameters)), name_(std::move(name)) {}

  void forward(const Tile& tile, const ScoreOperands& operands, float* s) const override {
    const Tensor q = queries_of(tile, operands), k = keys_of(tile, operands);
    const nb::gil_scoped_acquire lock;
    const nb::object out =
        forward_(array_of(q, true), array_of(k, true), tile.batch, tile.head, tile.query, tile.key);
    rows_to_tile(tile, floats_of(out, {tile.queries, tile.keys}, name_.c_str()), s);
  }

  void backward(const Tile& tile, const ScoreOperands& operands, const WeightOperand& ds,
                const ScoreGradients& gradients) const override {
    const Tensor q = queries_of(tile, operands), k = keys_of(tile, operands), grad = tile_to_rows(tile, ds.tile);
    const nb::gil_scoped_acquire lock;
    const nb::object out = backward_(array_of(grad, true), array_of(q, true), array_of(k, true), tile.batch,
                                     tile.head, tile.query, tile.key);
    const Tensor dq = floats_of(out[0], q.shape(), name_.c_str()), dk = floats_of(out[1], k.shape(), name_.c_str());
    for (int64_t i = 0; i < tile.queries; ++i)
      for (int64_t d = 0; d < q.dim(1); ++d)
        gradients.dq_transposed[d * operands.q.stride + i] += dq.data<float>()[i * q.dim(1) + d];
    for (int64_t j = 0; j < tile.keys; ++j)
      for (int64_t d = 0; d < k.dim(1); ++d)
        gradients.dk[j * operands.q.row_width + d] += dk.data<float>()[j * k.dim(1) + d];
    add_gradients(out[2], parameters_, name_.c_str(), gradients.parameters);
  }
  std::vector<Variable> parameters() const override { return parameters_; }
  std::string name() const override { return name_; }

 private:
  static Tensor queries_of(const Tile& tile, const ScoreOperands& x) {
    Tensor q = Tensor::empty({tile.queries, x.k.width});
    float* to = q.data<float>();
    for (int64_t i = 0; i < tile.queries; ++i)
      for (int64_t d = 0; d < x.k.width; ++d) *to++ = x.q.transposed[d * x.q.stride + i];
    return q;
  }
  static Tensor keys_of(const Tile& tile, const ScoreOperands& x) {
    Tensor k = Tensor::empty({tile.keys, x.k.width});
    for (int64_t j = 0; j < tile.keys; ++j)
      std::copy_n(x.k.rows + j * x.k.row_stride, x.k.width, k.data<float>() + j * x.k.width);
    return k;
  }

  Callback forward_, backward_;
  std::vector<Variable> parameters_;
  std::string name_;
};

}  // namespace

void bind_functions(nb::module_& m) {
  m.def("mask_mod", [](nb::handle function, std::string name, bool per_batch, bool per_head) {
    return MaskPart{tile_mask_mod(RowBlocks(function),
                                  {.name = std::move(name), .per_batch = per_batch, .per_head = per_head})};
  });
  m.def(
      "score_mod",
      [](nb::handle forward, nb::handle backward, nb::tuple parameters, std::string name, bool requires_grad) {
        std::vector<Variable> variables = variables_of(parameters, name.c_str(), requires_grad);
        return ModifyPart{std::make_shared<FunctionScoreMod>(forward, backward, variables, std::move(name)),
                          variables};
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  m.def(
      "score_function",
      [](nb::handle forward, nb::handle backward, nb::tuple parameters, std::string name, bool requires_grad) {
        std::vector<Variable> variables = variables_of(parameters, name.c_str(), requires_grad);
        return ScorePart{std::make_shared<FunctionScore>(forward, backward, variables, std::move(name)), variables};
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace qkv::python
