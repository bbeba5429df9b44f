#include "qkv/pipeline/convert_model.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/temporary_file.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/published/chat_template_files.h"
#include "qkv/published/gguf/write_gguf.h"
#include "qkv/published/huggingface/sentence_encoder.h"
#include "qkv/published/load_model.h"
#include "qkv/published/marian/write_marian.h"
#include "qkv/published/own_folder.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

struct Opened {
  SavedModel saved;
  Tokenizer source, target;  // the same of a model of one stack

  const ModelConfig& config() const { return saved.model->config(); }
  bool is_published() const { return source.special().rows > 0; }  // or was, before it was converted
};

SavedModel read_for(ModelFormat format, const fs::path& folder, const InferenceOptions& options) {
  switch (format) {
    case ModelFormat::qkv: return read_model_for_inference(folder, options);
    case ModelFormat::gguf: return read_model(folder, store_for_gguf(options.weights));
    case ModelFormat::huggingface: break;  // which needs the values in f32
  }
  return read_model(folder);
}

Opened open(const fs::path& folder, ModelFormat format, const InferenceOptions& options) {
  return read_together(folder, [&] {
    SavedModel saved = read_for(format, folder, options);
    Tokenizer source = saved.folder->tokenizer(TokenizerSide::source),
              target = saved.folder->tokenizer(TokenizerSide::target);
    return Opened{std::move(saved), std::move(source), std::move(target)};
  });
}

void copy_settings(const fs::path& from, const fs::path& to, const char* name) {
  if (file_exists(from / name)) write_file(to / name, read_file(from / name, 1'000'000));
}

// The files of sentence-transformers.
void copy_sentence_encoder(const fs::path& from, const fs::path& to) {
  for (const char* name : {"modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"})
    copy_settings(from, to, name);
  for (const fs::path& folder : files_in(from)) {
    if (!folder.filename().string().ends_with("_Pooling") || !file_exists(folder / "config.json")) continue;
    std::error_code error;
    fs::create_directory(to / folder.filename(), error);
    if (error) throw FileError("write", (to / folder.filename()).string(), error.value());
    copy_settings(folder, to / folder.filename(), "config.json");
  }
}

void write_ours(const fs::path& from, const Opened& opened, const fs::path& to) {
  const Architecture architecture = opened.config().architecture();
  VocabularyChecksums sums;
  for (const TokenizerSide side : {TokenizerSide::source, TokenizerSide::target}) {
    const Tokenizer& tokenizer = side == TokenizerSide::source ? opened.source : opened.target;
    const char* file = tokenizer_file(architecture, side);
    if (!sums.emplace(file, tokenizer.checksum()).second) continue;
    tokenizer.save(to / file);
  }
  save_model(to, *opened.saved.model, sums);
  if (const std::string settings = generation_settings(*opened.saved.folder); !settings.empty())
    write_file(to / "generation_config.json", settings);
  write_chat_template(to, opened.saved.folder->chat_template());
  if (file_exists(from / "modules.json")) copy_sentence_encoder(from, to);
}

void write_huggingface(const Opened& opened, const fs::path& to) {
  const auto* model = dynamic_cast<const Transformer*>(opened.saved.model.get());
  require<UsageError>(model != nullptr, "convert",
                      "only an encoder-decoder Transformer can be written as a Marian model, got {}",
                      name_of(opened.config().architecture()));
  require<UsageError>(!opened.is_published(), "convert",
                      "this is a published model, which is not written for Hugging Face again");
  require<UsageError>(opened.source.serialized() == opened.target.serialized(), "convert",
                      "a Marian model with one embedding table needs one vocabulary, this model has two");
  const MarianExport out = marian_export(
      *model, {.pad = Tokenizer::pad, .bos = Tokenizer::bos, .eos = Tokenizer::eos, .unk = Tokenizer::unk});
  Json vocabulary = Json::object();
  for (size_t id = 0; id < out.ids.size(); ++id) {
    const int32_t ours = out.ids[id];
    vocabulary.append(ours == Tokenizer::pad ? "<unused>" : opened.source.token(std::max(ours, 0)), id);
  }
  const Json tokenizer = {{"tokenizer_class", "MarianTokenizer"},
                          {"eos_token", opened.source.token(Tokenizer::eos)},
                          {"unk_token", opened.source.token(Tokenizer::unk)},
                          {"pad_token", opened.source.token(Tokenizer::pad)},
                          {"separate_vocabs", false},
                          {"model_max_length", opened.config().transformer().max_positions}};
  write_file(to / "config.json", out.config);
  write_file(to / "generation_config.json", out.generation_config);
  write_file(to / "tokenizer_config.json", tokenizer.dump(2) + "\n");
  write_file(to / "vocab.json", vocabulary.dump(1) + "\n");
  write_file(to / "source.spm", opened.source.serialized());
  write_file(to / "target.spm", opened.target.serialized());
  save_safetensors(to / "model.safetensors", out.tensors, {{"format", "pt"}});
}

// How the tokens of a text become a vector, for a file that can name one way.
std::optional<Pooling> pooling_of(const fs::path& from) {
  const std::vector<Pooling> poolings = read_sentence_encoder(from).poolings;
  return poolings.size() == 1 ? std::optional(poolings.front()) : std::nullopt;
}

void write_gguf_file(const fs::path& from, const Opened& opened, const fs::path& to,
                     const InferenceOptions& options) {
  const ModelFolder& folder = *opened.saved.folder;
  require<UsageError>(!opened.config().is_recurrent(), "convert", "a GGUF file holds a Transformer, got {}",
                      name_of(opened.config().architecture()));
  const fs::path name = from.has_filename() ? from : from.parent_path();
  write_gguf(to, {.model = *opened.saved.model,
                  .tokenizer = opened.source,
                  .weights = options.weights.value_or(folder.stored_weights()),
                  .family = folder.family(),
                  .name = (name.extension() == ".gguf" ? name.stem() : name.filename()).string(),
                  .chat_template = folder.chat_template().text,
                  .pooling = pooling_of(from)});
}

void check_weights(ModelFormat format, const InferenceOptions& options) {
  const WeightFormat weights = options.weights.value_or(WeightFormat::f32);
  require<UsageError>(format != ModelFormat::huggingface || weights == WeightFormat::f32, "convert",
                      "weights {} can be written in the formats qkv and gguf only: those of huggingface are f32",
                      name_of(weights));
  if (format == ModelFormat::gguf) check_gguf_weights(weights);
}

}  // namespace

void convert_model(const fs::path& from, const fs::path& to, ModelFormat format, const InferenceOptions& options) {
  const fs::path target = to.has_filename() ? to : to.parent_path();  // without a slash at its end
  const bool is_file = format == ModelFormat::gguf;
  require<UsageError>(!target.empty(), "convert", "output must name a {}", is_file ? "file" : "folder");
  std::error_code error;
  const bool is_free = !file_exists(target) ||
                       (!is_file && fs::is_directory(target, error) && fs::is_empty(target, error) && !error);
  require<UsageError>(is_free, "convert", "{} must be {}", target.string(),
                      is_file ? "a new file" : "a new folder, or an empty one");
  check_weights(format, options);
  const Opened opened = open(from, format, options);
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error) throw FileError(error.value(), target.string(), "cannot create this folder: " + error.message());
  if (is_file) return write_gguf_file(from, opened, target, options);
  TemporaryFolder aside(target);
  try {
    if (format == ModelFormat::qkv)
      write_ours(from, opened, aside.path());
    else
      write_huggingface(opened, aside.path());
  } catch (const FileError& e) {
    const fs::path inside = fs::path(e.file()).lexically_relative(aside.path());
    if (inside.empty() || inside.begin()->string() == "..") throw;
    throw FileError("write", (target / inside).string(), e.code());
  }
  aside.commit();
}

}  // namespace qkv
