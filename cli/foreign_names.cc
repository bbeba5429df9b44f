#include "cli/foreign_names.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

namespace qkv::cli {
namespace {

struct ForeignName {
  std::string_view names;  // as in Hugging Face transformers, fairseq, OpenNMT, Marian, llama.cpp, sacreBLEU
  std::string_view ours;   // the first of these that the command has; empty: the note says it all
  std::string_view note = {};
};

constexpr ForeignName table[] = {
    // Search and sampling.
    {"num-beams|beams|nbeams|beam-size|beam-width|best-of", "beam"},
    {"num-return-sequences|num-sequences|num-samples|nbest|num-hypotheses", "answers|n-best"},
    {"do-sample|sample|sampling", "temperature", "; above 0 it draws tokens"},
    {"temp|sampling-temperature", "temperature"},
    {"max-new-tokens|n-predict|num-predict|max-gen-len|max-gen-length", "max-tokens|max-length"},
    {"max-decoding-length|max-len|max-len-b|max-target-length", "max-length|max-tokens"},
    {"max-length", "max-tokens"},
    {"min-new-tokens|min-decoding-length|min-len", "min-tokens|min-length"},
    {"min-length", "min-tokens"},
    {"repeat-penalty|presence-penalty|frequency-penalty", "repetition-penalty"},
    {"no-repeat-ngram-size|block-ngram-repeat", "no-repeat-ngram"},
    {"lenpen|alpha|length-alpha|normalize-scores", "length-penalty"},
    {"stop-strings|stop-string|stop-sequence|stop-sequences|reverse-prompt|eos", "stop"},
    {"special", "parse-special"},
    {"system-prompt|sys|system-message", "system"},
    {"chat-template|chat-template-file|template-file", "template"},
    {"prompt-lookup-num-tokens|prompt-lookup|ngram-size", "lookup"},
    {"assistant-model|draft-model|model-draft|speculative-model", "draft"},
    {"num-assistant-tokens|num-speculative-tokens|draft-max|draft-n", "draft-tokens"},
    // Files.
    {"model-path|model-name|model-name-or-path|pretrained-model-name-or-path|models|checkpoint|ckpt|path|hf-repo",
     "model"},
    {"output-dir|save-dir|save-model|save-path", "model|output"},
    {"input-file|infile|src|src-file|source|source-file|file|in|text|test-file", "input|train"},
    {"f", "input"},
    {"output-file|outfile|out|out-file|dest", "output"},
    {"train-file|train-data|train-set|train-sets|trainpref|data|dataset|dataset-name|corpus", "train|input"},
    {"validation-file|eval-file|valid-file|valid-data|valid-set|valid-sets|validpref|dev|validation", "valid"},
    {"ref|refs|reference|tgt-file", "references"},
    {"hyp|hyps|hypothesis|sys|system|pred|preds|predictions", "hypotheses"},
    {"num-shards|shard-count", "shards"},
    {"shard-id|shard-index", "shard"},
    {"src-lang|source-lang|src-language", "source-language"},
    {"tgt-lang|target-lang|tgt-language", "target-language"},
    {"prompts|message|instruction", "prompt"},
    {"p|prompt|prompts|message|instruction", "system", " for how to answer; messages are lines of standard input"},
    {"p|prompt", "input"},
    {"terminology|glossary|constraints|force-words|lexicon", "terms"},
    {"force-decoding", "target-prefix"},
    // Training.
    {"lr|max-lr|peak-lr|learn-rate", "learning-rate"},
    {"batch-size|batchsize|bsz|mini-batch|micro-batch-size|per-device-train-batch-size|per-device-eval-batch-size",
     "batch-sentences|batch-tokens|batch"},
    {"epochs|epoch|num-epochs|num-train-epochs|max-epoch|n-epochs", "max-epochs"},
    {"steps|num-steps|train-steps|max-update|max-updates|max-iters|iterations|after-batches", "max-steps"},
    {"after-epochs", "max-epochs"},
    {"warmup-steps|warmup-updates|num-warmup-steps|warmup-ratio|lr-warmup", "warmup"},
    {"update-freq|gradient-accumulation-steps|grad-accum|accum-count|accumulate-grad-batches", "accumulate"},
    {"clip-norm|max-grad-norm|grad-clip|gradient-clip|gradient-clip-val", "clip"},
    {"lr-scheduler|lr-scheduler-type|scheduler|decay-method|lr-decay", "schedule"},
    {"adam-beta1|adam-beta-1", "beta1"},
    {"adam-beta2|adam-beta-2", "beta2"},
    {"adam-eps|adam-epsilon|epsilon", "eps"},
    {"wd|l2", "weight-decay"},
    {"label-smoothing-factor|smoothing|criterion-smoothing", "label-smoothing"},
    {"early-stopping-patience|early-stopping|early-stop", "patience"},
    {"eval-steps|eval-every|eval-interval|validate-interval|validate-interval-updates|valid-steps|valid-freq",
     "valid-every"},
    {"save-steps|save-freq|save-interval|save-interval-updates|save-checkpoint-steps|checkpoint-every",
     "save-every"},
    {"save-total-limit|keep-checkpoint|keep-last-epochs|keep-interval-updates", "keep"},
    {"logging-steps|log-interval|log-every|disp-freq", "report-every"},
    {"finetune-from-model|finetune|fine-tune|train-from|pretrained|pretrained-model", "init"},
    {"resume-from-checkpoint|restore-file|continue", "resume"},
    {"overwrite-output-dir|force", "overwrite"},
    {"val-split|validation-split|test-size|dev-size", "hold-out"},
    {"random-seed|manual-seed|s", "seed"},
    {"num-threads|nthreads|n-threads|cpu-threads|num-workers|jobs|intra-threads|workers|t", "threads"},
    // The model.
    {"vocab-size|vocab|vocabulary|num-tokens|bpe-size", "vocabulary-size"},
    {"vocab-type|model-type|bpe|subword", "tokenizer|architecture"},
    {"arch|model-arch", "recipe|architecture"},
    {"hidden-size|hidden-dim|dim|embed-dim|embedding-dim|n-embd|dim-emb|word-vec-size|emb-size|encoder-embed-dim",
     "d-model"},
    {"num-heads|n-heads|n-head|nhead|num-attention-heads|attention-heads|transformer-heads", "heads"},
    {"num-kv-heads|num-key-value-heads|n-kv-heads|n-kv-head", "kv-heads"},
    {"intermediate-size|ffn-dim|ffn-size|ff|d-ff|dim-feedforward|transformer-ff|transformer-dim-ffn|ffn-embed-dim",
     "ffn"},
    {"layers|num-layers|n-layers|n-layer|num-hidden-layers|depth", "decoder-layers",
     " (and --encoder-layers, that of the encoder)"},
    {"num-encoder-layers|enc-layers|enc-depth", "encoder-layers"},
    {"num-decoder-layers|dec-layers|dec-depth", "decoder-layers"},
    {"rope|rotary|position-embedding-type|position-encoding", "positions"},
    {"sliding-window|window|window-size", "self-attention", " window=N"},
    {"tie-embeddings|share-embeddings|share-all-embeddings|tied-embeddings|tied-embeddings-all", "tie"},
    {"max-seq-len|max-seq-length|seq-len|block-size|max-position-embeddings|max-source-positions",
     "max-length|context"},
    {"ctx-size|n-ctx|context-size|context-length|max-source-length", "context|max-input-tokens|max-length"},
    {"c|ctx-size|n-ctx|context-size|context-length", "", "; texts may be as long as the model reads"},
    // Running.
    {"to|output-format", "format"},
    {"outtype|out-type|quantize|quantise|quantization|quant|dtype|torch-dtype|precision|compute-type|load-in-8bit|"
     "load-in-4bit|bits|ftype|type",
     "weights"},
    {"cache-type-k|cache-type-v|ctk|ctv|kv-cache-dtype", "cache"},
    {"mmap", "map"},
    {"format|output-format", "json"},
    {"m|model", "folder"},
    {"m|model", "recipe", ", whose weights are random; qkv generate --timings measures a model"},
    {"m|model", "", "; it takes folders of models as they are: qkv plot my-model"},
    {"verbose|perf|show-timings|time|speed", "timings"},
    {"silent|no-progress|disable-tqdm|q", "quiet"},
    {"json-output|as-json", "json"},
    {"device|gpu|gpus|cuda|n-gpu-layers|ngl|devices", "", "; qkv computes on the processor, on --threads of it"},
};

struct ForeignCommand {
  std::string_view names, answer;
};

constexpr ForeignCommand commands[] = {
    {"cli|run", "qkv chat talks with a model, qkv generate continues a text as it is"},
    {"complete|completion|infer|inference|predict|sample",
     "qkv generate continues a text, qkv translate translates"},
    {"converse|dialog|dialogue|talk", "it is qkv chat"},
    {"interactive|decode|decoder|translator|mt", "it is qkv translate, or qkv generate for a language model"},
    {"fit|learn|preprocess|trainer", "it is qkv train, which reads text as it is"},
    {"finetune|fine-tune", "it is qkv train --init MODEL"},
    {"resume|continue", "it is qkv train --resume --model MODEL"},
    {"eval|validate|test|bleu|sacrebleu|compare", "it is qkv evaluate"},
    {"visualize|show|attention|view|draw|heatmap", "it is qkv inspect"},
    {"embedding|embeddings|encode|vectors", "it is qkv embed"},
    {"ppl|lm-score", "it is qkv perplexity"},
    {"info|summary|params|config", "it is qkv describe"},
    {"export|import", "it is qkv convert"},
    {"quantize|quantise|quant", "it is qkv convert --weights FORMAT"},
    {"benchmark|perf|speed|time|timeit", "it is qkv bench"},
    {"serve|server|api", "there is none; qkv translate, generate and chat answer lines of standard input"},
    {"pull|download|install|fetch|get|push|login",
     "a model is a folder or a GGUF file on disk: hf download NAME --local-dir FOLDER"},
    {"list|ls|models|ps|rm", "models are folders and GGUF files, which --model names"},
    {"curves|tensorboard", "it is qkv plot; qkv train --tensorboard writes event files"},
    {"example|examples|tutorial|quickstart", "it is qkv demo"},
};

// Calls f with each name of "a|b|c" until it returns true.
template <class F>
bool any_name(std::string_view names, F f) {
  while (!names.empty()) {
    const size_t bar = names.find('|');
    if (f(names.substr(0, bar))) return true;
    names.remove_prefix(bar == names.npos ? names.size() : bar + 1);
  }
  return false;
}

std::string spelled_as_flag(std::string_view given) {
  std::string name(given);
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

std::string foreign_name(std::string_view given, std::span<const std::string_view> known) {
  const std::string name = spelled_as_flag(given);
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";  // with one dash, or in capitals
  const auto same = [&](std::string_view n) { return n == name; };
  for (const ForeignName& row : table) {
    if (!any_name(row.names, same)) continue;
    if (row.ours.empty()) return std::string(row.note);
    std::string answer;
    any_name(row.ours, [&](std::string_view ours) {
      if (std::find(known.begin(), known.end(), ours) == known.end()) return false;
      answer = fmt::format("; qkv calls it --{}{}", ours, row.note);
      return true;
    });
    if (!answer.empty()) return answer;
  }
  return "";
}

std::string foreign_command(std::string_view given) {
  const std::string name = spelled_as_flag(given);
  for (const ForeignCommand& row : commands)
    if (any_name(row.names, [&](std::string_view n) { return n == name; })) return fmt::format("; {}", row.answer);
  return "";
}

}  // namespace qkv::cli
