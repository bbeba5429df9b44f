// An evaluation as one interactive HTML page: a table of scores, and every sentence with its source, its reference and
// the output of each system, worst first. Words that the reference does not have are marked.
//
//     const Evaluation e(systems, {references});
//     write_file("judged.html", evaluation_page(e, {.sources = sources}));
//
// Sentences are sorted by the score of a system, or by how much systems differ, as the reader chooses. Pictures of the
// attention of some sentences (evaluation_attention.h) are opened below them. Nothing is fetched: the content security
// policy of the page forbids it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "qkv/metric/evaluation.h"

namespace qkv {

struct SentencePage {
  size_t sentence = 0;
  std::string html;  // the page of a picture, Picture::html()
};

struct EvaluationPageOptions {
  std::string title = "Translations";
  std::vector<std::string> sources = {};  // a line for each sentence; none: they are not shown
  std::string attention_of = {};          // the name of the system whose attention is shown
  std::vector<SentencePage> attention = {};
};

// InputError if there are sources, but not one for each sentence.
std::string evaluation_page(const Evaluation& evaluation, const EvaluationPageOptions& options = {});

}  // namespace qkv
