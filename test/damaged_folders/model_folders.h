// Small models in every format that is read, as folders in memory: models of ours with random weights, those of
// test/checkpoints, and the tiny ones of other formats.
//
//     for (const ModelFolder& model : model_folders()) write_folder(model.files, scratch / model.name);
#pragma once

#include <string>
#include <vector>

#include "test/damaged_folders/folder.h"

namespace qkv::test {

struct ModelFolder {
  std::string format;  // "qkv", "huggingface", "ctranslate2", "marian", "llama2c", "mingpt"
  std::string name;    // "gpt2"
  Folder files;        // without the results that tests compare with
};

std::vector<ModelFolder> model_folders();

}  // namespace qkv::test
