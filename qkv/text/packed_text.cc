#include "qkv/text/packed_text.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/random.h"

namespace qkv {
namespace {

// Random numbers of an epoch: one stream for the documents, one for the rows.
enum class PackedPurpose : uint64_t { documents = 0x646f6373, rows = 0x726f7773 };
Random packed_random(PackedPurpose purpose, uint64_t seed, int64_t epoch) {
  return Random(seed, mix(static_cast<uint64_t>(purpose), static_cast<uint64_t>(epoch)));
}

}  // namespace

// A row of the tensors of a batch.
struct PackedText::Row {
  int32_t *inputs, *targets, *documents, *positions;
};

PackedText::PackedText(std::vector<std::span<const int32_t>> documents, const PackedTextOptions& options)
    : documents_(std::move(documents)), options_(options) {
  require<UsageError>(options.length >= 1, "packed_text", "length must be at least 1, got {}", options.length);
  require<UsageError>(options.rows >= 1, "packed_text", "rows must be at least 1, got {}", options.rows);
  std::erase_if(documents_, [](std::span<const int32_t> document) { return document.empty(); });
  require<InputError>(!documents_.empty(), "packed_text", "there are no tokens");
  constexpr auto largest = std::numeric_limits<uint32_t>::max();
  require(documents_.size() < largest, "packed_text", "{} documents, at most 2^32 - 2 fit", documents_.size());
  for (uint32_t i = 0; i < documents_.size(); ++i) tokens_ += packed_length(i);
  require(rows_in_epoch() < largest, "packed_text", "{} rows of {} tokens, at most 2^32 - 2 fit", rows_in_epoch(),
          options.length);
}

int64_t PackedText::rows_in_epoch() const { return ceil_div(tokens_, options_.length); }
int64_t PackedText::batches_in_epoch() const { return ceil_div(rows_in_epoch(), options_.rows); }

int64_t PackedText::packed_length(uint32_t document) const {
  return static_cast<int64_t>(documents_[document].size()) + (options_.bos ? 2 : 1);
}

int32_t PackedText::token(uint32_t document, int64_t index) const {
  if (options_.bos && index-- == 0) return *options_.bos;
  const auto ids = documents_[document];
  return index < static_cast<int64_t>(ids.size()) ? ids[static_cast<size_t>(index)] : options_.eos;
}

void PackedText::make_plan(int64_t epoch) {
  if (planned_epoch_ == epoch || (planned_epoch_ >= 0 && !options_.shuffle)) return;
  planned_epoch_ = epoch;
  order_.resize(documents_.size());
  std::iota(order_.begin(), order_.end(), 0u);
  turns_.resize(static_cast<size_t>(rows_in_epoch()));
  std::iota(turns_.begin(), turns_.end(), 0u);
  if (options_.shuffle) {
    packed_random(PackedPurpose::documents, options_.seed, epoch).shuffle(std::span(order_));
    packed_random(PackedPurpose::rows, options_.seed, epoch).shuffle(std::span(turns_));
  }
  begins_.resize(documents_.size());
  int64_t begin = 0;
  for (size_t i = 0; i < order_.size(); ++i) begins_[i] = std::exchange(begin, begin + packed_length(order_[i]));
}

void PackedText::seek(BatchPosition position) {
  require<InputError>(position.epoch >= 0 && position.batch >= 0 && position.batch < batches_in_epoch(),
                      "packed_text",
                      "no batch {} in epoch {}, an epoch has {}: other text, another length or number of rows",
                      position.batch, position.epoch, batches_in_epoch());
  position_ = position;
}

void PackedText::fill(int64_t row, Row out) const {
  const int64_t begin = row * options_.length, end = std::min(begin + options_.length, tokens_);
  auto at = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), begin) - begins_.begin()) - 1;
  int32_t document = 0;
  int64_t i = 0;  // position in the row
  for (; begin + i < end; ++at, ++document) {
    const int64_t first = begin + i - begins_[at], length = packed_length(order_[at]);
    const int64_t last = std::min(length, first + end - begin - i);
    for (int64_t index = first; index < last; ++index, ++i) {
      out.inputs[i] = token(order_[at], index);
      out.documents[i] = document;
      out.positions[i] = static_cast<int32_t>(options_.separate ? index - first : i);
      if (index + 1 < length) {
        out.targets[i] = token(order_[at], index + 1);
      } else {
        const bool none = options_.separate || at + 1 == order_.size();
        out.targets[i] = none ? options_.ignore_index : token(order_[at + 1], 0);
      }
    }
  }
  std::fill(out.inputs + i, out.inputs + options_.length, options_.pad);
  std::fill(out.targets + i, out.targets + options_.length, options_.ignore_index);
  std::fill(out.documents + i, out.documents + options_.length, -1);
  std::fill(out.positions + i, out.positions + options_.length, 0);
}

PackedBatch PackedText::next() {
  make_plan(position_.epoch);
  const int64_t T = options_.length, first = position_.batch * options_.rows;
  const int64_t B = std::min(options_.rows, rows_in_epoch() - first);
  PackedBatch batch;
  batch.position = position_;
  for (Tensor* tensor : {&batch.inputs, &batch.targets, &batch.documents, &batch.positions})
    *tensor = Tensor::empty({B, T}, DType::i32);
  int32_t *inputs = batch.inputs.data<int32_t>(), *targets = batch.targets.data<int32_t>();
  int32_t *documents = batch.documents.data<int32_t>(), *positions = batch.positions.data<int32_t>();
  for (int64_t b = 0; b < B; ++b)
    fill(turns_[static_cast<size_t>(first + b)],
         {inputs + b * T, targets + b * T, documents + b * T, positions + b * T});
  batch.input_tokens = B * T - std::count(documents, documents + B * T, -1);
  batch.target_tokens = B * T - std::count(targets, targets + B * T, options_.ignore_index);
  if (++position_.batch == batches_in_epoch()) position_ = {position_.epoch + 1, 0};
  return batch;
}

}  // namespace qkv
