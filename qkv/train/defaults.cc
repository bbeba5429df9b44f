#include "qkv/train/defaults.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <unordered_set>

#include "qkv/model/architecture_settings.h"
#include "qkv/model/model_file.h"
#include "qkv/published/load_model.h"
#include "qkv/text/corpus.h"
#include "qkv/train/option_table.h"

namespace qkv {
namespace {

// Small corpora: a small model, much dropout, many epochs of small updates. The rows of 60,000 and of 400,000
// pairs rest on measurements (doc/first_training.md); the others follow published trainings of such corpora.
struct Row {
  int64_t pairs;  // for corpora up to this size
  const char* recipe;
  int64_t vocabulary;
  NormOrder norm;
  float dropout;
  int64_t batch_tokens, accumulate, updates;
};
constexpr Row rows[] = {
    {8'000, "transformer-tiny", 2'000, NormOrder::pre, 0.3f, 1024, 1, 8'000},
    {60'000, "transformer-tiny", 10'000, NormOrder::post, 0.3f, 1024, 1, 16'000},
    {400'000, "transformer-small", 10'000, NormOrder::post, 0.1f, 1024, 1, 24'000},
    {3'000'000, "transformer-base", 16'000, NormOrder::pre, 0.1f, 4096, 2, 50'000},
    {std::numeric_limits<int64_t>::max(), "transformer-base", 32'000, NormOrder::pre, 0.1f, 4096, 6, 100'000},
};

const Row& row_for(int64_t pairs) {
  return *std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return pairs <= row.pairs; });
}

constexpr int64_t validations = 20;
// Of a model that training continues from (doc/training.md has the measurements).
constexpr int64_t continued_epochs = 10, bytes_per_token = 4, fewest_continued_updates = 100;
// The epochs are few, because the model has learned most of what it needs: a new one makes hundreds of a small corpus.
int64_t continued_updates(const CorpusSize& size, const Row& row) {
  const int64_t tokens = continued_epochs * size.bytes / bytes_per_token;
  return std::clamp(tokens / (row.batch_tokens * row.accumulate), fewest_continued_updates, row.updates);
}

constexpr int64_t sources_per_held_out = 50, max_held_out = 2'000;

CorpusSize size_of(const Corpus& corpus, bool has_validation, bool has_model) {
  CorpusReader reader(corpus);
  std::unordered_set<size_t> sources;  // their hashes
  const auto enough = static_cast<size_t>(sources_per_held_out * max_held_out);
  int64_t bytes = 0;
  const auto next = [&](SentencePair& pair) {
    try {
      return reader.next(pair);
    } catch (const NoTabError& error) {
      if (reader.pairs() > 0) throw;
      throw InputError(error.op(),
                       std::string(error.what()).substr(error.op().size() + 2) +
                           "; of a model of text without translations the architecture is causal or masked");
    }
  };
  for (SentencePair pair; next(pair);) {
    bytes += std::ssize(corpus.kind() == CorpusKind::text ? pair.source : pair.target);
    if (sources.size() < enough) sources.insert(std::hash<std::string>()(pair.source));
  }
  return {.pairs = reader.pairs(),
          .sources = std::ssize(sources),
          .has_validation = has_validation,
          .has_model = has_model,
          .bytes = bytes};
}

// Its vocabularies are not options.
ModelConfig config_to_continue(const std::string& folder) {
  // The tensors of a published model say which embeddings are tied.
  ModelConfig config = read_together(
      folder, [&] { return is_published(folder) ? read_model(folder).model->config() : load_config(folder); });
  config.set_vocabularies(0, 0);
  return config;
}

template <class Config>
void set_sizes(Config& config, const Config& recipe) {
  config.d_model = recipe.d_model;
  config.encoder_layers = recipe.encoder_layers;
  config.decoder_layers = recipe.decoder_layers;
  if constexpr (has_transformer_fields<Config>) config.heads = recipe.heads, config.ffn = recipe.ffn;
}
// A training to resume may be of another kind than the recipe, which is an error that its check reports.
void set_sizes(ModelConfig& config, const ModelConfig& recipe) {
  if (config.is_recurrent() != recipe.is_recurrent())
    config = recipe;
  else if (config.is_recurrent())
    set_sizes(config.recurrent(), recipe.recurrent());
  else
    set_sizes(config.transformer(), recipe.transformer());
}

// A recurrent recipe is an architecture, too.
Architecture architecture_of(const BaseOptions& base) {
  if (base.recipe && base.architecture == Architecture::encoder_decoder) return recipe(*base.recipe).architecture();
  return base.architecture;
}

// The value of every option, as text.
struct Texts {
  std::map<std::string, std::string> values = {};

  template <class T, class... Rest>
  void operator()(const Setting& setting, const T& value, const Rest&...) {
    if constexpr (WithNames<T>) {
      values[setting.name] = name_of(value);
    } else if constexpr (std::is_assignable_v<T&, AttentionPattern> || std::is_same_v<T, CorpusPaths>) {
      values[setting.name] = to_string(value);
    } else if constexpr (std::is_same_v<T, Seconds>) {
      values[setting.name] = duration_text(value);
    } else {
      values[setting.name] = fmt::format("{}", value);
    }
  }
};

std::map<std::string, std::string> texts_of(const TrainOptions& options) {
  Texts texts;
  visit_options(options, texts);
  ArchitectureSettings(options.architecture).visit(texts);
  return texts.values;
}

ModelConfig default_architecture(const Row& row, Architecture architecture) {
  if (is_recurrent(architecture)) {
    RecurrentConfig config = recipe(name_of(architecture)).recurrent();
    config.dropout = row.dropout;
    return config;
  }
  TransformerConfig config = recipe(row.recipe).transformer();
  config.architecture = architecture;
  config.dropout = row.dropout;
  config.norm_order = is_language_model(architecture) ? NormOrder::pre : row.norm;
  return config;
}

}  // namespace

TrainOptions default_options(const CorpusSize& size, Architecture architecture) {
  const Row& row = row_for(size.pairs);
  TrainOptions o;
  o.architecture = default_architecture(row, architecture);
  o.vocabulary_size = row.vocabulary;
  o.batch_tokens = row.batch_tokens;
  o.accumulate = row.accumulate;
  o.max_steps = size.has_model ? continued_updates(size, row) : row.updates;
  o.valid_every = o.save_every = o.max_steps / validations;
  if (is_recurrent(architecture)) o.clip = 1;  // gradients through many steps explode (Pascanu et al., 2013)
  if (is_language_model(architecture)) {
    o.label_smoothing = 0;  // the perplexity that is reported is also what is trained
    o.valid_sentences = 0;
  }
  if (!size.has_validation) o.hold_out = std::min(size.sources / sources_per_held_out, max_held_out);
  return o;
}

TrainOptions options_for(const BaseOptions& base, const std::function<void(TrainOptions&)>& apply) {
  std::optional<ModelConfig> init;
  if (!base.init.empty()) init = config_to_continue(base.init);
  const Architecture architecture = init ? init->architecture() : architecture_of(base);
  require<UsageError>(!base.recipe || is_recurrent(architecture) == recipe(*base.recipe).is_recurrent(), "train",
                      "the recipe {} is not one of a {} model", base.recipe.value_or(""), name_of(architecture));
  const auto with_given = [&](TrainOptions options) {
    if (base.recipe) set_sizes(options.architecture, recipe(*base.recipe));
    if (init) {
      options.architecture = *init;
      options.max_length = std::min(options.max_length, init->position_limit());
    }
    options.model = base.model;
    options.resume = base.resume;
    if (!base.train.empty()) options.train = base.train;
    if (!base.init.empty()) options.init = base.init;
    if (!base.valid.empty()) options.valid = base.valid;
    if (apply) apply(options);
    return options;
  };
  if (base.resume && has_stored_options(base.model)) return with_given(stored_options(base.model));
  const auto limited = [&](TrainOptions options) {
    options.max_time = base.max_time;
    if (base.max_time.count() > 0) options.max_steps = 0;
    return options;
  };
  const bool has_validation = !base.valid.empty();
  with_given(limited(default_options({.has_validation = has_validation}, architecture))).check();
  const Corpus corpus(base.train, is_language_model(architecture) ? CorpusKind::text : CorpusKind::pairs);
  TrainOptions options =
      with_given(limited(default_options(size_of(corpus, has_validation, init.has_value()), architecture)));
  options.corpus = corpus;
  return options;
}

std::vector<std::string> options_by_corpus() {
  std::map<std::string, std::string> first;
  std::vector<std::string> names;
  for (const Row& row : rows)
    for (const auto& [name, value] : texts_of(default_options({.pairs = row.pairs, .sources = row.pairs})))
      if (const std::string& other = first.emplace(name, value).first->second;
          other != value && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  return names;
}

}  // namespace qkv
