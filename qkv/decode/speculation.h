// Speculative decoding: tokens that probably follow are proposed by something cheap, and the model reads all of them in one
// step, which tells what it would have chosen after each. The tokens until the first difference are accepted.
//
//     generate(*model.start(1), {prompt}, {.sampling = {.temperature = 0}, .proposer = lookup_proposer(10)});
//     generate(*model.start(1), {prompt}, {.sampling = {.temperature = 0}, .proposer = draft_proposer(small, 4)});
//
// The answer is that without a proposer, its tokens and its log-probability bit for bit: a position has the same logits
// whether it is read alone or with others (Decoding::extend_each()), and a token is a function of its logits, its row and its
// position (sampling.h), also where it is drawn at random. So only the speed depends on what is proposed, and the
// acceptance is a comparison of tokens; the rejection sampling of Leviathan et al. ("Fast inference from Transformers via
// speculative decoding", 2023) and Chen et al. ("Accelerating large language model decoding with speculative sampling",
// 2023) accepts more where tokens are drawn, but has other tokens. A step reads the weights of the model once, however
// many tokens it has, and that is what a step of one row waits for.
//
// A lookup proposes what followed the latest earlier occurrence of the last three tokens, or else of the last two, in the
// prompt and the answer (Saxena, "Prompt lookup decoding", 2023): for summaries, corrections, code, and answers that repeat
// themselves. A draft model proposes its own most likely tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace qkv {

class CausalTransformer;

// Numbers of tokens.
struct Speculated {
  int64_t proposed = 0, accepted = 0;
};

class Proposer {
 public:
  struct Row {
    size_t number = 0;                  // in the prompts
    std::span<const int32_t> tokens{};  // prompt and answer so far
    int64_t limit = 0;                  // tokens that may be proposed
  };
  virtual ~Proposer() = default;
  // For each of the rows, all that have not ended, the tokens that may follow: none, or up to `limit`.
  virtual std::vector<std::vector<int32_t>> propose(std::span<const Row> rows) = 0;
};

// At most `limit` tokens at a step; a draft model proposes fewer where they are not right (proposal_length.h). It must have the
// tokens of the other one; it may have more ids or fewer.
// Errors: UsageError for numbers below 1.
std::shared_ptr<Proposer> lookup_proposer(int64_t limit);
std::shared_ptr<Proposer> draft_proposer(std::shared_ptr<const CausalTransformer> model, int64_t limit);

// What a lookup proposes after these tokens. It may go on beyond their end, by repeating what it proposes.
std::vector<int32_t> looked_up(std::span<const int32_t> tokens, int64_t limit);

}  // namespace qkv
