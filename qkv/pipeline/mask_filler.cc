#include "qkv/pipeline/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/decode/length_batches.h"
#include "qkv/decode/option_table.h"
#include "qkv/decode/padded_batch.h"
#include "qkv/decode/score_masked.h"
#include "qkv/decode/top_tokens.h"
#include "qkv/pipeline/encode_texts.h"
#include "qkv/pipeline/marked_text.h"
#include "qkv/pipeline/translator.h"
#include "qkv/published/text_model.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

using Ids = std::vector<int32_t>;

MaskFiller read_filler(const std::filesystem::path& folder, const InferenceOptions& options) {
  const TextModel from = read_text_model(folder, options);
  return {model_as<MaskedTransformer>(from, folder.string(), "it does not fill masks"), from.tokenizer,
          folder.string()};
}

// Some rows of hidden states (B,T,C), by their index in (B*T).
Tensor gather(const Tensor& hidden, const std::vector<int64_t>& indices) {
  const int64_t C = hidden.dim(2);
  const Tensor all = hidden.contiguous_copy();
  Tensor out = Tensor::empty({std::ssize(indices), C});
  for (size_t i = 0; i < indices.size(); ++i)
    std::copy_n(all.data<float>() + indices[i] * C, C, out.data<float>() + static_cast<int64_t>(i) * C);
  return out;
}

// Tokens that are not text. transformers includes them in its answers.
Ids no_answers(const Tokenizer& tokenizer, int32_t mask) {
  const SpecialTokens& special = tokenizer.special();
  Ids ids = {mask};
  for (const int32_t id : {special.pad, special.bos, special.unk})
    if (id >= 0 && id != special.eos) ids.push_back(id);
  return ids;
}

void check_utf8(const std::string& text) {
  if (const auto error = utf8_error(text)) fail<InputError>("text", "invalid UTF-8 at byte {}", *error + 1);
}

// Whether the text was cut, because it was longer than the limit with its frame.
bool put_into(const TextFrame& frame, Ids& ids, int64_t limit) {
  const int64_t room = limit - std::ssize(frame.before) - std::ssize(frame.after);
  const bool is_too_long = std::ssize(ids) > room;
  if (is_too_long) ids.resize(static_cast<size_t>(std::max<int64_t>(0, room)));
  ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
  ids.insert(ids.end(), frame.after.begin(), frame.after.end());
  return is_too_long;
}

// A candidate for every mask.
struct Choice {
  std::vector<size_t> candidates;
  double probability;
};

// The n most likely choices, best first. A choice for the first masks that is not among their n best cannot become so
// later.
std::vector<Choice> best_choices(const std::vector<std::vector<MaskCandidate>>& masks, int64_t n) {
  struct Step {
    double probability;
    size_t before, candidate;  // the choice for the masks before, and a candidate of this one
  };
  std::vector<std::vector<Step>> steps = {{{1, 0, 0}}};
  for (const std::vector<MaskCandidate>& mask : masks) {
    std::vector<Step> longer;
    // (i + 1) (c + 1) choices are at least as likely as choice i with candidate c, which is one of them.
    for (size_t i = 0; i < steps.back().size(); ++i)
      for (size_t c = 0; c < mask.size() && (i + 1) * (c + 1) <= static_cast<size_t>(n); ++c)
        longer.push_back({steps.back()[i].probability * mask[c].probability, i, c});
    std::stable_sort(longer.begin(), longer.end(),
                     [](const Step& a, const Step& b) { return a.probability > b.probability; });
    if (std::ssize(longer) > n) longer.resize(static_cast<size_t>(n));
    steps.push_back(std::move(longer));
  }
  std::vector<Choice> best;
  for (size_t last = 0; last < steps.back().size(); ++last) {
    Choice& choice = best.emplace_back(Choice{std::vector<size_t>(masks.size()), steps.back()[last].probability});
    size_t i = last;
    for (size_t m = masks.size(); m > 0; --m) {
      choice.candidates[m - 1] = steps[m][i].candidate;
      i = steps[m][i].before;
    }
  }
  return best;
}

// The texts of the best choices; then the candidates beyond top_k, which they needed, are dropped.
void fill_text(FilledText& out, const Ids& ids, const MaskFiller& filler, const FillMaskOptions& options) {
  const int32_t mask = filler.mask();
  for (const Choice& choice : best_choices(out.masks, options.n_best)) {
    Ids filled = ids;
    size_t next = 0;
    for (int32_t& id : filled)
      if (id == mask) {
        id = out.masks[next][choice.candidates[next]].id;
        ++next;
      }
    out.texts.push_back({filler.tokenizer().decode(filled), choice.probability});
  }
  for (std::vector<MaskCandidate>& candidates : out.masks)
    if (std::ssize(candidates) > options.top_k) candidates.resize(static_cast<size_t>(options.top_k));
}

}  // namespace

void check_options(const FillMaskOptions& o) {
  visit_options(o, CheckRanges{"MaskFiller"});
  require<UsageError>(!o.marker.empty() && !utf8_error(o.marker), "MaskFiller",
                      "the marker of a mask must be a text, got {}", quoted_name(o.marker));
}

MaskFiller::MaskFiller(const std::filesystem::path& folder, const InferenceOptions& options)
    : MaskFiller(read_filler(folder, options)) {}

MaskFiller::MaskFiller(std::shared_ptr<const MaskedTransformer> model, Tokenizer tokenizer, const std::string& name)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {
  check_vocabulary(*model_, tokenizer_, name);
  check_head(*model_, name);
  require<InputError>(mask() >= 0, name, "the vocabulary has no mask");
}

MaskFiller::MaskFiller(MaskedTransformer model, Tokenizer tokenizer, const std::string& name)
    : MaskFiller(std::make_shared<const MaskedTransformer>(std::move(model)), std::move(tokenizer), name) {}

std::vector<FilledText> MaskFiller::fill(std::span<const std::string> texts, const FillMaskOptions& options,
                                         const ProgressFunction& progress) const {
  check_options(options);
  const NoGrad guard;
  const int64_t limit = input_limit(model_->config(), options.max_input_tokens);
  std::vector<FilledText> out(texts.size());
  std::vector<Ids> rows(texts.size());  // tokens and masks in their frame
  const TextFrame frame = frame_of(tokenizer_, Architecture::masked);
  encode_texts(std::ssize(texts), "text", [&](size_t at) {
    check_utf8(texts[at]);
    Ids ids = encode_marked(texts[at], tokenizer_, {.marker = options.marker, .id = mask()});
    out[at].truncated = put_into(frame, ids, limit);
    rows[at] = std::move(ids);
  });
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool any = std::find(rows[i].begin(), rows[i].end(), mask()) != rows[i].end();
    lengths.push_back(any ? std::ssize(rows[i]) : 0);
    if (!any) out[i].texts.push_back({out[i].truncated ? tokenizer_.decode(rows[i]) : texts[i], 1});
  }
  const TopTokensOptions candidates = {.eos = tokenizer_.special().eos,
                                       .suppress_tokens = no_answers(tokenizer_, mask())};
  int64_t done = std::count(lengths.begin(), lengths.end(), 0);
  for (const std::vector<size_t>& batch :
       length_batches(lengths, {options.batch_tokens, model_->config().depends_on_length()})) {
    std::vector<Ids> of_batch;
    of_batch.reserve(batch.size());
    for (const size_t i : batch) of_batch.push_back(rows[i]);
    const PaddedBatch padded = pad_batch(of_batch);
    std::vector<int64_t> masked;  // positions in (B*T)
    std::vector<size_t> owner;    // the text of each
    for (size_t b = 0; b < batch.size(); ++b)
      for (size_t t = 0; t < of_batch[b].size(); ++t)
        if (of_batch[b][t] == mask()) {
          masked.push_back(static_cast<int64_t>(b) * padded.ids.dim(1) + static_cast<int64_t>(t));
          owner.push_back(batch[b]);
        }
    Pass pass;
    const Tensor hidden = gather(model_->encode(padded.ids, padded.lengths, pass).value(), masked);
    // In chunks: the logits of a line of nothing but masks would be thousands of rows as long as the vocabulary.
    constexpr int64_t rows_at_once = 256;
    for (int64_t begin = 0; begin < std::ssize(masked); begin += rows_at_once) {
      const int64_t end = std::min(begin + rows_at_once, std::ssize(masked));
      const TopTokens top = top_tokens(model_->logits(hidden.slice(0, begin, end)).value(),
                                       std::max(options.top_k, options.n_best), candidates);
      for (int64_t m = begin; m < end; ++m) {
        std::vector<MaskCandidate>& found = out[owner[static_cast<size_t>(m)]].masks.emplace_back();
        for (const TokenChoice& choice : top.row(m - begin))
          found.push_back({choice.id, tokenizer_.token(choice.id), std::exp(double{choice.log_probability})});
      }
    }
    for (const size_t i : batch) fill_text(out[i], rows[i], *this, options);
    done += std::ssize(batch);
    if (progress) progress(done);
  }
  return out;
}

std::vector<MaskedTextScore> MaskFiller::score(std::span<const std::string> texts,
                                               const ScoreMaskedTextOptions& options,
                                               const ProgressFunction& progress) const {
  require<UsageError>(options.batch_tokens >= 1, "MaskFiller", "batch_tokens must be at least 1, got {}",
                      options.batch_tokens);
  const int64_t limit = input_limit(model_->config(), options.max_input_tokens);
  const TextFrame frame = frame_of(tokenizer_, Architecture::masked);
  std::vector<MaskedTextScore> out(texts.size());
  std::vector<Ids> rows(texts.size());
  encode_texts(std::ssize(texts), "text", [&](size_t at) {
    check_utf8(texts[at]);
    rows[at] = tokenizer_.encode(texts[at]);
    out[at].truncated = put_into(frame, rows[at], limit);
  });
  const std::vector<TargetScore> scores = score_masked(*model_, rows,
                                                       {.mask = mask(),
                                                        .apart = options.apart,
                                                        .batch_tokens = options.batch_tokens,
                                                        .before = std::ssize(frame.before),
                                                        .after = std::ssize(frame.after)},
                                                       progress);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].log_probability = scores[i].log_probability;
    out[i].token_log_probabilities = scores[i].token_log_probabilities;
    for (size_t t = 0; t < scores[i].token_log_probabilities.size(); ++t)
      out[i].tokens.push_back(tokenizer_.token(rows[i][t + frame.before.size()]));
  }
  return out;
}

FilledText MaskFiller::fill(const std::string& text, const FillMaskOptions& options) const {
  return fill(std::span(&text, 1), options).front();
}

}  // namespace qkv
