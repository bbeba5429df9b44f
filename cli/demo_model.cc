#include "cli/demo_model.h"

#include <utility>

#include <fmt/format.h>

#include "qkv/published/load_model.h"

namespace qkv::cli {
namespace {

constexpr const char* mark = "[MASK]";

std::string prompt(const std::string& source) { return source + " ="; }

// The part of a line after its "=" and a space.
std::string target_of(const std::string& line) {
  const size_t at = line.rfind("= ");
  return at == std::string::npos ? "" : line.substr(at + 2);
}

class TranslatingModel final : public DemoModel {
 public:
  explicit TranslatingModel(const std::filesystem::path& folder) : translator_(folder) {}

  std::vector<std::string> answers(std::span<const std::string> sources) const override {
    std::vector<std::string> out;
    for (const Translation& t : translator_.translate(sources, {.search = {.beam = 1}})) out.push_back(t.text);
    return out;
  }
  Inspection inspect(const std::string& source) const override { return qkv::inspect(translator_, source); }
  std::string input(const std::string& source) const override { return source; }
  std::string command(const std::string& program, const std::string& source) const override {
    return fmt::format("echo \"{}\" | {} translate", source, program);
  }

 private:
  Translator translator_;
};

class ContinuingModel final : public DemoModel {
 public:
  explicit ContinuingModel(const std::filesystem::path& folder) : generator_(folder) {}

  std::vector<std::string> answers(std::span<const std::string> sources) const override {
    std::vector<std::string> prompts, out;
    for (const std::string& source : sources) prompts.push_back(input(source));
    const std::vector<GeneratedTexts> texts = generator_.generate(prompts, {.sampling = {.temperature = 0}});
    for (const GeneratedTexts& found : texts) out.push_back(target_of("=" + found.answers[0].text));
    return out;
  }
  Inspection inspect(const std::string& source) const override {
    return qkv::inspect(generator_, input(source) + " " + answers(std::span(&source, 1))[0]);
  }
  std::string input(const std::string& source) const override { return prompt(source); }
  std::string command(const std::string& program, const std::string& source) const override {
    return fmt::format("{} generate --temperature 0 --prompt \"{}\"", program, input(source));
  }

 private:
  Generator generator_;
};

class FillingModel final : public DemoModel {
 public:
  FillingModel(const std::filesystem::path& folder, int64_t masks) : filler_(folder) {
    for (int64_t i = 0; i < masks; ++i) masks_ += mark;
  }

  std::vector<std::string> answers(std::span<const std::string> sources) const override {
    std::vector<std::string> texts, out;
    for (const std::string& source : sources) texts.push_back(input(source));
    for (const FilledText& filled : filler_.fill(texts, {.top_k = 1, .marker = mark}))
      out.push_back(target_of(filled.texts[0].text));
    return out;
  }
  Inspection inspect(const std::string& source) const override {
    return qkv::inspect(filler_, input(source), mark);
  }
  std::string command(const std::string& program, const std::string& source) const override {
    return fmt::format("echo \"{}\" | {} fill-mask", input(source), program);
  }
  std::string input(const std::string& source) const override { return prompt(source) + " " + masks_; }

 private:
  MaskFiller filler_;
  std::string masks_;
};

}  // namespace

const char* demo_file(Architecture architecture) {
  return is_language_model(architecture) ? "train.txt" : "train.tsv";
}

std::string demo_text(Architecture architecture, const std::vector<DemoTask::Pair>& pairs) {
  std::string text;
  for (const auto& [source, target] : pairs)
    text += is_language_model(architecture) ? fmt::format("{} {}\n", prompt(source), target)
                                            : fmt::format("{}\t{}\n", source, target);
  return text;
}

void adapt_to_architecture(TrainOptions& options) {
  // The target of a line is a word, which must often be masked as a whole.
  if (options.architecture.architecture() == Architecture::masked) {
    options.max_steps *= 3;
    options.mask_whole_words = true;
    options.masking_rate = 0.5;
  }
  if (options.architecture.is_recurrent()) options.clip = 1;
  // A batch has as many lines, packed into rows, as a batch of another model has pairs.
  if (options.architecture.architecture() == Architecture::causal) {
    options.batch_sentences = 0;
    options.batch_tokens = 2048;
  }
}

std::unique_ptr<DemoModel> open_demo_model(const std::filesystem::path& folder, int64_t masks) {
  switch (load_config(folder).architecture()) {
    case Architecture::causal: return std::make_unique<ContinuingModel>(folder);
    case Architecture::masked: return std::make_unique<FillingModel>(folder, masks);
    default: return std::make_unique<TranslatingModel>(folder);
  }
}

}  // namespace qkv::cli
