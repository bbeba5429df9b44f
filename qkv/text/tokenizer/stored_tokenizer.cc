#include "qkv/text/tokenizer/stored_tokenizer.h"

#include "qkv/base/base64.h"
#include "qkv/base/json_fields.h"

namespace qkv {
namespace {

constexpr int version = 1;
constexpr JsonLimits stored_tokenizer_limits = {
    .bytes = largest_vocabulary_file, .depth = 34, .name_bytes = 20'000};
// Large enough for any id, too small for made-up sizes.
constexpr int64_t largest_id = (1 << 24) - 1;

struct NamedToken {
  const char* name;
  int32_t SpecialTokens::*id;
};
constexpr NamedToken named_tokens[] = {{"pad", &SpecialTokens::pad},
                                       {"bos", &SpecialTokens::bos},
                                       {"eos", &SpecialTokens::eos},
                                       {"unk", &SpecialTokens::unk},
                                       {"mask", &SpecialTokens::mask}};

int32_t id_of(const JsonFields& fields, const char* key, const Json& value) {
  const int64_t id = fields.as_integer(value, key);
  require<InputError>(id <= largest_id, fields.where(), "'{}' must be an id up to {}, got {}", key, largest_id, id);
  return static_cast<int32_t>(id);
}

std::vector<int32_t> ids_of(const JsonFields& fields, const char* key) {
  std::vector<int32_t> ids;
  for (const Json& id : fields.list(key)) ids.push_back(id_of(fields, key, id));
  return ids;
}

// Special tokens that a vocabulary lacks are not in the file.
SpecialTokens special_of(const JsonFields& fields) {
  SpecialTokens special;
  for (const NamedToken& token : named_tokens)
    special.*token.id = fields.has(token.name) ? id_of(fields, token.name, fields.get(token.name)) : -1;
  special.rows = fields.integer("rows", 0);
  require<InputError>(special.rows <= largest_id + 1, fields.where(), "'rows' must be at most {}, got {}",
                      largest_id + 1, special.rows);
  special.ends = ids_of(fields, "ends");
  special.suppressed = ids_of(fields, "suppressed");
  if (fields.has("added")) special.added = ids_of(fields, "added");
  if (fields.has("forced_first")) special.forced_first = id_of(fields, "forced_first", fields.get("forced_first"));
  if (fields.has("before")) special.frame = TextFrame{ids_of(fields, "before"), ids_of(fields, "after")};
  return special;
}

}  // namespace

std::string stored_head(const SpecialTokens& special) {
  Json json = Json::object();
  for (const NamedToken& token : named_tokens)
    if (special.*token.id >= 0) json[token.name] = special.*token.id;
  if (special.rows > 0) json["rows"] = special.rows;
  json["ends"] = special.ends;
  json["suppressed"] = special.suppressed;
  if (!special.added.empty()) json["added"] = special.added;
  if (special.forced_first) json["forced_first"] = *special.forced_first;
  if (special.frame) {
    json["before"] = special.frame->before;
    json["after"] = special.frame->after;
  }
  return fmt::format("{{\"qkv_tokenizer\":{},\"special_tokens\":{},", version, json.dump());
}

bool is_stored_tokenizer(std::string_view bytes) { return bytes.starts_with('{'); }

std::shared_ptr<const TokenizerModel> parse_stored_tokenizer(std::string_view bytes, const std::string& name) {
  const auto json = parse_json_object(bytes, name, stored_tokenizer_limits);
  const JsonFields fields(json, name);
  require<InputError>(fields.integer("qkv_tokenizer") == version, name,
                      "'qkv_tokenizer' is {}, this version reads {}", fields.integer("qkv_tokenizer"), version);
  SpecialTokens special = special_of(fields.object("special_tokens"));
  if (!fields.has("sentencepiece")) return make_json_tokenizer(fields.get("tokenizer").dump(), name, special);
  std::optional<PieceIds> ids;
  if (fields.has("ids")) {
    ids.emplace();
    const JsonFields pieces = fields.object("ids");
    for (const auto& [piece, id] : fields.get("ids").items()) (*ids)[piece] = id_of(pieces, piece.c_str(), id);
  }
  std::vector<int32_t> in_text;
  if (fields.has("in_text")) in_text = ids_of(fields, "in_text");
  return make_piece_tokenizer(base64_decoded(fields.text("sentencepiece"), name), name, std::move(ids), special,
                              std::move(in_text));
}

}  // namespace qkv
