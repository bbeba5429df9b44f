#include "qkv/published/word_vocabulary.h"

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/json_fields.h"
#include "qkv/base/names.h"

namespace qkv {

std::string json_of_words(const PieceIds& ids, const std::string& unknown,
                          const std::vector<std::string>& special) {
  Json added = Json::array();
  for (const std::string& token : special)
    if (const auto found = ids.find(token); found != ids.end())
      added.push_back({{"id", found->second}, {"content", token}, {"normalized", false}, {"special", true}});
  Json json = {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
               {"added_tokens", added},
               {"model", {{"type", "WordLevel"}, {"vocab", ids}}}};
  if (!unknown.empty()) json["model"]["unk_token"] = unknown;
  return json.dump();
}

PieceIds read_ids(const std::filesystem::path& file) {
  const auto json = parse_json_object(read_file(file, largest_vocabulary_file), file.string(),
                                      {.bytes = largest_vocabulary_file, .depth = 2, .name_bytes = 20'000});
  PieceIds ids;
  for (const auto& [token, id] : json.items()) {
    require<InputError>(id.is_number_integer() && id.get<double>() >= 0 && id.get<double>() < 1 << 24,
                        file.string(), "the id of {} must be an integer from 0 to {}, got {}", quoted_name(token),
                        (1 << 24) - 1, shown_json(id));
    ids[token] = id.get<int32_t>();
  }
  return ids;
}

}  // namespace qkv
