#include "qkv/text/corpus_paths.h"

#include "qkv/base/names.h"

namespace qkv {

std::string to_string(const CorpusPaths& paths) {
  if (paths.list.size() < 2) return name_list(paths.list);
  const std::span<const std::string> all = paths.list;
  return name_list(all.first(all.size() - 1)) + " and " + all.back();
}

}  // namespace qkv
