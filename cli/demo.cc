#include <map>
#include <memory>

#include "cli/architecture.h"
#include "cli/command.h"
#include "cli/demo_model.h"
#include "cli/flags.h"
#include "cli/inspection.h"
#include "cli/next_commands.h"
#include "cli/output.h"
#include "qkv/base/file.h"
#include "qkv/base/threads.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/train/train.h"

namespace qkv::cli {
namespace {

constexpr int64_t training_pairs = 50'000, held_out_pairs = 1'000;

TransformerConfig demo_transformer() {
  return {.d_model = 64,
          .heads = 4,
          .ffn = 128,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .dropout = 0,
          .norm_order = NormOrder::pre};
}

RecurrentConfig demo_recurrent(Architecture architecture) {
  return {.architecture = architecture, .d_model = 64, .dropout = 0};
}

// Learns such tasks in about a minute on two cores: a vocabulary of characters, a small pre-LN model, a linear
// schedule with warm-up.
TrainOptions demo_options(const std::filesystem::path& folder, const ModelConfig& architecture, int64_t steps,
                          uint64_t seed) {
  TrainOptions o;
  o.architecture = architecture;
  o.train = (folder / demo_file(architecture.architecture())).string();
  o.model = folder / "model";
  o.tokenizer = TokenizerType::character;
  o.vocabulary_size = 200;
  o.character_coverage = 1.0;
  o.label_smoothing = 0;
  o.batch_sentences = 64;
  o.schedule = ScheduleKind::linear;
  o.learning_rate = 4e-3;
  o.warmup = 100;
  o.max_steps = steps;
  o.valid_every = 0;
  o.valid_sentences = 0;
  o.save_every = 0;
  o.seed = seed;
  o.overwrite = true;
  adapt_to_architecture(o);
  return o;
}

struct DemoCommand {
  std::string task = "dates", folder;
  ArchitectureSettings settings{demo_transformer()};
  int64_t steps = 0;
  uint64_t seed = 1;
  int threads = 0;
  std::vector<Option*> architecture_flags = {};
  std::string program;  // argv[0]

  int run() {
    require<UsageError>(task == "dates" || task == "numbers", "qkv demo", "TASK must be dates or numbers, got '{}'",
                        task);
    const bool dates = task == "dates";
    const DemoTask data =
        dates ? date_task(seed, training_pairs, held_out_pairs) : number_task(seed, training_pairs, held_out_pairs);
    const std::filesystem::path home =
        folder.empty() ? std::filesystem::path("demo") / data.name : std::filesystem::path(folder);
    const ModelConfig config = config_of_model();
    const Architecture architecture = config.architecture();
    TrainOptions options = demo_options(home, config, dates ? 1600 : 2400, seed);
    if (steps > 0) options.max_steps = steps;
    options.check();  // before anything is written
    // The length of a masked target is visible, so only dates, which all have one length, are a fair task.
    require<UsageError>(dates || architecture != Architecture::masked, "qkv demo",
                        "a masked model learns dates, whose answers all have one length; got {}", task);
    if (threads > 0) set_threads(threads);
    std::error_code error;
    std::filesystem::create_directories(home, error);
    require<InputError>(!error, home.string(), "cannot create this folder: {}", error.message());
    const std::string train_file = demo_file(architecture), text = demo_text(architecture, data.train),
                      held_out = demo_text(Architecture::encoder_decoder, data.held_out);
    check_replaceable(
        home, {{train_file, text}, {"held-out.tsv", held_out}, {"attention.html", ""}, {"attention.svg", ""}});
    write_file(home / train_file, text);
    write_file(home / "held-out.tsv", held_out);

    fmt::print("Training a {} to translate {}.\n", config.is_recurrent() ? "recurrent model" : "Transformer",
               data.summary);
    fmt::print("  {} training pairs, for example: {}  ->  {}\n", data.train.size(), data.train[0].first,
               data.train[0].second);
    fmt::print("  {} other pairs for the evaluation\n\n", data.held_out.size());
    std::fflush(stdout);
    const TrainResult trained = train(options);
    if (trained.stop_reason == StopReason::interrupted) {
      say("  " + resume_command(program, home / "model"));
      return 128 + trained.signal;
    }

    const auto model = open_demo_model(home / "model", std::ssize(data.held_out[0].second));
    fmt::print("\nTranslations:\n");
    const std::vector<std::string> answers = model->answers(data.examples);
    for (size_t i = 0; i < answers.size(); ++i) fmt::print("  {:28}  ->  {}\n", data.examples[i], answers[i]);
    const std::string& shown = data.examples[1];  // short enough for the labels of the static picture
    const Inspection inspection = model->inspect(shown);
    const bool language_model = is_language_model(architecture);
    const Picture picture = picture_of(inspection, {.title = language_model ? inspection.text : shown});
    picture.save(home / "attention.html");
    picture.save(home / "attention.svg");
    print_next(home, *model, data);
    print_exact_match(*model, data);
    return 0;
  }

  ModelConfig config_of_model() {
    if (is_recurrent(settings.architecture())) {
      settings = ArchitectureSettings(demo_recurrent(settings.architecture()));
      set_given_again(architecture_flags);
    }
    return settings.config("model");
  }

  static bool holds(const std::filesystem::path& file, const std::string& text) {
    return std::filesystem::file_size(file) == text.size() && read_file(file) == text;
  }

  // A demo replaces only files that a demo wrote, complete or not.
  static void check_replaceable(const std::filesystem::path& home,
                                const std::map<std::string, std::string>& files) {
    if (file_exists(home / "model" / "training" / "options.json")) return;
    for (const auto& [name, text] : files)
      require<InputError>(!file_exists(home / name) || holds(home / name, text), (home / name).string(),
                          "this file was not written by qkv demo: give another --folder");
  }

  void print_next(const std::filesystem::path& home, const DemoModel& model, const DemoTask& data) const {
    fmt::print("\nAttention weights of all layers and heads:  {}  (open it in a browser)\n\n",
               (home / "attention.html").string());
    const std::string folder_of_model = (home / "model").string();
    fmt::print("Try next:\n");
    fmt::print("  {} --model {}\n", model.command(program, data.held_out[0].first), folder_of_model);
    fmt::print("  {} inspect --model {} --output attention.html \"{}\"\n", program, folder_of_model,
               model.input(data.held_out[1].first));
    if (data.name == "dates") fmt::print("  {} demo numbers\n", program);
    fmt::print("  {} train --train your-pairs.tsv --model your-model\n\n", program);
  }

  static void print_exact_match(const DemoModel& model, const DemoTask& data) {
    std::vector<std::string> sources;
    for (const auto& [source, target] : data.held_out) sources.push_back(source);
    const std::vector<std::string> answers = model.answers(sources);
    int64_t right = 0;
    for (size_t i = 0; i < answers.size(); ++i) right += answers[i] == data.held_out[i].second;
    fmt::print("{} of {} {} that it has never seen are right\n", right, answers.size(), data.name);
  }
};

}  // namespace

Command add_demo(App& parent) {
  App& app =
      *parent.add_subcommand("demo", "train on a small built-in task for about a minute and show the result");
  const auto command = std::make_shared<DemoCommand>();
  command->program = parent.get_name();
  flag(app, "task", command->task, "the task to learn: dates or numbers", "TASK");
  app.group("Demo");
  flag(app, "--folder", command->folder, "folder for data, model and pictures; default: demo/TASK", "FOLDER");
  flag(app, "--steps", command->steps, "number of updates; 0: enough for the task", "UPDATES");
  flag(app, "--seed", command->seed, "random seed of the data and the model", "N");
  threads_flag(app, command->threads);
  app.group("Model");
  command->architecture_flags = architecture_flags(app, command->settings);
  app.footer(attention_mechanisms_help() +
             "\n\nExamples:\n"
             "  qkv demo\n"
             "  qkv demo numbers --folder /tmp/numbers\n"
             "  qkv demo --architecture luong --steps 400");
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
