// The state of a training: a complete file if the first byte is even; else the JSON of a state and, after a NUL, that
// of its options, in an otherwise correct file. A state that is accepted is the same after it was saved again.
#include <filesystem>
#include <unistd.h>

#include "fuzz/input.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/model/transformer.h"
#include "qkv/tensor/safetensors.h"
#include "qkv/text/utf8.h"
#include "qkv/train/adam.h"
#include "qkv/train/checkpoint.h"
#include "qkv/train/options.h"

namespace {

using namespace qkv;

TransformerConfig small_config() {
  TransformerConfig config;
  config.source_vocabulary = config.target_vocabulary = 5;
  config.d_model = config.ffn = 2;
  config.heads = config.encoder_layers = config.decoder_layers = 1;
  config.max_positions = 4;
  return config;
}

std::vector<Variable> variables_of(Transformer& model) {
  std::vector<Variable> parameters;
  model.visit([&](const std::string&, Variable& parameter) { parameters.push_back(parameter); });
  return parameters;
}

struct Training {
  Transformer model{small_config(), 1};
  Adam adam{variables_of(model)};
};

TrainingState load(const std::string& path, Training& training) {
  const Checkpoint checkpoint(path);
  TrainOptions options = train_options_from_json(checkpoint.state().options, path);
  options.model = path;  // not stored: the file lies in it
  options.check();
  checkpoint.load(training.model, training.adam.state());
  return checkpoint.state();
}

// A file of this process, saved by `save(path)`; in memory where the system has a place for that.
template <class Save>
std::string saved(Save save) {
  static const std::filesystem::path memory = "/dev/shm", folder = std::filesystem::is_directory(memory)
                                                                       ? memory
                                                                       : std::filesystem::temp_directory_path();
  static const std::string path = folder / fmt::format("qkv-fuzz-{}.safetensors", ::getpid());
  save(path);
  std::string bytes = read_file(path);
  std::filesystem::remove(path);
  return bytes;
}

// A right file but for its metadata.
std::string with_metadata(std::string_view texts, Training& training) {
  static const std::string right = saved([&](const std::string& path) {
    TrainingState state;
    state.vocabulary = {{"source.model", ""}, {"target.model", ""}};
    save_checkpoint(path, state, training.model, training.adam.state());
  });
  const fuzz::InputFile file(right);
  const SafetensorsFile whole = SafetensorsFile::load(file.path());
  NamedTensors tensors;
  for (const std::string& name : whole.names()) tensors.emplace_back(name, whole.get(name));
  std::map<std::string, std::string> metadata = whole.metadata();
  const size_t end = std::min(texts.find('\0'), texts.size());
  metadata["state"] = texts.substr(0, end);
  metadata["options"] = texts.substr(std::min(end + 1, texts.size()));
  return saved([&](const std::string& path) { save_safetensors(path, tensors, metadata); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Training training;
  fuzz::Reader input(data, size);
  const bool whole = input.between(0, 1) == 0;
  if (!whole && utf8_error(input.rest())) return 0;  // metadata of a file is text
  const fuzz::InputFile file(whole ? std::string(input.rest()) : with_metadata(input.rest(), training));
  fuzz::accepted([&] {
    const TrainingState state = load(file.path(), training);
    const auto save = [&](const std::string& path) {
      save_checkpoint(path, state, training.model, training.adam.state());
    };
    const std::string bytes = saved(save);
    const fuzz::InputFile again(bytes);
    load(again.path(), training);
    fuzz::expect(saved(save) == bytes, "another state after it was saved");
  });
  return 0;
}
