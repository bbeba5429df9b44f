#include "qkv/decode/alternatives.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "qkv/decode/candidate_tokens.h"

namespace qkv {
namespace {

// The first token of an answer to a sequence.
struct Branch {
  int64_t sequence;
  TokenChoice first;
};

// The same task for some of its sequences.
SearchTask part_of(const SearchTask& task, const std::vector<int64_t>& sequences) {
  SearchTask part;
  part.start = [&task, sequences](std::span<const int64_t> chosen) {
    std::vector<int64_t> of_task;
    for (const int64_t i : chosen) of_task.push_back(sequences[static_cast<size_t>(i)]);
    return task.start(of_task);
  };
  for (const int64_t i : sequences) {
    part.first.push_back(task.first[static_cast<size_t>(i)]);
    part.max_lengths.push_back(task.max_lengths[static_cast<size_t>(i)]);
    if (!task.candidates.empty()) part.candidates.push_back(task.candidates[static_cast<size_t>(i)]);
  }
  return part;
}

std::vector<Branch> branches_of(const SearchTask& task, const std::vector<int64_t>& sequences,
                                const SearchOptions& options) {
  std::vector<Branch> branches;
  if (sequences.empty()) return branches;
  const SearchTask part = part_of(task, sequences);
  const std::unique_ptr<Decoding> rows = task.start(sequences);
  const CandidateTokens candidates(task.candidates, sequences);
  candidates.restrict_logits(*rows);
  std::vector<size_t> of_rows(sequences.size());
  std::iota(of_rows.begin(), of_rows.end(), size_t{0});
  Pass pass;
  TopTokensScan scan;
  const TopTokens& top = candidates.extend(*rows, part.first, pass, of_rows, options.n_best,
                                           {.eos = options.eos, .suppress_tokens = options.suppress_tokens}, scan);
  for (size_t i = 0; i < sequences.size(); ++i)
    for (const TokenChoice& choice : top.row(static_cast<int64_t>(i))) branches.push_back({sequences[i], choice});
  return branches;
}

}  // namespace

std::vector<std::vector<Hypothesis>> search_alternatives(const SearchTask& task, const SearchOptions& options) {
  const NoGrad guard;
  std::vector<int64_t> growing, complete;  // a complete one has no position left
  for (size_t i = 0; i < task.first.size(); ++i)
    (task.max_lengths[i] > 0 ? growing : complete).push_back(static_cast<int64_t>(i));
  SearchOptions each = options;
  each.alternatives = false;
  each.n_best = 1;
  std::vector<std::vector<Hypothesis>> found(task.first.size());
  std::vector<std::vector<Hypothesis>> ends = search(part_of(task, complete), each);
  for (size_t i = 0; i < complete.size(); ++i) found[static_cast<size_t>(complete[i])] = std::move(ends[i]);

  const std::vector<Branch> branches = branches_of(task, growing, options);
  std::vector<int64_t> sequences;
  sequences.reserve(branches.size());
  for (const Branch& branch : branches) sequences.push_back(branch.sequence);
  SearchTask continued = part_of(task, sequences);
  for (size_t b = 0; b < branches.size(); ++b) {
    continued.first[b].push_back(branches[b].first.id);
    --continued.max_lengths[b];
  }
  each.min_length = std::max<int64_t>(0, options.min_length - 1);
  ends = search(continued, each);
  for (size_t b = 0; b < branches.size(); ++b) {
    Hypothesis answer = ends[b].front();
    answer.ids.insert(answer.ids.begin(), branches[b].first.id);
    answer.log_probability += branches[b].first.log_probability;
    answer.score = answer.log_probability /
                   length_penalty(std::ssize(answer.ids) + 1, options.length_penalty, options.length_normalization);
    found[static_cast<size_t>(branches[b].sequence)].push_back(std::move(answer));
  }
  for (std::vector<Hypothesis>& answers : found)
    std::stable_sort(answers.begin(), answers.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return found;
}

}  // namespace qkv
