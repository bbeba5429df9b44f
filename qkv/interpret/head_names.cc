#include "qkv/interpret/head_names.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

struct HeadCounts {
  int64_t encoder_layers = 0, encoder_heads = 0, decoder_layers = 0, decoder_heads = 0;
  bool self = true, cross = false;  // of the decoder
};

HeadCounts counts_of(const TransformerConfig& c) {
  HeadCounts n{.cross = c.has_encoder() && c.has_decoder()};
  if (c.has_encoder()) n.encoder_layers = c.encoder_layers, n.encoder_heads = c.heads;
  if (c.has_decoder())
    n.decoder_layers = c.decoder_layers, n.decoder_heads = c.decoder_heads > 0 ? c.decoder_heads : c.heads;
  return n;
}
HeadCounts counts_of(const RecurrentConfig&) {
  return {.decoder_layers = 1, .decoder_heads = 1, .self = false, .cross = true};
}

std::string layer_name(const AttentionHead& head) {
  return fmt::format("{}.{}.{}", head.use == AttentionUse::encoder ? "encoder" : "decoder", head.layer,
                     head.use == AttentionUse::cross ? "cross" : "self");
}

// The heads of a layer, or one of them: a name without its number is that of them all.
std::map<std::string, std::vector<AttentionHead>, std::less<>> heads_by_name(
    const std::vector<AttentionHead>& all) {
  std::map<std::string, std::vector<AttentionHead>, std::less<>> out;
  for (const AttentionHead& head : all) {
    out[layer_name(head)].push_back(head);
    out[name_of(head)] = {head};
  }
  return out;
}

// "decoder.0.cross to decoder.5.cross, with heads 0 to 7; ...": what the model has.
std::string names_of_layers(const std::vector<AttentionHead>& all) {
  std::string out;
  for (const AttentionUse use : {AttentionUse::encoder, AttentionUse::decoder, AttentionUse::cross}) {
    const auto of_use = [&](const AttentionHead& head) { return head.use == use; };
    const auto first = std::find_if(all.begin(), all.end(), of_use);
    if (first == all.end()) continue;
    const AttentionHead last = *std::find_if(all.rbegin(), all.rend(), of_use);
    out += fmt::format("{}{} to {}", out.empty() ? "" : ", ", name_of(*first), name_of(last));
  }
  return out;
}

}  // namespace

std::string name_of(const AttentionHead& head) { return fmt::format("{}.{}", layer_name(head), head.head); }

std::vector<AttentionHead> attention_heads(const ModelConfig& config) {
  const HeadCounts n = config.visit([](const auto& c) { return counts_of(c); });
  std::vector<AttentionHead> all;
  const auto add = [&](AttentionUse use, int64_t layer, int64_t heads) {
    for (int64_t head = 0; head < heads; ++head) all.push_back({use, layer, head});
  };
  for (int64_t layer = 0; layer < n.encoder_layers; ++layer) add(AttentionUse::encoder, layer, n.encoder_heads);
  for (int64_t layer = 0; layer < n.decoder_layers; ++layer) {
    if (n.self) add(AttentionUse::decoder, layer, n.decoder_heads);
    if (n.cross) add(AttentionUse::cross, layer, n.decoder_heads);
  }
  return all;
}

std::vector<NamedHeads> heads_named(std::string_view text, const ModelConfig& config, std::string_view where) {
  const std::vector<AttentionHead> all = attention_heads(config);
  std::vector<NamedHeads> out;
  if (text == "all") {
    for (const AttentionHead& head : all) out.push_back({name_of(head), {head}});
    return out;
  }
  if (text == "layers") {
    for (const AttentionHead& head : all) {
      if (out.empty() || out.back().name != layer_name(head)) out.push_back({layer_name(head), {}});
      out.back().heads.push_back(head);
    }
    return out;
  }
  const auto known = heads_by_name(all);
  NamedHeads& together = out.emplace_back(NamedHeads{std::string(text), {}});
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const auto found = known.find(name);
    require<UsageError>(found != known.end(), where,
                        "{} is not a head of this model: it has {}; decoder.0.self are all heads of a layer, 'all' "
                        "and 'layers' are every head and every layer in turn",
                        quoted_name(name), names_of_layers(all));
    for (const AttentionHead& head : found->second)
      if (std::find(together.heads.begin(), together.heads.end(), head) == together.heads.end())
        together.heads.push_back(head);
    begin = end + 1;
  }
  return out;
}

}  // namespace qkv
