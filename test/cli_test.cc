// The command on good and bad input: every error is one line on stderr that names the file, the line or the flag;
// the exit code is 1 for bad input and 2 for wrong usage; and existing files are not lost.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/model/model_file.h"
#include "qkv/model/transformer.h"
#include "qkv/text/tokenizer.h"

namespace qkv::cli_test {

struct Outcome {
  int code;
  std::string out, err;
};

class Command : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new std::filesystem::path(std::filesystem::temp_directory_path() /
                                       fmt::format("qkv_cli_test_{}", getpid()));
    std::filesystem::create_directories(*folder);
    write_file(*folder / "pairs.tsv", "I am cold.\tJ'ai froid.\nGo on.\tContinue.\nI am here.\tJe suis l\u00e0.\n");
    make_model(*folder / "model");
  }
  static void TearDownTestSuite() {
    std::filesystem::remove_all(*folder);
    delete folder;
  }

  // A model as training leaves it, with random weights.
  static void make_model(const std::filesystem::path& path) {
    TransformerConfig config = recipe("transformer-tiny").transformer();
    config.d_model = 16;
    config.ffn = 16;
    config.encoder_layers = config.decoder_layers = 1;
    const Tokenizer tokenizer = Tokenizer::train(std::vector<std::string>{"I am cold.", "J'ai froid.", "Go on."},
                                                 {.type = TokenizerType::character, .vocabulary_size = 100});
    config.source_vocabulary = config.target_vocabulary = tokenizer.size();
    Transformer model(config, 1);
    save_model(path, model);
    tokenizer.save(path / "source.model");
    tokenizer.save(path / "target.model");
  }

  static std::string at(const std::string& name) { return (*folder / name).string(); }

  static Outcome run(const std::string& arguments, const std::string& before = "") {
    const std::string command =
        fmt::format("{} {} {} >{} 2>{}", before, QKV_COMMAND, arguments, at("stdout"), at("stderr"));
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(at("stdout")),
            read_file(at("stderr"))};
  }

  static void expect_error(const Outcome& outcome, int code, const std::vector<std::string>& fragments) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    for (const std::string& fragment : fragments)
      EXPECT_NE(outcome.err.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << outcome.err;
  }

  // The arguments with these flags in place of those of the same name.
  static std::string with(const std::string& arguments, const std::string& flags) {
    const auto words = [](const std::string& text) {
      std::istringstream stream(text);
      return std::vector<std::string>{std::istream_iterator<std::string>(stream), {}};
    };
    const std::vector<std::string> added = words(flags);
    std::string out;
    bool dropped = false;
    for (const std::string& word : words(arguments)) {
      if (word.starts_with("--")) dropped = std::find(added.begin(), added.end(), word) != added.end();
      if (!dropped) out += word + " ";
    }
    return out + flags;
  }

  static std::string train_on(const std::string& file) {
    return fmt::format("train --train {} --model {} --recipe transformer-tiny --max-steps 1 --tokenizer character",
                       at(file), at("new"));
  }

  static std::filesystem::path* folder;
};
std::filesystem::path* Command::folder = nullptr;

TEST_F(Command, HelpListsTheCommandsAndEachHasItsOwn) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* name :
       {"demo", "train", "translate", "score", "evaluate", "inspect", "describe", "convert", "plot", "bench"}) {
    EXPECT_NE(help.out.find(name), std::string::npos) << name;
    const Outcome own = run(fmt::format("{} --help", name));
    EXPECT_EQ(own.code, 0) << name;
    EXPECT_NE(own.out.find("--"), std::string::npos) << name;
    EXPECT_TRUE(own.err.empty()) << own.err;
  }
}

TEST_F(Command, CompletionScriptsAreCompleteAndRun) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = run(fmt::format("--completion {}", shell));
    EXPECT_EQ(script.code, 0) << script.err;
    for (const char* part : {"translate", "n-best", "unigram bpe character"})
      EXPECT_NE(script.out.find(part), std::string::npos) << shell << " " << part;
  }
  write_file(at("complete.sh"), run("--completion bash").out + R"(
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _qkv; echo "${COMPREPLY[@]}"; }
try qkv tra
try qkv train --tokenizer b
try qkv score --tok
try qkv train --recipe transformer-b
try qkv train --self-attention alib
try qkv translate -m /dev/nul
try qkv --completion z
try qkv help tran
)");
  std::system(fmt::format("bash {} >{}", at("complete.sh"), at("completed")).c_str());
  EXPECT_EQ(read_file(at("completed")),
            "train translate\nbpe byte-bpe\n--tokens\ntransformer-base transformer-big\nalibi\n\nzsh\ntranslate\n");
  expect_error(run("--completion tcsh"), 2, {"--completion must be bash, zsh or fish, got 'tcsh'"});
}

TEST_F(Command, UnknownNamesSuggestTheNearestKnown) {
  expect_error(run("trian"), 2, {"trian", "did you mean train?"});
  expect_error(run("frobnicate"), 2, {"frobnicate", "qkv --help"});
  expect_error(run("--verison"), 2, {"unknown flag --verison; did you mean --version?"});
  expect_error(run("translate --model x --beem 3"), 2, {"unknown flag --beem; did you mean --beam?"});
  expect_error(run("translate --model x --beem=3"), 2, {"unknown flag --beem; did you mean --beam?"});
  expect_error(run("translate --model x -beam 3"), 2, {"unknown flag -beam; did you mean --beam?"});
  expect_error(run("train --model x --recipe transformer-huge --train y"), 2,
               {"qkv train: --recipe must be one of transformer-tiny, ", "got 'transformer-huge'"});
  expect_error(run("train --model x --recipe big --train y"), 2, {"'big'; did you mean transformer-big?"});
  expect_error(run("train --model x --schedule nome --train y"), 2,
               {"--schedule", "nome", "inverse-sqrt", "did you mean noam?"});
  expect_error(run("translate --model x --beam many"), 2, {"--beam", "many"});
  expect_error(run("inspect --model x one two --beem 3"), 2, {"unknown flag --beem; did you mean --beam?"});
  expect_error(run("inspect --model x one two"), 2,
               {"qkv inspect: unexpected argument 'two'; put quotation marks around several words"});
  const std::string pairs = at("pairs.tsv"), model = at("model");
  for (const auto& [line, meant] : {std::pair("train " + pairs + " --model x", "--train " + pairs),
                                    std::pair("describe " + model, "--model " + model),
                                    std::pair("evaluate --model x " + pairs, "--input " + pairs)})
    expect_error(run(line), 2, {"unexpected argument '", "; did you mean " + meant + "?"});
  EXPECT_EQ(run("describe nothing").err, "qkv describe: unexpected argument 'nothing'\n");
  expect_error(run("translate --model x --precision f16"), 2,
               {"qkv translate: --precision must be one of f32, bf16", "got 'f16'"});
  expect_error(run("translate --model x --weights q4"), 2,
               {"qkv translate: --weights must be one of automatic, f32, bf16, ", "got 'q4'"});
}

TEST_F(Command, AFlagThatIsGivenTwiceIsRefused) {
  write_file(at("model.toml"), fmt::format("model = '{}'\nquiet = true\n[translate]\nbeam = 3\n", at("model")));
  expect_error(run("train --valid a --valid b --model x"), 2, {"qkv train: --valid is given twice"});
  expect_error(run("score --model a --input x --model=b"), 2, {"qkv score: --model is given twice"});
  expect_error(run("translate --model a --beam 2 --beam 2"), 2, {"qkv translate: --beam is given twice"});
  expect_error(run("inspect --model a --quiet --quiet text"), 2, {"qkv inspect: --quiet is given twice"});
  expect_error(run("train --model a --train b --tie all --tie none"), 2, {"qkv train: --tie is given twice"});
  expect_error(run("train --model a --train b --self-attention full --self-attention window=4"), 2,
               {"qkv train: --self-attention is given twice"});
  expect_error(run(fmt::format("translate --config {0} --config {0}", at("model.toml"))), 2,
               {"qkv translate: --config is given twice"});
  const std::string config = fmt::format(" --config {} --input /dev/null", at("model.toml"));
  for (const char* flags : {"", " --beam 2 --quiet", " --model=model"})
    EXPECT_EQ(run(fmt::format("translate{}{}", flags, config), "cd " + folder->string() + "; ").code, 0) << flags;
  expect_error(run("evaluate --hypotheses a --references a --references b"), 1, {"a"});
}

TEST_F(Command, TrainTakesAttentionVariantsAndListsTheirMechanisms) {
  const Outcome help = run("train --help");
  for (const char* text : {"--self-attention VARIANT", "--encoder-self-attention VARIANT", "window=radius",
                           "bigbird[=block:window:globals:random]"})
    EXPECT_NE(help.out.find(text), std::string::npos) << text;
  EXPECT_EQ(run("translate --help").out.find("window=radius"), std::string::npos);
  expect_error(run("train --model x --train y --self-attention widow=64"), 2,
               {"qkv train: --self-attention: unknown mechanism 'widow'", "did you mean window?"});
  expect_error(run("train --model x --train y --cross-attention additive=x"), 2,
               {"--cross-attention: 'additive=x': width must be an integer from 0 to 65536, got 'x'"});
  expect_error(run(train_on("pairs.tsv") + " --cross-attention window=3"), 2,
               {"qkv train: --cross-attention: 'window' is for self attention only"});

  const Outcome trained =
      run(train_on("pairs.tsv") +
          " --kv-heads 2 --positions rotary --self-attention window=4+softmax-with-sink "
          "--decoder-self-attention strided=2 --cross-attention local-p=3+additive --max-length 5000 --quiet");
  EXPECT_EQ(trained.code, 0) << trained.err;
  const Outcome described = run("describe --model " + at("new"));
  EXPECT_NE(
      described.out.find("self-attention window=4+softmax-with-sink in the encoder, strided=2 in the decoder,"),
      std::string::npos)
      << described.out;
  EXPECT_EQ(run("translate --beam 3 --model " + at("new"), "echo 'Go on.' |").code, 0);
  // Rotary positions have no limit: a line of more than 1024 tokens is not cut.
  const Outcome longer =
      run("translate --beam 1 --max-length 3 --model " + at("new"), "yes go | head -n 1000 | tr '\\n' ' ' |");
  EXPECT_EQ(longer.code, 0);
  EXPECT_EQ(longer.err, "");
  const Outcome changed =
      run(fmt::format("train --resume --model {} --max-steps 2 --self-attention full", at("new")));
  expect_error(changed, 2,
               {"qkv train: --self-attention was \"window=4+softmax-with-sink in the encoder, strided=2 in the "
                "decoder\" and is now \"full\"; this option cannot change on resume"});
  std::filesystem::remove_all(at("new"));
}

TEST_F(Command, AnUnknownFlagIsReportedBeforeAMissingOne) {
  for (const char* name : {"demo", "train", "translate", "score", "evaluate", "inspect", "describe", "convert"}) {
    const std::string near = name == std::string("demo") ? "folder" : "model";
    const std::string wrong = "--" + near.substr(0, 3) + near.substr(4);
    expect_error(run(fmt::format("{} {} x", name, wrong)), 2,
                 {fmt::format("qkv {}: unknown flag {}; did you mean --{}?", name, wrong, near)});
    expect_error(run(fmt::format("{} --zzz", name)), 2, {fmt::format("qkv {}: unknown flag --zzz\n", name)});
  }
  for (const char* name : {"train", "translate", "score", "inspect"})
    expect_error(run(name), 2, {fmt::format("qkv {}: --model is required: FOLDER, ", name)});
  expect_error(run("translate --model"), 2, {"qkv translate: --model needs a value: --model FOLDER"});
  expect_error(run("train --model x"), 2, {"qkv train: --train is required: a TSV file of sentence pairs"});
}

TEST_F(Command, BadCorporaAreNamedByFileAndLineAndLeaveNoModel) {
  write_file(at("empty.tsv"), "");
  expect_error(run(train_on("empty.tsv")), 1, {"empty.tsv"});
  write_file(at("no-tab.tsv"), "a\tb\nthere is no tab here\n");
  expect_error(run(train_on("no-tab.tsv")), 1, {"no-tab.tsv:2", "tab"});
  write_file(at("not-utf8.tsv"), "a\tb\nc\t\xff\xfe\n");
  expect_error(run(train_on("not-utf8.tsv")), 1, {"not-utf8.tsv:2", "UTF-8"});
  write_file(at("long.tsv"), "a\tb\n" + std::string(1'000'001, 'x') + "\ty\n");
  expect_error(run(train_on("long.tsv")), 1, {"long.tsv:2"});
  expect_error(run(train_on("missing.tsv")), 1, {"missing.tsv"});
  EXPECT_FALSE(std::filesystem::exists(at("new/config.json")));
}

TEST_F(Command, AFolderThatIsNotAModelIsReportedWithTheWayToMakeOne) {
  std::filesystem::create_directories(at("bare"));
  expect_error(run("translate --model " + at("nowhere"), "echo hello |"), 1,
               {"qkv translate: --model " + at("nowhere") +
                " is not a model folder: it does not exist; qkv train --model "});
  expect_error(run("translate --model " + at("bare"), "echo hello |"), 1,
               {"qkv translate: --model " + at("bare") + " is not a model folder: it has no config.json"});
  std::filesystem::create_directories(at("bare/training"));
  write_file(at("bare/training/options.json"), "{}");
  expect_error(run("translate --model " + at("bare"), "echo hello |"), 1,
               {"its training has saved no model yet; qkv train --model " + at("bare") + " --resume continues it"});
  expect_error(run("translate --model " + at("pairs.tsv"), "echo hello |"), 1,
               {"pairs.tsv is not a model folder: it is a file"});
}

TEST_F(Command, FineTuningPrintsTheVocabularyThatItContinuesWith) {
  const std::string init = at("model");
  const Outcome tuned =
      run(fmt::format("train --train {} --model {} --max-steps 1 --init {}", at("pairs.tsv"), at("tuned"), init));
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_NE(tuned.err.find("vocabulary   from " + init + ", tie"), std::string::npos) << tuned.err;
  EXPECT_EQ(tuned.err.find("vocabulary-size"), std::string::npos) << tuned.err;
}

TEST_F(Command, AFileInAFolderThatAFlagNamesIsReportedWithTheFlag) {
  expect_error(run(train_on("pairs.tsv") + " --init nope"), 1, {"qkv train: --init: nope: no such model folder"});
}

TEST_F(Command, InconsistentModelFilesAreRejected) {
  const auto spoilt = [](const std::string& name, auto spoil) {
    make_model(at(name));
    std::string bytes = read_file(at(name + "/model.safetensors"));
    spoil(bytes);
    std::ofstream(at(name + "/model.safetensors"), std::ios::binary) << bytes;
    return run("translate --model " + at(name), "echo hello |");
  };
  const auto replace = [](std::string& s, const std::string& from, const std::string& to) {
    const size_t place = s.find(from);
    ASSERT_NE(place, std::string::npos);
    s.replace(place, from.size(), to);
  };
  expect_error(spoilt("truncated", [](std::string& s) { s.resize(s.size() - 100); }), 1,
               {"truncated/model.safetensors"});
  expect_error(spoilt("nearly-empty", [](std::string& s) { s.resize(5); }), 1, {"nearly-empty/model.safetensors"});
  expect_error(spoilt("huge-header", [](std::string& s) { s[6] = 127; }), 1, {"huge-header/model.safetensors"});
  expect_error(spoilt("wrong-type", [&](std::string& s) { replace(s, "\"F32\"", "\"I32\""); }), 1,
               {"wrong-type/model.safetensors"});
  expect_error(spoilt("no-json", [](std::string& s) { s[8] = '['; }), 1, {"no-json/model.safetensors"});

  make_model(at("other-shape"));
  std::string config = read_file(at("other-shape/config.json"));
  replace(config, "\"ffn\": 16", "\"ffn\": 32");
  write_file(at("other-shape/config.json"), config);
  expect_error(run("translate --model " + at("other-shape"), "echo hello |"), 1,
               {"other-shape/config.json", "delete the line with \"checksum\""});
  config.erase(1, config.find('\n', 2) - 1);
  write_file(at("other-shape/config.json"), config);
  expect_error(run("translate --model " + at("other-shape"), "echo hello |"), 1,
               {"other-shape/model.safetensors", "up.weight"});
  replace(config, "\"d_model\": 16", "\"d_model\": 16000000");
  write_file(at("other-shape/config.json"), config);
  expect_error(run("translate --model " + at("other-shape"), "echo hello |"), 1, {"other-shape"});
}

TEST_F(Command, TranslateKeepsTheOrderAndAnswersEveryLine) {
  const Outcome outcome =
      run("translate --model " + at("model") + " --max-length 4", "printf 'Go on.\\n\\nI am cold.\\n' |");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3) << outcome.out;
  expect_error(run("translate --strict --model " + at("model"), "printf 'ok\\n\\377\\n' |"), 1,
               {"stdin:2", "UTF-8"});
}

TEST_F(Command, WhatCannotBeWrittenIsReported) {
  expect_error(run("inspect --model " + at("model") + " 'Go on.' --output " + at("nowhere/picture.svg")), 1,
               {"picture.svg"});
  expect_error(run("inspect --model " + at("model") + " 'Go on.' --output " + at("picture.gif")), 2,
               {"picture.gif", ".svg"});
  expect_error(run(fmt::format("train --train {} --model {}/model --recipe transformer-tiny --max-steps 1",
                               at("pairs.tsv"), at("pairs.tsv"))),
               1, {"pairs.tsv/model"});
}

// Every file under a folder, by its name there, but for locks.
std::map<std::string, std::string> files_under(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename() != "lock")
      files[std::filesystem::relative(entry.path(), folder).string()] = read_file(entry.path());
  return files;
}

TEST_F(Command, AnOverwriteThatCannotStartChangesNothing) {
  std::string good, blank;
  for (int i = 10; i < 60; ++i) good += fmt::format("{}\t{}\n", i, 1000 - i), blank += " \t \n";
  write_file(at("good.tsv"), good);
  write_file(at("bad-line.tsv"), good + "there is no tab here\n");
  write_file(at("bad-bytes.tsv"), good + "a\t\xff\n");
  write_file(at("blank.tsv"), blank);
  write_file(at("one.txt"), "a\n");
  write_file(at("two.txt"), "a\nb\n");
  const std::string base = fmt::format(
      "train --model {} --recipe transformer-tiny --d-model 32 --ffn 32 --tokenizer character ", at("kept"));
  ASSERT_EQ(run(base + "--max-steps 2 --quiet --train " + at("good.tsv")).code, 0);
  write_file(at("kept/README"), "mine");
  const auto before = files_under(at("kept"));
  const auto refused = [&](const std::string& train, const std::string& flags, int code) {
    const Outcome outcome = run(with(base + "--overwrite --max-steps 2 --train " + train, flags));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(files_under(at("kept")) == before) << train << " " << flags;
  };
  refused(at("bad-line.tsv"), "", 1);
  refused(at("bad-bytes.tsv"), "", 1);
  refused(at("blank.tsv"), "", 1);
  refused(at("missing.tsv"), "", 1);
  refused(at("one.txt") + "," + at("two.txt"), "", 1);
  refused(at("good.tsv"), "--hold-out 100000", 1);
  refused(at("good.tsv"), "--valid " + at("bad-line.tsv"), 1);
  refused(at("good.tsv"), "--tokenizer unigram --vocabulary-size 8", 2);
  refused(at("good.tsv"), "--vocabulary-size 2", 2);
  refused(at("good.tsv"), "--heads 3", 2);
  refused(at("good.tsv"), "--beta2 1", 2);
  refused(at("good.tsv"), "--max-length 100000", 2);
  refused(at("good.tsv"), "--seed -1", 2);
  refused(at("good.tsv"), "--learning-rate 1e30 --schedule constant --warmup 0 --max-steps 20", 1);
  EXPECT_EQ(run(base + "--overwrite --max-steps 3 --quiet --train " + at("good.tsv")).code, 0);
  const auto after = files_under(at("kept"));
  EXPECT_EQ(after.at("README"), "mine");
  EXPECT_TRUE(after.at("model.safetensors") != before.at("model.safetensors"));
  EXPECT_EQ(after.count("training/step-000000002.safetensors"), 0u) << "of the training before";
  std::filesystem::remove_all(at("kept"));
}

TEST_F(Command, TheSameLineWithResumeStartsContinuesAndEnds) {
  const std::string line = fmt::format(
      "train --resume --train {} --model {} --recipe transformer-tiny --tokenizer character --heads 2 --quiet ",
      at("pairs.tsv"), at("line"));
  EXPECT_EQ(run(line + "--max-steps 2").code, 0);
  EXPECT_EQ(run(line + "--max-steps 4").code, 0);
  const auto before = files_under(at("line"));
  EXPECT_EQ(run(line + "--max-steps 4").code, 0) << "it is finished";
  EXPECT_EQ(run(fmt::format("train --resume --quiet --model {}", at("line"))).code, 0);
  expect_error(run(with(line, "--heads 4")), 2, {"--heads was 2 and is now 4"});
  expect_error(run(with(line, "--recipe transformer-small")), 2, {"--d-model was 128 and is now 256"});
  expect_error(run(line + "--seed 3"), 2, {"--seed was 1 and is now 3"});
  expect_error(run(with(line, "--max-steps 9 --train " + at("missing.tsv"))), 1, {"missing.tsv"});
  EXPECT_TRUE(files_under(at("line")) == before);
  std::filesystem::remove(at("line/training/state.safetensors"));
  const std::string model = read_file(at("line/model.safetensors"));
  expect_error(run(line + "--max-steps 9"), 2, {"no state to resume", "overwrite"});
  EXPECT_TRUE(read_file(at("line/model.safetensors")) == model);
  std::filesystem::remove_all(at("line"));
}

TEST_F(Command, TrainRefusesOptionsBeforeItReadsAnything) {
  const auto refused = [&](const std::string& flags, const std::vector<std::string>& fragments) {
    expect_error(run(fmt::format("train --train {} --model {} --recipe transformer-tiny {}", at("missing.tsv"),
                                 at("never"), flags)),
                 2, fragments);
    EXPECT_FALSE(std::filesystem::exists(at("never"))) << flags;
  };
  refused("--seed -1", {"--seed", "must not be negative, got -1"});
  refused("--seed=-1", {"--seed", "must not be negative, got -1"});
  refused("--max-steps 99999999999999999999", {"--max-steps", "out of range"});
  refused("--seed ''", {"--seed must be an integer, got nothing"});
  refused("--max-steps 1e3", {"qkv train: --max-steps must be an integer, got '1e3'"});
  refused("--dropout 0,1", {"qkv train: --dropout must be a number, got '0,1'"});
  refused("--vocabulary-size 3", {"qkv train: --vocabulary-size must be 5 to 10000000, got 3"});
  refused("--vocabulary-size 100 --lossless true", {"--vocabulary-size must be 261 to 10000000, got 100"});
  refused("--character-coverage 0.5", {"--character-coverage must be 0.98 to 1"});
  refused("--max-length 5000", {"--max-length 5000 exceeds the "});
  refused("--self-attention multi-token=6:4", {"--self-attention", "keys must be odd, got 4"});
  refused("--self-attention full,window=4*0",
          {"--self-attention: group 2: 'window=4*0'", "from 1 to 1000, got '0'"});
  refused("--max-steps 0 --valid-every 0", {"--max-steps, --max-epochs and --max-time are 0", "would never end"});
  refused("--schedule cosine --max-steps 0 --hold-out 5", {"--schedule cosine needs", "--max-steps"});
  refused("--resume --overwrite", {"--resume and --overwrite exclude each other"});
  refused("--threads -1", {"qkv train: --threads must be at least 0, got -1"});
  refused("--beta2 1", {"qkv train: --beta2 must be at least 0 and less than 1, got 1"});
  refused("--heads 3", {"qkv train: --heads 3 must divide --d-model 128"});
  refused("--kv-heads 3", {"qkv train: --kv-heads 3 must divide --heads 4"});
  refused("--self-attention window=4+causal", {"--self-attention"});
  refused(
      "--d-model 12 --heads 4 --positions rotary",
      {"qkv train: --positions: 'rotary'", "the width of a head must be even, got --d-model 12 / --heads 4 = 3"});
}

TEST_F(Command, DemoReplacesNoFileThatItDidNotWrite) {
  std::filesystem::create_directories(at("mine"));
  write_file(at("mine/train.tsv"), "my\twork\n");
  expect_error(run(fmt::format("demo --steps 1 --folder {}", at("mine"))), 1, {"mine/train.tsv", "--folder"});
  EXPECT_EQ(read_file(at("mine/train.tsv")), "my\twork\n");
  EXPECT_FALSE(std::filesystem::exists(at("mine/model")));
}

TEST_F(Command, TrainDoesNotOverwriteAModelByDefault) {
  const std::string before = read_file(at("model/model.safetensors"));
  const Outcome outcome = run(fmt::format("train --train {} --model {} --recipe transformer-tiny --max-steps 1",
                                          at("pairs.tsv"), at("model")));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("overwrite"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_file(at("model/model.safetensors")), before);
}

TEST_F(Command, TranslateContinuesAPrefixAndListsAlternatives) {
  write_file(at("prefixes.tsv"), "Go on.\tal\nGo on.\n");
  const std::string translate = fmt::format("translate --model {} --quiet --max-length 8 ", at("model"));
  const Outcome prefixed = run(translate + "--target-prefix --input " + at("prefixes.tsv"));
  EXPECT_EQ(prefixed.code, 0) << prefixed.err;
  EXPECT_TRUE(prefixed.out.starts_with("al")) << prefixed.out;
  write_file(at("plain.txt"), "Go on.\n");
  const Outcome free = run(translate + "--input " + at("plain.txt"));
  EXPECT_EQ(prefixed.out.substr(prefixed.out.find('\n') + 1), free.out);
  const Outcome all = run(translate + "--beam 1 --n-best 3 --alternatives --scores --input " + at("plain.txt"));
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 4);
  expect_error(run(translate + "--beam 1 --n-best 3 --input " + at("plain.txt")), 2, {"n-best"});
}

TEST_F(Command, DescribeTakesAModelARecipeFlagsOrALayer) {
  const auto described = [&](const std::string& arguments, const std::string& part) {
    const Outcome outcome = run("describe " + arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  };
  described("--model " + at("model"), "A step of decoding");
  described("--recipe luong", "Luong et al.");
  described("--recipe transformer-tiny --self-attention window=2 --source-length 100", "4.94 of 100 keys");
  described("--architecture causal --decoder-layers 12", "Causal Transformer, 12 layers");
  described("--layer 'attention d=512 heads=8 kv-heads=2 window=64'", "2 C^2 + 2 C K + 2 C + 2 K");
  expect_error(run("describe"), 2, {"--model", "--layer"});
  expect_error(run("describe --recipe luong --layer 'norm d=4'"), 2, {"exclude"});
  expect_error(run("describe --layer 'norm d=4' --heads 2"), 2, {"--recipe"});
  expect_error(run("describe --layer 'norm'"), 2, {"qkv describe: --layer: norm needs d=N"});
  expect_error(run("describe --layer 'atention d=8'"), 2, {"got 'atention'; did you mean attention?"});
  expect_error(run("describe --recipe transformer-tiny --source-length 2000"), 2,
               {"source-length must be 1 to 1024"});
}

TEST_F(Command, InspectDrawsEveryFormat) {
  for (const char* name : {"picture.svg", "picture.html", "picture.json"}) {
    const Outcome outcome = run(fmt::format("inspect --model {} 'Go on.' --output {}", at("model"), at(name)));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(read_file(at(name)).size(), 1000u) << name;
  }
}

TEST_F(Command, ScorePrintsALineForEveryPair) {
  const Outcome outcome = run(fmt::format("score --model {} --input {}", at("model"), at("pairs.tsv")));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  EXPECT_EQ(outcome.out.front(), '-');
}

}  // namespace qkv::cli_test
