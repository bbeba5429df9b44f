// Longformer (Beltagy et al., 2020): RoBERTa with windows, and with separate projections for global tokens, which each
// call names (GlobalTokens of the pass).
#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/layer/mechanism/longformer_separate.h"
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

// `attention_window`: the number of keys on both sides of a query together, one for all layers or one for each.
TransformerConfig longformer_config(const HfConfig& hf) {
  TransformerConfig c = family::roberta.config(hf);
  std::vector<double> windows = hf.numbers_or_one("attention_window", 512);
  if (windows.size() == 1) windows.resize(static_cast<size_t>(c.encoder_layers), windows.front());
  require<InputError>(std::ssize(windows) == c.encoder_layers, hf.file(), "'attention_window' has {} for {}",
                      counted(windows.size(), "entry", "entries"), counted(c.encoder_layers, "layer"));
  std::vector<AttentionPattern::Group> groups;
  for (const double window : windows) {
    const auto radius = static_cast<int64_t>(window) / 2;
    if (window < 2 || window > (1 << 24) || static_cast<double>(2 * radius) != window)
      hf.refuse("attention_window", "a window is an even number of positions");
    groups.push_back({LongformerSeparate{.radius = radius}, 1});
  }
  c.self_attention.encoder = AttentionPattern(groups);
  return c;
}

TensorNames longformer_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names = roberta_names("longformer.", ours);
  for_each_layer(ours.encoder_layers, "longformer.encoder.layer.",
                 [&](const std::string& to, const std::string& from) {
                   for (const char* part : {"query", "key", "value"})
                     names.linear(to + "self_attention.longformer-separate." + part,
                                  from + "attention.self." + part + "_global");
                 });
  return names;
}

}  // namespace

const Family family::longformer = {"longformer", longformer_config, longformer_tensors};

}  // namespace qkv
