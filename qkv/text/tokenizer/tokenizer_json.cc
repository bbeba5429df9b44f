#include "qkv/text/tokenizer/tokenizer_json.h"

#include <unordered_map>

#include "qkv/base/file.h"
#include "qkv/base/json_fields.h"
#include "qkv/text/tokenizer/normalizer.h"
#include "qkv/text/tokenizer/post_processor.h"
#include "qkv/text/tokenizer/pre_tokenizer.h"
#include "qkv/text/tokenizer/subword_model.h"
#include "qkv/text/tokenizer/token_decoder.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

// Files with large vocabularies have tens of megabytes.
constexpr JsonLimits tokenizer_json_limits = {.bytes = 200'000'000, .depth = 32, .name_bytes = 20'000};

std::string normalized_content(const AddedToken& token, const TextNormalizerPtr& normalizer) {
  if (!token.normalized || !normalizer) return token.content;
  AlignedText text(token.content, 0);
  normalizer->apply(text);
  return text.bytes();
}

bool is_byte_level_decoder(const JsonFields& decoder) {
  if (decoder.text("type") == "ByteLevel") return true;
  if (!decoder.has("decoders")) return false;
  for (const JsonFields& part : decoder.objects("decoders"))
    if (part.text("type") == "ByteLevel") return true;
  return false;
}

}  // namespace

struct JsonTokenizer::Parts {
  std::string name;
  TextNormalizerPtr normalizer;
  PreTokenizerPtr pre_tokenizer;
  SubwordModelPtr model;
  PostProcessor post;
  TokenDecoderPtr decoder;
  bool is_byte_level = false;
  AddedTokens original, normalized;  // added tokens, by the text that they are looked for in
  std::unordered_map<int32_t, const AddedToken*> added_by_id;

  Parts(const JsonFields& fields, std::string file) : name(std::move(file)) {
    if (fields.has("normalizer")) normalizer = read_normalizer(fields.object("normalizer"));
    if (fields.has("pre_tokenizer")) pre_tokenizer = read_pre_tokenizer(fields.object("pre_tokenizer"));
    model = read_subword_model(fields.object("model"));
    if (fields.has("post_processor")) post = read_post_processor(fields.object("post_processor"));
    if (fields.has("decoder")) {
      decoder = read_token_decoder(fields.object("decoder"));
      is_byte_level = is_byte_level_decoder(fields.object("decoder"));
    }
    if (fields.has("added_tokens")) read_added_tokens(fields);
    for (const auto* parts : {&post.single, &post.pair})
      for (const PostProcessor::Part& part : *parts)
        require<InputError>(part.text >= 0 || part.id < size(), fields.where(),
                            "the post-processor adds the token {}, which is not one of the {} of the vocabulary",
                            part.id, size());
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() = default;

  int64_t size() const {
    auto size = std::ssize(model->tokens());
    for (const auto& [id, added] : added_by_id) size = std::max<int64_t>(size, id + 1);
    return size;
  }

  void read_added_tokens(const JsonFields& fields) {
    std::vector<AddedToken> tokens[2];
    std::vector<std::string> contents[2];
    for (const JsonFields& item : fields.objects("added_tokens")) {
      AddedToken token = {.id = static_cast<int32_t>(item.integer("id")),
                          .content = item.text("content"),
                          .single_word = item.flag("single_word", false),
                          .strips_left = item.flag("lstrip", false),
                          .strips_right = item.flag("rstrip", false),
                          .normalized = item.flag("normalized", true),
                          .special = item.flag("special", false)};
      require<InputError>(token.id < 1 << 24, item.where(), "'id' must be below {}, got {}", 1 << 24, token.id);
      contents[token.normalized].push_back(normalized_content(token, normalizer));
      tokens[token.normalized].push_back(std::move(token));
    }
    original = AddedTokens(std::move(tokens[0]), contents[0]);
    normalized = AddedTokens(std::move(tokens[1]), contents[1]);
    for (const AddedTokens* list : {&original, &normalized})
      for (const AddedToken& token : list->tokens()) added_by_id[token.id] = &token;
  }

  // Pieces that occur again are cut once in a call.
  struct Run {
    Encoding& out;
    std::unordered_map<std::string, std::vector<SubwordModel::Token>> known = {};
    std::vector<SubwordModel::Token> tokens = {};
  };

  static bool found_in_text(const Options& options, const AddedToken& token, size_t at) {
    if (options.special_in_text && (!options.special_at || options.special_at(at))) return true;
    return token.id == options.special_token_in_text;
  }

  void add_token(Run& run, TextRange range, int32_t id) const {
    run.out.ids.push_back(id);
    run.out.ranges.push_back(range);
  }

  void encode_text(Run& run, std::string_view text, size_t offset, const Options& options) const {
    AlignedText changed(text, offset);
    if (normalizer) normalizer->apply(changed);
    if (normalized.empty()) return encode_normalized(run, std::move(changed));
    const auto special = [&](const AddedToken& token, size_t at) {
      const auto first = static_cast<uint32_t>(at);
      return found_in_text(options, token, changed.origin(first, first + 1).begin);
    };
    normalized.for_each(changed.bytes(), special, [&](TextRange range, int32_t id) {
      if (id >= 0) return add_token(run, changed.origin(range.begin, range.end), id);
      encode_normalized(run, changed.slice(range));
    });
  }

  void encode_normalized(Run& run, AlignedText text) const {
    PreTokenized pieces(std::move(text));
    if (pre_tokenizer) pre_tokenizer->apply(pieces);
    for (const TextRange& piece : pieces.pieces()) {
      const std::vector<SubwordModel::Token>& tokens = cut(run, pieces.text().part(piece));
      uint32_t at = piece.begin;
      for (const SubwordModel::Token& token : tokens) {
        add_token(run, pieces.text().origin(at, at + token.bytes), token.id);
        at += token.bytes;
      }
    }
  }

  const std::vector<SubwordModel::Token>& cut(Run& run, std::string_view piece) const {
    constexpr size_t longest_known = 64;
    if (piece.size() > longest_known) {
      run.tokens.clear();
      model->cut(piece, run.tokens);
      return run.tokens;
    }
    const auto [entry, is_new] = run.known.try_emplace(std::string(piece));
    if (is_new) model->cut(piece, entry->second);
    return entry->second;
  }

  Encoding encode_alone(std::string_view text, const Options& options) const {
    std::string repaired;
    if (utf8_error(text)) {
      repaired = valid_utf8(text);
      text = repaired;
    }
    require<InputError>(text.size() < (size_t{1} << 31), name, "a text must be shorter than 2 GiB, got {} bytes",
                        text.size());
    Encoding out;
    Run run{out};
    const auto special = [&](const AddedToken& token, size_t at) { return found_in_text(options, token, at); };
    original.for_each(text, special, [&](TextRange range, int32_t id) {
      if (id >= 0) return add_token(run, range, id);
      encode_text(run, text.substr(range.begin, range.end - range.begin), range.begin, options);
    });
    return out;
  }

  Encoding assembled(const std::vector<PostProcessor::Part>& parts, std::initializer_list<Encoding> texts,
                     const Options& options) const {
    Encoding out;
    for (const PostProcessor::Part& part : parts) {
      if (part.text < 0) {
        if (!options.add_special) continue;
        out.ids.push_back(part.id);
        out.ranges.push_back({});
      } else if (part.text < static_cast<int32_t>(texts.size())) {
        const Encoding& text = texts.begin()[part.text];
        out.ids.insert(out.ids.end(), text.ids.begin(), text.ids.end());
        out.ranges.insert(out.ranges.end(), text.ranges.begin(), text.ranges.end());
      }
      out.types.resize(out.ids.size(), part.type);
    }
    return out;
  }
};

JsonTokenizer JsonTokenizer::load(const std::filesystem::path& path) {
  return parse(read_file(path, tokenizer_json_limits.bytes), path.string());
}

JsonTokenizer JsonTokenizer::parse(std::string_view json, const std::string& name) {
  const auto parsed = parse_json_object(json, name, tokenizer_json_limits);
  return JsonTokenizer(std::make_shared<const Parts>(JsonFields(parsed, name), name));
}

JsonTokenizer::Encoding JsonTokenizer::encode(std::string_view text, const Options& options) const {
  return parts_->assembled(parts_->post.single, {parts_->encode_alone(text, options)}, options);
}

JsonTokenizer::Encoding JsonTokenizer::encode(std::string_view first, std::string_view second,
                                              const Options& options) const {
  return parts_->assembled(parts_->post.pair,
                           {parts_->encode_alone(first, options), parts_->encode_alone(second, options)}, options);
}

std::string JsonTokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids)
    if (!token(id).empty() && !(skip_special && is_special(id))) tokens.push_back(token(id));
  if (parts_->decoder) parts_->decoder->apply(tokens);
  std::string text;
  for (const std::string& part : tokens) {
    if (!parts_->decoder && !text.empty()) text += ' ';
    text += part;
  }
  return text;
}

bool JsonTokenizer::is_byte_level() const { return parts_->is_byte_level; }

const std::string& JsonTokenizer::token(int32_t id) const {
  static const std::string none;
  if (const auto found = parts_->added_by_id.find(id); found != parts_->added_by_id.end())
    return found->second->content;
  const std::vector<std::string>& tokens = parts_->model->tokens();
  return id >= 0 && id < std::ssize(tokens) ? tokens[static_cast<size_t>(id)] : none;
}

std::optional<int32_t> JsonTokenizer::id_of(std::string_view token) const {
  for (const auto& [id, added] : parts_->added_by_id)
    if (added->content == token) return id;
  return parts_->model->id_of(token);
}

bool JsonTokenizer::is_added(int32_t id) const { return parts_->added_by_id.contains(id); }

bool JsonTokenizer::is_special(int32_t id) const {
  const auto found = parts_->added_by_id.find(id);
  return found != parts_->added_by_id.end() && found->second->special;
}

int64_t JsonTokenizer::size() const { return parts_->size(); }

std::vector<int32_t> JsonTokenizer::before() const {
  std::vector<int32_t> ids;
  for (const PostProcessor::Part& part : parts_->post.single) {
    if (part.text >= 0) break;
    ids.push_back(part.id);
  }
  return ids;
}

std::vector<int32_t> JsonTokenizer::after() const {
  std::vector<int32_t> ids;
  for (const PostProcessor::Part& part : parts_->post.single) {
    if (part.text >= 0)
      ids.clear();
    else
      ids.push_back(part.id);
  }
  return ids;
}

}  // namespace qkv
