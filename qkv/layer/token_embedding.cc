#include "qkv/layer/token_embedding.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "qkv/base/error.h"
#include "qkv/layer/initialise.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/dropout.h"
#include "qkv/op/embedding.h"

namespace qkv {

namespace {

Parameter::Initialise of_width(const Axis& width) {
  return normal(1.0 / std::sqrt(static_cast<double>(width.size)));
}

// A table that is added to embeddings, and is not the matrix of a product.
Parameter added_table(const Axis& rows, const Axis& width) { return Parameter({rows, width}, of_width(width)); }

}  // namespace

Parameter embedding_table(const Axis& rows, const Axis& width) {
  return Parameter::matrix(rows, width, of_width(width));
}

TokenEmbedding::TokenEmbedding(const Parameter& embeddings, const TokenEmbeddingOptions& o)
    : table(embeddings),
      options_(o),
      sinusoidal_(o.width == 0 ? embeddings.dim(1) : o.width, o.max_positions, o.sinusoids) {
  const Axis C(width(), "C");
  if (C.size != table.dim(1)) projection.emplace(Axis(table.dim(1), "E"), C, false);
  if (o.positions == PositionTable::learned) positions = added_table({o.max_positions + o.position_offset, "P"}, C);
  if (o.types > 0) types = added_table({o.types}, C);
  if (o.norm) norm.emplace(C, *o.norm);
}

Variable TokenEmbedding::rows_of(const Tensor& ids) const {
  const Variable x = embedding(ids, table, {.scale = options_.scale});
  return projection ? projection->forward(x) : x;
}

Variable TokenEmbedding::with_positions(const Tensor& ids, const Place& place) const {
  const int64_t first = place.first_position + options_.position_offset;
  require(options_.positions == PositionTable::none || place.first_position + ids.dim(1) <= options_.max_positions,
          "TokenEmbedding", "positions {} to {} are beyond the limit of {} positions", place.first_position,
          place.first_position + ids.dim(1) - 1, options_.max_positions);
  if (projection) {
    Tensor columns = Tensor::empty(ids.shape(), DType::i32);
    for (int64_t i = 0; i < ids.numel(); ++i)
      columns.data<int32_t>()[i] = static_cast<int32_t>(place.first_position + i % ids.dim(1));
    return with_given_positions(ids, columns);
  }
  EmbeddingOptions added{.scale = options_.scale, .first_position = first};
  if (options_.positions == PositionTable::learned) added.positions = positions;
  if (options_.positions == PositionTable::sinusoidal)
    std::tie(added.positions, added.first_position) = sinusoidal_.rows(first, ids.dim(1));
  return embedding(ids, table, added);
}

Variable TokenEmbedding::with_given_positions(const Tensor& ids, const Tensor& given) const {
  require(given.shape() == ids.shape() && given.dtype() == DType::i32, "TokenEmbedding",
          "positions must be i32 {}, as the ids, got {} {}", describe("BT", ids.shape()), name_of(given.dtype()),
          describe("BT", given.shape()));
  Variable x = rows_of(ids);
  if (options_.positions == PositionTable::none) return x;
  Tensor rows = Tensor::empty(ids.shape(), DType::i32);
  int64_t last = 0;
  for (int64_t i = 0; i < ids.numel(); ++i) {
    const int64_t position = given.data<int32_t>()[i];
    require(position >= 0 && position < options_.max_positions, "TokenEmbedding",
            "position {} is outside the {} positions of the table", position, options_.max_positions);
    last = std::max(last, position + options_.position_offset);
    rows.data<int32_t>()[i] = static_cast<int32_t>(position + options_.position_offset);
  }
  if (options_.positions == PositionTable::learned) return add(x, embedding(rows, positions));
  const auto [sinusoids, first] = sinusoidal_.rows(0, last + 1);
  return add(x, embedding(rows, sinusoids));
}

Variable TokenEmbedding::forward(const Tensor& ids, const Place& place, Pass& pass) const {
  Variable x = place.positions.defined() ? with_given_positions(ids, place.positions) : with_positions(ids, place);
  if (types.defined())
    x = add(x, embedding(place.types.defined() ? place.types : Tensor::zeros(ids.shape(), DType::i32), types));
  if (norm) x = norm->forward(x);
  return dropout(x, pass.dropout(options_.dropout));
}

void TokenEmbedding::list(ModuleContents& contents) const {
  contents.parameter("positions", positions);
  contents.parameter("types", types);
  if (projection) contents.child("projection", *projection);
  if (norm) contents.child("norm", *norm);
}

}  // namespace qkv
